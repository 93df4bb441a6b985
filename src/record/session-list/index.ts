/** Lists and ends the sandboxes of all bridges on this machine. */
import type { Command } from '../../edges/terminal/command.ts';
import { isSaved, SESSIONS } from './command.ts';

export { storedCheckpoints } from './stored.ts';

export const sessionsCommand: Command<typeof SESSIONS> = {
  table: SESSIONS,
  async run(line, host) {
    const options = { ...host, ...(await host.loadContext()) };
    return isSaved(line)
      ? (await import('./saved.ts')).manageSaved(line, options)
      : (await import('./run.ts')).sessions(line, options);
  },
};
