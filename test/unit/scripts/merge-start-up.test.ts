/** The merge of the start's chunks, on small chunks that esbuild made. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startUpChunks } from '../../../scripts/bundle/contents.mjs';
import { mergeStartUp } from '../../../scripts/bundle/merge-start-up.mjs';

/** `base` is shared by all, `shared` by the start and one later part. */
const SOURCES = {
  'cli.js': "export const run = async () => (await import('./main.js')).main();",
  'main.js': `
    import { Base } from './base.js';
    import { name } from './shared.js';
    export async function main() {
      const { late } = await import('./late.js');
      const { later } = await import('./later.js');
      return [new Base().text, name(), late(new Base()), later(new Base()), later({})];
    }`,
  'base.js': "export class Base { text = 'base'; }",
  'shared.js': "import { Base } from './base.js'; export function name() { return 'shared ' + new Base().text; }",
  'late.js': `
    import { Base } from './base.js';
    import { name } from './shared.js';
    export const late = (given) => name() + (given instanceof Base);`,
  'later.js': "import { Base } from './base.js'; export const later = (given) => given instanceof Base;",
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'merge-'));
  await Promise.all(Object.entries(SOURCES).map(([name, text]) => writeFile(join(folder, name), text)));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
});
afterEach(() => rm(folder, { recursive: true }));

async function bundle() {
  const { metafile } = await build({
    absWorkingDir: folder,
    entryPoints: ['cli.js'],
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    metafile: true,
    chunkNames: '[name]-[hash]',
  });
  const merged = startUpChunks(metafile, ['main.js']).map((file) => basename(file));
  return { chunks: Object.keys(metafile.outputs).map((file) => basename(file)), merged };
}

it('makes one file of them, in which each module exists once', async () => {
  const { chunks, merged } = await bundle();
  expect(merged.length).toBeGreaterThan(2);
  await mergeStartUp(join(folder, 'dist'), chunks, merged);
  const left = await readdir(join(folder, 'dist'));
  expect(left).toHaveLength(chunks.length - merged.length + 1);
  expect(left).toContain('start-up.js');
  const { run } = (await import(pathToFileURL(join(folder, 'dist/cli.js')).href)) as { run(): Promise<unknown[]> };
  expect(await run()).toEqual(['base', 'shared base', 'shared basetrue', true, false]);
});

it('refuses an import that it cannot change', async () => {
  const { chunks, merged } = await bundle();
  const late = join(folder, 'dist', chunks.find((name) => name.startsWith('later')) ?? '');
  await writeFile(late, `export * from "./${merged.at(-1)}";\n${await readFile(late, 'utf8')}`);
  await expect(mergeStartUp(join(folder, 'dist'), chunks, merged)).rejects.toThrow('in a form that is not understood');
});
