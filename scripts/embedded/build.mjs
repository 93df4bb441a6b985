// @ts-check
/**
 * Builds `dist/embedded/`, everything that the embedded engine needs: the program of its child process, the interpreter and
 * standard library, and a snapshot of an interpreter that has loaded the kernel. So a start needs no cache that could be
 * damaged or stale. The build is reproducible.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { composeBootSource } from './boot-source.mjs';
import { copyInterpreter, unpackInterpreter } from './interpreter.mjs';

const CHILD = 'child.mjs';
const MANIFEST = 'manifest.json';

/**
 * @param {string} root The package folder, with a trailing slash.
 * @param {string} folder The output folder.
 */
export async function buildEmbedded(root, folder) {
  // Imported here, because the build registers the TypeScript loader first.
  const { readKernelSources } = await import('../../src/session/boot.ts');
  const { addSnapshot } = await import('../../src/engines/embedded/child/make-snapshot.ts');
  await mkdir(folder, { recursive: true });
  const ownBuild = process.env.BRIDGE_WASM_FOLDER;
  await (ownBuild === undefined
    ? unpackInterpreter(`${root}sandbox-runtime/wasm`, folder)
    : copyInterpreter(ownBuild, folder));
  await bundleChild(root, join(folder, CHILD));
  const kernel = await readKernelSources(`${root}sandbox-runtime/bridge_kernel`);
  addSnapshot(folder, composeBootSource(kernel.modules));
  await completeManifest(folder, kernel.hash);
}

/**
 * @param {string} root
 * @param {string} outfile
 */
async function bundleChild(root, outfile) {
  await build({
    absWorkingDir: root,
    entryPoints: ['src/engines/embedded/child/child.ts'],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    legalComments: 'none',
    logLevel: 'warning',
  });
}

/**
 * Adds what only the host reads: the checksum of the child's program, and the hash of the kernel's sources, which identifies
 * a snapshot of other sources.
 * @param {string} folder
 * @param {string} kernel
 */
async function completeManifest(folder, kernel) {
  const file = join(folder, MANIFEST);
  const { files } = JSON.parse(await readFile(file, 'utf8'));
  const program = await readFile(join(folder, CHILD));
  files[CHILD] = { bytes: program.length, sha256: createHash('sha256').update(program).digest('hex') };
  await writeFile(file, `${JSON.stringify({ files, kernel }, undefined, 2)}\n`);
}
