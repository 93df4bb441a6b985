/** Artifacts as resources: a large one is read in pieces while the answer is written, and is the same as a small one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { LargeText, withPieces } from '../../../src/core/base/large-text.ts';
import { createArtifacts, PIECE_BYTES } from '../../../src/features/artifacts/artifacts.ts';
import { artifactResources, mimeTypeOf } from '../../../src/features/artifacts/resources.ts';

function store() {
  const folder = mkdtempSync(join(tmpdir(), 'artifact-resources-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const artifacts = createArtifacts(folder);
  const resources = artifactResources(artifacts);
  return {
    save: (name: string, data: Buffer) =>
      artifacts.write({ session: 'mine', name, offset: 0, data, isLast: true }).then(() => undefined),
    async read(name: string) {
      const contents = (await resources.read(`artifact:///mine/${name}`)) as { text?: unknown; blob?: unknown };
      return { kind: 'text' in contents ? 'text' : 'blob', content: contents.text ?? contents.blob };
    },
  };
}

async function parsed(content: unknown): Promise<unknown> {
  if (!(content instanceof LargeText)) {
    return content;
  }
  let json = '';
  for await (const piece of withPieces(JSON.stringify({ content }), content, await content.open())) {
    json += piece;
  }
  return (JSON.parse(json) as { content: unknown }).content;
}

it.each([
  ['a small text', 'a.txt', Buffer.from('"ä"\n'), 'text'],
  [
    'a large text with characters that pieces cut in two',
    'a.txt',
    Buffer.from(`x"${'€\u0001'.repeat(PIECE_BYTES / 3)}`),
    'text',
  ],
  [
    'a large one that is not UTF-8 at its end',
    'a.txt',
    Buffer.alloc(PIECE_BYTES + 1, 'x').fill(0xe2, PIECE_BYTES),
    'blob',
  ],
  ['a small blob', 'a.bin', Buffer.from([1, 2]), 'blob'],
  ['a blob of one piece', 'a.bin', Buffer.alloc(PIECE_BYTES, 3), 'blob'],
  ['a blob whose last piece is one byte', 'a.bin', Buffer.alloc(2 * PIECE_BYTES + 1, 4), 'blob'],
])('%s is read as it was saved', async (_what, name, data, wanted) => {
  const { read, save } = store();
  await save(name, data);
  const { content, kind } = await read(name);
  expect([kind, content instanceof LargeText]).toEqual([wanted, data.length > PIECE_BYTES]);
  expect(await parsed(content)).toBe(data.toString(kind === 'text' ? 'utf8' : 'base64'));
});

it('one that is replaced before its content is written is refused', async () => {
  const { read, save } = store();
  await save('a.bin', Buffer.alloc(PIECE_BYTES + 1, 1));
  const { content } = await read('a.bin');
  await save('a.bin', Buffer.alloc(PIECE_BYTES + 1, 2));
  await expect((content as LargeText).open()).rejects.toThrow("The artifact 'a.bin' was replaced while it was read.");
});

// Spreadsheets, documents and tables were linked as octet streams, which clients offer to no program.
it.each([
  ['a.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['a.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['a.PPTX', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
  ['a.parquet', 'application/vnd.apache.parquet'],
  ['a.zip', 'application/zip'],
  ['a.csv', 'text/csv'],
  ['a.md', 'text/markdown'],
  ['a.svg', 'image/svg+xml'],
  ['a.pdf', 'application/pdf'],
  ['a.yml', 'application/yaml'],
  ['a.unknown', 'application/octet-stream'],
  ['a', 'application/octet-stream'],
])('%s is of the type %s', (name, mimeType) => {
  expect(mimeTypeOf(name)).toBe(mimeType);
});
