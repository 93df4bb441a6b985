/** This package: its folder, its version, and the command that starts it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COMMAND_NAME, findProgramStart, type ProgramStart, realPathOf } from './program-start.ts';
import { quoteShellWord } from './shell-words.ts';

export { COMMAND_NAME } from './program-start.ts';

/** Defined by `scripts/build.mjs`; absent when the sources run unbuilt. */
declare const BUILD_VERSION: string | undefined;
const IS_BUILT = typeof BUILD_VERSION === 'string';

/** The root folder of the package, as a file URL that ends with `/`. In the bundle, every file is directly in `dist/`. */
export const PACKAGE_ROOT = new URL(IS_BUILT ? '../' : '../../', import.meta.url);

/** The version of this package, such as `1.2.3`. */
export const VERSION: string = typeof BUILD_VERSION === 'string' ? BUILD_VERSION : readVersion();

function readVersion(): string {
  const text = readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** How this process was started. Reads the file system. */
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

/** The working directory; `/` if it has been deleted. */
function workingDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}

/**
 * The shell command that starts this program; every command in a message begins with it. Tests and generators run the
 * sources, where it is just the program's name.
 */
export const COMMAND: string = IS_BUILT
  ? thisProgramStart()
      .shellWords.map((word) => quoteShellWord(word))
      .join(' ')
  : COMMAND_NAME;
