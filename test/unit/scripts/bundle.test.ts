/** How the build inspects a bundle. The metafiles contain only the parts that are read. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bundledPackages, inputsOf, packagesOf, startUpChunks } from '../../../scripts/bundle/contents.mjs';
import { renderLicenses } from '../../../scripts/bundle/licenses.mjs';

function output(inputs: Record<string, number>, imports: Metafile['outputs'][string]['imports'] = []) {
  const sizes = Object.entries(inputs).map(([path, bytesInOutput]) => [path, { bytesInOutput }] as const);
  return { bytes: 0, exports: [], imports, inputs: Object.fromEntries(sizes) };
}

const METAFILE: Metafile = {
  inputs: {},
  outputs: {
    'dist/cli.js': {
      ...output({ 'src/cli.ts': 10, 'node_modules/zod/index.js': 5, 'node_modules/unused/index.js': 0 }, [
        { path: 'dist/shared.js', kind: 'import-statement' },
        { path: 'dist/late.js', kind: 'dynamic-import' },
        { path: 'node:fs', kind: 'import-statement', external: true },
      ]),
      entryPoint: 'src/cli.ts',
    },
    'dist/shared.js': output({ 'node_modules/@scope/a/node_modules/b/index.js': 5 }),
    'dist/late.js': { ...output({ 'node_modules/execa/index.js': 5 }), entryPoint: 'node_modules/execa/index.js' },
  },
};

describe('startup modules', () => {
  it('follows static imports, not import()', () => {
    const chunks = startUpChunks(METAFILE, ['src/cli.ts']);
    const inputs = chunks.flatMap((chunk) => inputsOf(METAFILE.outputs[chunk]));
    expect(inputs).toContain('src/cli.ts');
    expect(packagesOf(inputs)).toEqual(['zod', 'b']);
  });

  it('refuses a module without its own chunk', () => {
    expect(() => startUpChunks(METAFILE, ['src/moved.ts'])).toThrow('src/moved.ts has no chunk of its own');
  });
});

describe('licenses', () => {
  let root: string;
  beforeEach(async () => {
    root = `${await mkdtemp(join(tmpdir(), 'bridge-licenses-'))}/`;
  });
  afterEach(() => rm(root, { recursive: true }));

  async function addPackage(name: string, license: string, files: Record<string, string>): Promise<void> {
    const folder = join(root, 'node_modules', name);
    await mkdir(folder, { recursive: true });
    const all = { 'package.json': JSON.stringify({ name, version: '1.2.3', license }), ...files };
    await Promise.all(Object.entries(all).map(([file, text]) => writeFile(join(folder, file), text)));
  }

  function bundleOf(...names: string[]): Metafile {
    const inputs = Object.fromEntries(names.map((name) => [`node_modules/${name}/index.js`, 1]));
    return { inputs: {}, outputs: { 'dist/cli.js': output(inputs) } };
  }

  it('list every package with version, text and notices', async () => {
    await addPackage('b', 'MIT', { LICENSE: 'the words of b' });
    await addPackage('a', 'Apache-2.0', { 'LICENSE.txt': 'the words of a', NOTICE: 'the notice of a' });
    const text = await renderLicenses(await bundledPackages(root, [bundleOf('b', 'a')]));
    expect(text).toMatch(
      /a 1\.2\.3: Apache-2\.0\n\nthe words of a\n\nthe notice of a\n[^]*b 1\.2\.3: MIT\n\nthe words of b\n/,
    );
  });

  it('include copies embedded in another package', async () => {
    const sources = ['../../node_modules/.pnpm/inner@4.5.6_peer@1.0.0/node_modules/inner/lib/x.js', '../src/y.js'];
    await addPackage('outer', 'MIT', { LICENSE: 'outer', 'index.js.map': JSON.stringify({ sources }) });
    await addPackage('inner', 'ISC', { LICENSE: 'inner' });
    expect(await renderLicenses(await bundledPackages(root, [bundleOf('outer')]))).toContain(
      'inner 4.5.6 (a copy inside outer): ISC',
    );
  });

  it('stop the build if one is not permissive', async () => {
    await addPackage('copyleft', 'GPL-3.0-only', { LICENSE: 'text' });
    const packages = await bundledPackages(root, [bundleOf('copyleft')]);
    await expect(renderLicenses(packages)).rejects.toThrow(
      'copyleft@1.2.3 is bundled, but its license is GPL-3.0-only',
    );
  });

  it('stop the build if the text is missing', async () => {
    await addPackage('wordless', 'MIT', {});
    const packages = await bundledPackages(root, [bundleOf('wordless')]);
    await expect(renderLicenses(packages)).rejects.toThrow('has no license file');
  });
});
