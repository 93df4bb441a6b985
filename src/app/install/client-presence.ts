/** Whether a client is installed on this machine, judging by its files and programs. */
import { existsSync } from 'node:fs';
import { dirname, posix, win32 } from 'node:path';
import type { ClientDefinition, ClientSystem } from '../../edges/clients/table.ts';

/** Whether the client's configuration folder, one of its programs on `PATH`, or its app exists. */
export function isClientHere(client: ClientDefinition, system: ClientSystem, exists = existsSync): boolean {
  return evidenceOf(client, system).some((path) => exists(path));
}

function evidenceOf(client: ClientDefinition, { env, home, platform }: ClientSystem): string[] {
  const { delimiter, isAbsolute, join } = platform === 'win32' ? win32 : posix;
  // A file directly in the home folder only counts itself: the home always exists.
  const files = client
    .userFiles({ env, home, platform })
    .map((file) => (dirname(file.replaceAll('\\', '/')) === home.replaceAll('\\', '/') ? file : join(file, '..')));
  const extensions = platform === 'win32' ? ['.exe', '.cmd'] : [''];
  const names = client.programs.flatMap((program) => extensions.map((extension) => program + extension));
  const path = env[Object.keys(env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH'] ?? '';
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  const apps =
    platform === 'darwin' && client.macApp !== undefined
      ? ['/Applications', join(home, 'Applications')].map((folder) => join(folder, client.macApp ?? ''))
      : [];
  return [...files, ...folders.flatMap((folder) => names.map((name) => join(folder, name))), ...apps];
}
