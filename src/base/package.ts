/** Where this package is on disk, which version it is, and how to start it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COMMAND_NAME, findProgramStart, type ProgramStart, realPathOf } from './program-start.ts';
import { quoteShellWord } from './shell-word.ts';

export { COMMAND_NAME } from './program-start.ts';

/** Put in by `scripts/build.mjs`; absent when the sources run as they are. */
declare const BUILD_VERSION: string | undefined;
const IS_BUILT = typeof BUILD_VERSION === 'string';

/** Root folder of the package, as a file URL that ends with `/`. The bundle keeps every file directly in `dist/`. */
export const PACKAGE_ROOT = new URL(IS_BUILT ? '../' : '../../', import.meta.url);

/** Version of this package, for example `1.2.3`. */
export const VERSION: string = typeof BUILD_VERSION === 'string' ? BUILD_VERSION : readVersion();

function readVersion(): string {
  const text = readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** How this process was started. Looks for it on this machine. */
export function thisProgramStart(): ProgramStart {
  const folder = fileURLToPath(PACKAGE_ROOT);
  return findProgramStart(realPathOf(folder) ?? folder, {
    platform: process.platform,
    execPath: process.execPath,
    cwd: workingDirectory(),
    env: process.env,
    realPath: realPathOf,
    readText: (path) => {
      try {
        return readFileSync(path, 'utf8');
      } catch {
        return undefined;
      }
    },
  });
}

/** The folder this process runs in; `/` when that folder is gone. */
function workingDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}

/**
 * What runs this program in a shell: every command that a message names begins with it. Tests and generators run the
 * sources; the name alone stands there for whatever it is on the machine of a user.
 */
export const COMMAND: string = IS_BUILT
  ? thisProgramStart()
      .shellWords.map((word) => quoteShellWord(word))
      .join(' ')
  : COMMAND_NAME;
