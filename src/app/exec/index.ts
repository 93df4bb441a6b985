/** Runs one cell from the shell, in the same way as a client's call. */
import type { Command } from '../../edges/terminal/command.ts';
import { EXEC } from './command.ts';

export const execCommand: Command<typeof EXEC> = {
  table: EXEC,
  async run(line, host) {
    const { exec } = await import('./exec.ts');
    return exec(line, { ...host, ...(await host.loadContext()) });
  },
};
