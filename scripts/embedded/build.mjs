// @ts-check
/**
 * Makes `dist/embedded/`, all that the embedded engine needs: the program of its child, the interpreter and the standard
 * library, and the memory of an interpreter that has loaded the kernel. So a start needs no cache that could be damaged or
 * stale. The same inputs give the same bytes.
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
 * @param {string} root Folder of the package, with a slash at its end.
 * @param {string} folder Where the files go.
 */
export async function buildEmbedded(root, folder) {
  // Only now: the build registers the loader of TypeScript first.
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
 * Adds what only the host looks at: the sum of the child's program, and that of the kernel's sources, by which a snapshot
 * of other sources is told.
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
