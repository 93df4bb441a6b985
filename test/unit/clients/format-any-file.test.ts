/** Edits of arbitrary files: an entry is added and removed, and the rest has the same content. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { FileObject } from '../../../src/edges/clients/file-format.ts';
import { entriesAt, loadFormat } from '../../../src/edges/clients/format.ts';
import type { FileFormatName } from '../../../src/edges/clients/table.ts';

const ENTRY = { command: 'npx', args: ['-y', 'x'], env: { 'A b': 'c "d"' } };
const RUNS = { numRuns: 100 };

const word = fc.stringMatching(/^[a-z][a-z0-9 ._-]{0,6}$/);
const scalar = fc.oneof(fc.string({ maxLength: 12 }), fc.integer(), fc.boolean());
const entries = fc.dictionary(
  word,
  fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.dictionary(word, scalar, { maxKeys: 3 })),
  { maxKeys: 4 },
);
const file = fc.record({ before: scalar, s: entries, after: entries });

/** JSON in any layout: indentation, comments, trailing commas, line ends. */
const json = fc
  .record({
    root: file,
    indent: fc.constantFrom('', '  ', '\t'),
    comment: fc.constantFrom('', ' // c', ' /* c */'),
    eol: fc.constantFrom('\n', '\r\n'),
  })
  .map(({ root, indent, comment, eol }) => {
    const lines = JSON.stringify(root, undefined, indent).split('\n');
    return lines.map((line) => line + (indent === '' ? '' : comment)).join(eol);
  });
const yaml = fc
  .record({ root: file, indent: fc.constantFrom(2, 4), isSpaced: fc.boolean() })
  .map(({ root, indent, isSpaced }) => (isSpaced ? '# top\n' : '') + stringify(root, { indent }));
/** Tables of scalars in any order, with comments and empty lines between them. */
const toml = fc
  .array(fc.record({ name: word, value: fc.integer(), gap: fc.constantFrom('', '\n', '# c\n', '\n# c\n\n') }), {
    maxLength: 4,
  })
  .map((tables) => {
    const unique = [...new Map(tables.map((table) => [table.name, table])).values()];
    return unique.map(({ name, value, gap }) => `[s.${JSON.stringify(name)}]\nx = ${value} # v\n${gap}`).join('');
  });

const TEXTS: readonly (readonly [FileFormatName, fc.Arbitrary<string>])[] = [
  ['json', json],
  ['yaml', yaml],
  ['toml', toml],
];

describe.each(TEXTS)('%s', (name, texts) => {
  it('allows an entry to be added and removed', async () => {
    const format = await loadFormat(name);
    const place = { keys: ['s'], name: 'NEW' };
    fc.assert(
      fc.property(texts, (text) => {
        const added = format.add(text, place, ENTRY);
        expect((format.parse(added)['s'] as FileObject)['NEW']).toEqual(ENTRY);
        const removed = format.parse(format.remove(added, place));
        expect({ s: {}, ...removed }).toEqual({ s: {}, ...format.parse(text) });
      }),
      RUNS,
    );
  });

  it('allows each of its entries to be removed', async () => {
    const format = await loadFormat(name);
    fc.assert(
      fc.property(texts, (text) => {
        let rest = text;
        for (const entry of Object.keys(format.parse(text)['s'] ?? {})) {
          rest = format.remove(rest, { keys: ['s'], name: entry });
        }
        expect({ ...format.parse(rest), s: {} }).toEqual({ ...format.parse(text), s: {} });
      }),
      RUNS,
    );
  });
});

describe('json, under the key of a folder', () => {
  const folders = fc.oneof(fc.string(), fc.constantFrom('/src/app', 'C:\\src\\app', 'C:/a b/"c"', '~/x#y', '0', ''));
  const layouts = fc.record({ folder: folders, servers: entries, indent: fc.constantFrom('', '  ', '\t') });

  it('allows an entry to be added and removed', async () => {
    const format = await loadFormat('json');
    fc.assert(
      fc.property(layouts, ({ folder, servers, indent }) => {
        const root = { projects: { [folder]: { mcpServers: servers, other: [1] }, last: {} }, z: 1 };
        const text = JSON.stringify(root, undefined, indent);
        const place = { keys: ['projects', folder, 'mcpServers'], name: 'NEW' };
        const added = format.add(text, place, ENTRY);
        expect(entriesAt(format.parse(added), place.keys)?.['NEW']).toEqual(ENTRY);
        expect(JSON.stringify(format.parse(format.remove(added, place)))).toBe(JSON.stringify(root));
      }),
      RUNS,
    );
  });
});
