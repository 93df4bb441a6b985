// @ts-check
/**
 * Builds `dist/embedded/`, everything that the embedded engine needs: the program of its child process, the interpreter and
 * standard library, and a snapshot of an interpreter that has loaded the kernel. So a start needs no cache that could be
 * damaged or stale. The build is reproducible.
 */
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { CompileFlags, EvalFlags, QuickJS } from 'quickjs-wasi';
import { composeBootSource } from './boot-source.mjs';
import { copyInterpreter, unpackInterpreter } from './interpreter.mjs';

const CHILD = 'child.cjs';
const MANIFEST = 'manifest.json';
/** The child for JavaScript, QuickJS, and what a program finds in it. */
const JAVASCRIPT = { CHILD: 'javascript.cjs', MODULE: 'quickjs.wasm', GUEST: 'javascript-guest.bytecode' };
const QUICKJS = 'node_modules/quickjs-wasi/quickjs.wasm';
/** The package of QuickJS has only its own license. */
const QUICKJS_LICENSE = 'scripts/embedded/quickjs-license.txt';

/**
 * Returns what esbuild says about the bundles, for the licenses of their packages.
 * @param {string} root The package folder, with a trailing slash.
 * @param {string} folder The output folder.
 */
export async function buildEmbedded(root, folder) {
  // Imported here, because the build registers the TypeScript loader first.
  const { readKernelSources } = await import('../../src/core/session/boot.ts');
  const { addSnapshot } = await import('../../src/edges/engines/embedded/child/make-snapshot.ts');
  await mkdir(folder, { recursive: true });
  const ownBuild = process.env.BRIDGE_WASM_FOLDER;
  await (ownBuild === undefined
    ? unpackInterpreter(`${root}sandbox-runtime/wasm`, folder)
    : copyInterpreter(ownBuild, folder));
  await bundle(root, 'src/edges/engines/embedded/child/child.ts', join(folder, CHILD));
  const metafile = await bundle(root, 'src/edges/engines/embedded/javascript/child.ts', join(folder, JAVASCRIPT.CHILD));
  const guest = await compileGuest(root);
  await writeFile(join(folder, JAVASCRIPT.GUEST), guest.bytecode);
  await copyFile(join(root, QUICKJS), join(folder, JAVASCRIPT.MODULE));
  await mkdir(join(folder, 'licenses'), { recursive: true });
  await copyFile(join(root, QUICKJS_LICENSE), join(folder, 'licenses', 'quickjs.txt'));
  const kernel = await readKernelSources(`${root}sandbox-runtime/bridge_kernel`);
  addSnapshot(folder, composeBootSource(kernel.modules), await readFile(join(folder, 'python.wasm')));
  await completeManifest(folder, kernel.hash);
  return [metafile, guest.metafile];
}

/**
 * @param {string} root
 * @param {string} entry
 * @param {string} outfile
 */
async function bundle(root, entry, outfile) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    // With Node's permission model, an ES module starts 18 ms later (measured on Node 20).
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  return metafile;
}

/**
 * Bundles what a program finds in QuickJS into one function, and compiles it to bytecode of this QuickJS: it would need ten times as
 * long to parse the source at each start. The text of its functions is left out, four fifths of the size.
 * @param {string} root
 */
export async function compileGuest(root) {
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['src/edges/engines/embedded/javascript/guest/main.ts'],
    outfile: 'guest.js',
    write: false,
    bundle: true,
    format: 'iife',
    globalName: 'guest',
    // QuickJS has no `Atomics`, for which node-inspect-extracted looks while it loads.
    banner: { js: '(function (host) { globalThis.Atomics = {};' },
    footer: { js: 'delete globalThis.Atomics; return guest.start(host); })' },
    // Names stay, because programs see some.
    minifyWhitespace: true,
    minifySyntax: true,
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2023',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  const vm = await QuickJS.create({ wasm: await readFile(join(root, QUICKJS)) });
  const bytecode = vm.compile(outputFiles[0]?.text ?? '', 'guest.js', EvalFlags.TYPE_GLOBAL, CompileFlags.STRIP_SOURCE);
  return { metafile, bytecode };
}

/**
 * Adds what only the host reads: the checksums of the children's programs and of QuickJS, and the hash of the kernel's sources,
 * which identifies a snapshot of other sources.
 * @param {string} folder
 * @param {string} kernel
 */
async function completeManifest(folder, kernel) {
  const file = join(folder, MANIFEST);
  const { files } = JSON.parse(await readFile(file, 'utf8'));
  for (const name of [CHILD, ...Object.values(JAVASCRIPT)]) {
    const bytes = await readFile(join(folder, name));
    files[name] = { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  }
  await writeFile(file, `${JSON.stringify({ files, kernel }, undefined, 2)}\n`);
}
