/** The commands that show, change, test and call the configured servers. */
import type { Command } from '../../edges/terminal/command.ts';
import { SERVERS } from './command.ts';
import type { addEntry as AddEntryNow } from './edit.ts';

type AddEntry = typeof AddEntryNow;

export { readExamples } from './examples.ts';

/** Adds a server as `servers add` does. */
export const addEntry: AddEntry = async (...given) => (await import('./edit.ts')).addEntry(...given);

export const serversCommand: Command<typeof SERVERS> = {
  table: SERVERS,
  async run(line, host) {
    const options = { ...host, ...(await host.loadContext()) };
    if (line.action === 'find') {
      return (await import('./find.ts')).findServers(line, options);
    }
    if (line.action === 'update') {
      return (await import('./update.ts')).updateServers(line, options);
    }
    return 'isDryRun' in line
      ? (await import('./edit.ts')).editServers(line, options)
      : (await import('./run.ts')).servers(line, options);
  },
};
