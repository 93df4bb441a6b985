/** The files of the page. Only these names are served, so no path leads anywhere else. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const FILES: Readonly<Record<string, { readonly file: string; readonly type: string }>> = {
  '/': { file: 'index.html', type: 'text/html; charset=utf-8' },
  '/app.js': { file: 'app.js', type: 'text/javascript; charset=utf-8' },
  '/app.css': { file: 'app.css', type: 'text/css; charset=utf-8' },
  '/favicon.svg': { file: 'favicon.svg', type: 'image/svg+xml' },
};

export interface PageFile {
  readonly type: string;
  readonly content: Buffer;
}

const MISSING: PageFile = {
  type: 'text/plain; charset=utf-8',
  content: Buffer.from('The page is not part of this installation; the API under /api/ works.\n'),
};

/** Undefined for a path that is none. */
export async function readPageFile(folder: string, path: string): Promise<PageFile | undefined> {
  const known = Object.hasOwn(FILES, path) ? FILES[path] : undefined;
  if (known === undefined) {
    return undefined;
  }
  const content = await readFile(join(folder, known.file)).catch(() => undefined);
  if (content === undefined) {
    return path === '/' ? MISSING : undefined;
  }
  return { type: known.type, content };
}
