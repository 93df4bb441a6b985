/** Finding a command on PATH without starting it: microseconds, where starting it to see costs 20 ms and more. */
import { accessSync, constants, statSync } from 'node:fs';
import { posix, win32 } from 'node:path';
import type { Environment } from './client-env.ts';

/** The absolute path of `name` on the PATH of `env`; undefined when there is none. Relative entries of PATH are skipped. */
export function findExecutable(name: string, env: Environment): string | undefined {
  return executablePaths(name, env, process.platform).find(isExecutable);
}

/** All of them, in the order of PATH. */
export function findExecutables(name: string, env: Environment): string[] {
  return executablePaths(name, env, process.platform).filter(isExecutable);
}

/** Where `name` may be, in the order of PATH. Pure. */
export function executablePaths(name: string, env: Environment, platform: NodeJS.Platform): string[] {
  const path = platform === 'win32' ? win32 : posix;
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, platform === 'win32' ? `${name}.exe` : name));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Not there or not ours to run: the next folder may have it.
    return false;
  }
}
