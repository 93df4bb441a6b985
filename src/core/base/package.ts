/** The command that starts this package. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COMMAND_NAME, findProgramStart, type ProgramStart, realPathOf } from './program-start.ts';
import { quoteShellWord } from './shell-words.ts';
import { IS_BUILT, PACKAGE_ROOT } from './version.ts';

export { COMMAND_NAME, SHORT_NAME } from './program-start.ts';
export { PACKAGE_ROOT, VERSION } from './version.ts';

/** How this process was started. Reads the file system. */
export function thisProgramStart(): ProgramStart {
  const folder = fileURLToPath(PACKAGE_ROOT);
  return findProgramStart(realPathOf(folder) ?? folder, {
    platform: process.platform,
    execPath: process.execPath,
    cwd: workingDirectory(),
    script: process.argv[1],
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
