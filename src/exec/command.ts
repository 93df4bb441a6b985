/** The command `exec`. */
import type { Command } from '../terminal/command.ts';
import { defineExec, type ExecCommand } from './command-line.ts';

export const execCommand: Command<ExecCommand> = {
  names: ['exec'],
  define: defineExec,
  async run(line, host) {
    const { exec } = await import('./exec.ts');
    return exec(line, { ...host, ...(await host.loadContext()) });
  },
};
