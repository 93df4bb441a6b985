/** The servers that a command is about, by the words that a person typed. */
import { isServer } from '../catalog/names.ts';
import type { ServersCommand } from './command-line.ts';

type Named = Pick<ServersCommand, 'action' | 'names'>;

/** Whether the command is about the server of that name. A command that names none is about all of them. */
export function concernedBy(command: Named): (server: string) => boolean {
  const matches = namedServers(command).map(isServer);
  return (server) => matches.length === 0 || matches.some((isNamed) => isNamed(server));
}

function namedServers({ action, names }: Named): readonly string[] {
  switch (action) {
    case 'list':
    case 'search':
      return [];
    case 'test':
    case 'refresh':
      return names;
    default:
      return names.slice(0, 1);
  }
}
