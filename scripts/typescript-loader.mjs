// @ts-check
/**
 * Lets Node run this project's TypeScript directly: `node --import ./scripts/typescript-loader.mjs FILE.ts`.
 * Node 20 cannot strip types; esbuild can, and the build needs it anyway. Every file keeps its own URL, so
 * `import.meta.url` works as in the source. Only for development (`gen`, `bench`, `demo`, tests that start a program from
 * source); the package ships bundled JavaScript.
 */
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transform } from 'esbuild';

// Node evaluates this file twice: in the program, where it registers itself, and in the thread that runs the hooks.
if (isMainThread) {
  process.setSourceMapsEnabled(true);
  register(import.meta.url);
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) {
    return nextLoad(url, context);
  }
  const path = fileURLToPath(url);
  const source = await readFile(path, 'utf8');
  const { code } = await transform(source, {
    loader: 'ts',
    format: 'esm',
    target: 'node20',
    sourcefile: path,
    sourcemap: 'inline',
  });
  return { format: 'module', source: code, shortCircuit: true };
}
