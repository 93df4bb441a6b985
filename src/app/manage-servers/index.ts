/** The commands that show, change, test and call the configured servers. */
import type { Command } from '../../edges/terminal/command.ts';
import { SERVERS } from './command.ts';

export { readExamples } from './examples.ts';

export const serversCommand: Command<typeof SERVERS> = {
  table: SERVERS,
  async run(line, host) {
    const options = { ...host, ...(await host.loadContext()) };
    return 'isDryRun' in line
      ? (await import('./edit.ts')).editServers(line, options)
      : (await import('./run.ts')).servers(line, options);
  },
};
