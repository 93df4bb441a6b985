// @ts-check
/**
 * Bundles `src/cli.ts` and everything it uses into `dist/`, so the package has no run-time dependencies: the install is small
 * and a start reads few files. A module behind `import()` becomes a chunk that is loaded when first needed. Reasons and
 * figures: docs/internals/decisions/001-bundled-dependencies.md.
 */
import { chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { register } from 'node:module';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { buildCellView } from './bundle/cell-view.mjs';
import { bundledPackages, inputsOf, packagesOf, startUpChunks } from './bundle/contents.mjs';
import { renderLicenses } from './bundle/licenses.mjs';
import { mergeStartUp } from './bundle/merge-start-up.mjs';
import { writeCommentsInOneByte } from './bundle/one-byte-comments.mjs';
import { REQUIRE_BANNER } from './bundle/require-banner.mjs';
import { slimStartUp } from './bundle/slim-start-up.mjs';
import { buildUiPage } from './bundle/ui-page.mjs';
import { buildEmbedded } from './embedded/build.mjs';

/** Modules that the start does not need: packages that take 20–90 ms to load (measured), and long texts of ours. */
const LAZY = [
  'zod',
  '@modelcontextprotocol/server',
  '@modelcontextprotocol/core',
  'execa',
  '@modelcontextprotocol/client',
  '@toon-format/toon',
  'fast-fuzzy',
  'commander',
  'jsonc-parser',
  'toml-eslint-parser',
  'yaml',
  'diff',
  'sucrase',
  'yocto-spinner',
  '@opentelemetry/api',
  'src/app/cli/help/error-texts.ts',
];
/** The modules that run between the start and the answer to `tools/list`. */
const START_UP_MODULES = ['src/main.ts', 'src/app/bridge/context.ts', 'src/app/bridge/serve.ts'];
const root = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(await readFile(`${root}package.json`, 'utf8'));
await rm(`${root}dist`, { recursive: true, force: true });

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ['src/cli.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  chunkNames: '[name]-[hash]',
  // Its main file cannot be bundled; this one has the same code as ES modules.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  // OpenTelemetry's ES modules are half as large as what is in its main files, because only what is used is bundled.
  mainFields: ['module', 'main'],
  define: { BUILD_VERSION: JSON.stringify(version) },
  banner: { js: REQUIRE_BANNER },
  plugins: [slimStartUp],
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});

// Not a part of the other build: the thread would load everything that it shares with the start.
const { metafile: threadMetafile } = await build({
  absWorkingDir: root,
  entryPoints: ['src/edges/upstream/api/compile-thread.ts'],
  outdir: 'dist',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  mainFields: ['module', 'main'],
  define: { BUILD_VERSION: JSON.stringify(version) },
  banner: { js: REQUIRE_BANNER },
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});
const startUpFiles = startUpChunks(metafile, START_UP_MODULES);
const startUp = startUpFiles.flatMap((file) => inputsOf(metafile.outputs[file]));
const tooEarly = [...packagesOf(startUp), ...startUp].filter((name) => LAZY.includes(name));
if (tooEarly.length > 0) {
  throw new Error(`Loaded at startup, but must stay behind import(): ${tooEarly.join(', ')}`);
}
if (!(await readFile(`${root}dist/cli.js`, 'utf8')).startsWith('#!/usr/bin/env node\n')) {
  throw new Error('src/cli.ts must begin with the line #!/usr/bin/env node');
}
await mergeStartUp(
  `${root}dist`,
  Object.keys(metafile.outputs).map((file) => basename(file)),
  startUpFiles.map((file) => basename(file)),
);
await writeCommentsInOneByte(
  `${root}dist`,
  (await readdir(`${root}dist`)).filter((file) => file.endsWith('.js')),
);
await chmod(`${root}dist/cli.js`, 0o755);
// Boots the embedded engine once, with its own code, to make the snapshot.
register('./typescript-loader.mjs', import.meta.url);
const metafiles = [
  metafile,
  threadMetafile,
  await buildUiPage(root, 'dist/ui'),
  await buildCellView(root, 'dist/cell-view.html'),
  ...(await buildEmbedded(root, `${root}dist/embedded`)),
];
await writeFile(`${root}dist/THIRD_PARTY_LICENSES.txt`, await renderLicenses(await bundledPackages(root, metafiles)));
console.log('Built dist/cli.js.');
