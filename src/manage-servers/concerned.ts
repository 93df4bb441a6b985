/** The servers that a command is about, by the words that a person typed. */
import { toIdentifier } from '../catalog/names.ts';
import type { ServersCommand } from './command-line.ts';

type Named = Pick<ServersCommand, 'action' | 'names'>;

/** Whether the command is about the server of that name. A command that names none is about all of them. */
export function concernedBy(command: Named): (server: string) => boolean {
  const named = new Set(namedServers(command).map(folded));
  return (server) => named.size === 0 || named.has(folded(server));
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

/** Names and aliases are understood in any case. */
function folded(name: string): string {
  return toIdentifier(name).toLowerCase();
}
