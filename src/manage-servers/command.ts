/** The command `servers` with its subcommands. */
import type { Command } from '../terminal/command.ts';
import { defineServers, type ServersCommand } from './command-line.ts';
import type { EditServersCommand } from './edit-command-line.ts';

export const serversCommand: Command<ServersCommand | EditServersCommand> = {
  names: ['servers', 'edit-servers'],
  defaultActions: { servers: 'list' },
  define: defineServers,
  async run(line, host) {
    const context = await host.loadContext();
    return line.command === 'servers'
      ? (await import('./run.ts')).servers(line, { ...host, ...context })
      : (await import('./edit.ts')).editServers(line, { ...host, ...context });
  },
};
