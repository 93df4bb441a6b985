/** `config …`: settings that are kept in a file of the state directory. */
import type { Command } from '../../edges/terminal/command.ts';
import { CONFIG } from './command.ts';
import type { ListClients } from './run.ts';

/** @param listClients the clients in which the bridge is registered, whose variables win over the file. */
export function configCommand(listClients: ListClients): Command<typeof CONFIG> {
  return {
    table: CONFIG,
    async run(line, host) {
      const { manageSettings } = await import('./run.ts');
      return manageSettings(line, { ...host, listClients });
    },
  };
}
