// @ts-check
/** Builds the view of a cell, which clients that support MCP Apps show: one file, because a host gives it nothing else. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { build } from 'esbuild';
import { PAGE_BUILD } from './ui-page.mjs';

const FOLDER = 'src/record/ui/page/chat';
/** Hosts fetch it over the same pipe as answers, and keep it. */
const MAX_BYTES = 64 * 1024;

/**
 * Writes the page to `file`, which is below `root`.
 * @param {string} root
 * @param {string} file
 * @returns {Promise<import('esbuild').Metafile>}
 */
export async function buildCellView(root, file) {
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [`${FOLDER}/main.tsx`, `${FOLDER}/chat.css`],
    outdir: 'dist',
    write: false,
    ...PAGE_BUILD,
    charset: 'utf8',
  });
  const [script, style] = ['.js', '.css'].map((ending) => {
    const text = outputFiles.find(({ path }) => path.endsWith(ending))?.text.trim() ?? '';
    if (text === '' || /<\/(?:script|style)|<!--/i.test(text)) {
      throw new Error(`The ${ending} of the view cannot be inside a page.`);
    }
    return text;
  });
  const parts = {
    POLICY: policyOf(script ?? '', style ?? ''),
    STYLE: style ?? '',
    SCRIPT: script ?? '',
  };
  const template = await readFile(resolve(root, FOLDER, 'page.html'), 'utf8');
  const page = template.replace(
    /POLICY|\/\*(?:STYLE|SCRIPT)\*\//g,
    (name) => parts[/** @type {keyof typeof parts} */ (name.replaceAll(/\W/g, ''))],
  );
  if (Buffer.byteLength(page) > MAX_BYTES) {
    throw new Error(`The view has ${Buffer.byteLength(page)} bytes; at most ${MAX_BYTES} are allowed.`);
  }
  await writeFile(resolve(root, file), page);
  return metafile;
}

/**
 * Only this script and this style run, and nothing is loaded, whatever the host allows.
 * @param {string} script
 * @param {string} style
 */
function policyOf(script, style) {
  /** @param {string} text */
  const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  return [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}
