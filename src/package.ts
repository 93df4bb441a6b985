/**
 * Where this package lies on disk and which version it is. The bundle keeps all its files directly in `dist/`, so one
 * step up is the root for `dist/*.js` just as for `src/*.ts`; a file deeper in `src/` must not use `import.meta.url` for that.
 */
import { readFileSync } from 'node:fs';

/** Put in by `scripts/build.mjs`; absent when the sources run as they are. */
declare const BUILD_VERSION: string | undefined;

/** Root folder of the package, as a file URL that ends with `/`. */
export const PACKAGE_ROOT = new URL('../', import.meta.url);

/** Version of this package, for example `1.2.3`. */
export const VERSION: string = typeof BUILD_VERSION === 'string' ? BUILD_VERSION : readVersion();

function readVersion(): string {
  const text = readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** What the program is called in its help, and where it is on `PATH`. */
export const COMMAND_NAME = 'mcp-server-code-execution-mode';

/** What runs this program in a shell: every command that a message names begins with it. */
export const COMMAND: string = commandOf(PACKAGE_ROOT);

/** What runs the package in this folder: `npx` keeps packages in a folder `_npx` of its cache, which is on nobody's `PATH`. */
export function commandOf(root: URL): string {
  return root.pathname.includes('/_npx/') ? `npx -y ${COMMAND_NAME}` : COMMAND_NAME;
}
