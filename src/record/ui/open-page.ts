/**
 * Opens the page in the browser. Everyone on the machine can read the arguments of a process, so the browser gets the path of a file that
 * only the user can read, and the file leads to the address with the token.
 */
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureDirectory, OWNER_ONLY_FILE } from '../../core/state/state-files.ts';
import { browserCommand, openBrowser } from '../../edges/upstream/oauth/browser.ts';

/** A browser that is not running yet takes a few seconds. Chosen. */
const READ_MS = 30_000;

interface OpenPage {
  readonly address: string;
  /** Not hidden and not in the temporary folder: browsers in a sandbox of their own see neither. */
  readonly stateDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly open?: typeof openBrowser;
}

/** Resolves with whether a browser was started, and how to remove the file early. Never rejects. */
export async function openPage({
  address,
  env,
  open = openBrowser,
  stateDir,
}: OpenPage): Promise<{ readonly isOpen: boolean; remove(): Promise<void> }> {
  const file = join(stateDir, `open-page-${randomBytes(8).toString('hex')}.html`);
  const remove = () => rm(file, { force: true }).catch(() => undefined);
  const browser = browserCommand(pathToFileURL(file).href, process.platform, env);
  if (browser === undefined) {
    return { isOpen: false, remove };
  }
  try {
    await ensureDirectory(stateDir);
    await writeFile(file, pageLeadingTo(address), { mode: OWNER_ONLY_FILE, flag: 'wx' });
    const isOpen = await open(browser);
    setTimeout(() => void remove(), isOpen ? READ_MS : 0).unref();
    return { isOpen, remove };
  } catch {
    await remove();
    return { isOpen: false, remove };
  }
}

/** An address of ours has no character with a meaning in HTML. */
function pageLeadingTo(address: string): string {
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${address}"><title>Opening</title><a href="${address}">Open the page</a>\n`;
}
