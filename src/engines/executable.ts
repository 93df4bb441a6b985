/** Finding a command on PATH without starting it: microseconds, where starting it to see costs 20 ms and more. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Environment } from './client-env.ts';

/** The absolute path of `name` on the PATH of `env`; undefined when there is none. Relative entries of PATH are skipped. */
export function findExecutable(name: string, env: Environment): string | undefined {
  return pathsOf(name, env).find(isExecutable);
}

/** All of them, in the order of PATH. */
export function findExecutables(name: string, env: Environment): string[] {
  return pathsOf(name, env).filter(isExecutable);
}

function pathsOf(name: string, env: Environment): string[] {
  const folders = (env.PATH ?? env.Path ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  const fileName = process.platform === 'win32' ? `${name}.exe` : name;
  return folders.map((folder) => join(folder, fileName));
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
