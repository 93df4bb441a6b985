// @ts-check
/** Builds the page of the command `ui`, which runs in browsers. */
import { copyFile, mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { build } from 'esbuild';

/** Browsers of the last two years. Older ones do not know `light-dark()` of CSS. */
const PAGE_TARGETS = ['chrome123', 'firefox120', 'safari17.5'];
/** How esbuild makes what runs in browsers. */
export const PAGE_BUILD = {
  bundle: true,
  format: /** @type {const} */ ('esm'),
  platform: /** @type {const} */ ('browser'),
  target: PAGE_TARGETS,
  jsx: /** @type {const} */ ('automatic'),
  jsxImportSource: 'preact',
  minify: true,
  legalComments: /** @type {const} */ ('none'),
  metafile: /** @type {const} */ (true),
  logLevel: /** @type {const} */ ('warning'),
};

/** It is loaded from this machine, but also parsed with every reload. */
const MAX_SCRIPT_BYTES = 120 * 1024;

/**
 * Writes `index.html`, `app.js`, `app.css` and `favicon.svg` to `folder`.
 * @param {string} root
 * @param {string} folder
 * @returns {Promise<import('esbuild').Metafile>}
 */
export async function buildUiPage(root, folder) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { app: 'src/record/ui/page/main.tsx' },
    outdir: folder,
    ...PAGE_BUILD,
  });
  const script = Object.entries(metafile.outputs).find(([path]) => path.endsWith('/app.js'));
  if (script === undefined || script[1].bytes > MAX_SCRIPT_BYTES) {
    throw new Error(`The page's script has ${script?.[1].bytes} bytes; at most ${MAX_SCRIPT_BYTES} are allowed.`);
  }
  await build({
    absWorkingDir: root,
    entryPoints: { app: 'src/record/ui/page/app.css' },
    outdir: folder,
    // It imports styles that it shares with the view in the chat, and only these files are served.
    bundle: true,
    minify: true,
    target: PAGE_TARGETS,
    logLevel: 'warning',
  });
  await mkdir(resolve(root, folder), { recursive: true });
  for (const file of ['index.html', 'favicon.svg']) {
    await copyFile(resolve(root, `src/record/ui/page/${file}`), resolve(root, folder, file));
  }
  return metafile;
}
