/** Whether a client is on this machine, as far as its files and programs tell. */
import { existsSync } from 'node:fs';
import { dirname, posix, win32 } from 'node:path';
import type { ClientDefinition, ClientSystem } from '../clients/table.ts';

/** Whether there is a folder of the client's files, a program of its on `PATH`, or its app. */
export function isClientHere(client: ClientDefinition, system: ClientSystem, exists = existsSync): boolean {
  return evidenceOf(client, system).some((path) => exists(path));
}

function evidenceOf(client: ClientDefinition, { env, home, platform }: ClientSystem): string[] {
  const { delimiter, isAbsolute, join } = platform === 'win32' ? win32 : posix;
  // A file right in the home has no folder that tells.
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
