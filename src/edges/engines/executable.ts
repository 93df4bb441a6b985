/**
 * Finds commands on PATH without running them. A lookup takes microseconds; running a command to see whether it exists takes
 * 20 ms or more.
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { posix, win32 } from 'node:path';
import type { Environment } from './client-env.ts';

/** Folders of the Podman installer, of Homebrew on both processors, and of Docker Desktop. */
const MAC_FOLDERS = [
  '/opt/podman/bin',
  '/opt/homebrew/bin',
  '/usr/local/bin',
  '/Applications/Docker.app/Contents/Resources/bin',
];

/** The absolute path of the first `name` on the PATH of `env`, or undefined. Relative entries of PATH are skipped. */
export function findExecutable(name: string, env: Environment): string | undefined {
  return executablePaths(name, env, process.platform).find(isExecutable);
}

/** The absolute paths of every `name` on PATH, in order. */
export function findExecutables(name: string, env: Environment): string[] {
  return executablePaths(name, env, process.platform).filter(isExecutable);
}

/** The path of setpriv. Undefined if there is none, or if it is the one of BusyBox, which lacks the options we need. */
export function findSetpriv(env: Environment): string | undefined {
  const setpriv = findExecutable('setpriv', env);
  return setpriv !== undefined && posix.basename(realpathSync(setpriv)) === 'setpriv' ? setpriv : undefined;
}

/** Where `name` could be, in the order of PATH. Pure. */
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
    // Missing, or not executable by this user: a later folder may have one that is.
    return false;
  }
}

/**
 * Appends to the PATH of `env` the folders in which podman and docker are installed on macOS and Windows. Programs started from
 * a desktop, as most MCP clients are, get a PATH without these folders, and the bridge would inherit it and find no engine.
 * Returns `env` itself on Linux. Pure.
 */
export function withInstallFolders(env: Environment, platform: NodeJS.Platform): Environment {
  const folders = installFolders(env, platform);
  if (folders.length === 0) {
    return env;
  }
  const name = Object.keys(env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  const delimiter = platform === 'win32' ? win32.delimiter : posix.delimiter;
  return { ...env, [name]: [env[name], ...folders].filter(Boolean).join(delimiter) };
}

function installFolders(env: Environment, platform: NodeJS.Platform): string[] {
  switch (platform) {
    case 'darwin':
      return [...MAC_FOLDERS, ...(env['HOME'] ? [posix.join(env['HOME'], '.docker', 'bin')] : [])];
    case 'win32': {
      const programs = env['ProgramFiles'] ?? 'C:\\Program Files';
      return [
        win32.join(programs, 'RedHat', 'Podman'),
        win32.join(programs, 'Docker', 'Docker', 'resources', 'bin'),
        ...(env['LOCALAPPDATA'] ? [win32.join(env['LOCALAPPDATA'], 'Programs', 'Podman')] : []),
      ];
    }
    default:
      return [];
  }
}
