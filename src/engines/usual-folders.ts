/**
 * Where podman and docker are installed on macOS and Windows. Programs that are started from a desktop, as most MCP clients
 * are, get a PATH without these folders, and so would the bridge: it would find no engine on a machine that has one.
 */
import { posix, win32 } from 'node:path';
import type { Environment } from './client-env.ts';

/** Of the installer of Podman, of Homebrew on both processors, and of Docker Desktop. */
const MAC_FOLDERS = [
  '/opt/podman/bin',
  '/opt/homebrew/bin',
  '/usr/local/bin',
  '/Applications/Docker.app/Contents/Resources/bin',
];

/** `env` with these folders at the end of its PATH; itself on Linux. Pure. */
export function withUsualFolders(env: Environment, platform: NodeJS.Platform): Environment {
  const folders = usualFolders(env, platform);
  if (folders.length === 0) {
    return env;
  }
  const name = Object.keys(env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  const delimiter = platform === 'win32' ? win32.delimiter : posix.delimiter;
  return { ...env, [name]: [env[name], ...folders].filter(Boolean).join(delimiter) };
}

function usualFolders(env: Environment, platform: NodeJS.Platform): string[] {
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
