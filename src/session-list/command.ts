/** The command `sessions`. */
import type { Command } from '../terminal/command.ts';
import { defineSessions, type SessionsCommand } from './command-line.ts';

export const sessionsCommand: Command<SessionsCommand> = {
  names: ['sessions'],
  defaultActions: { sessions: 'list' },
  define: defineSessions,
  async run(line, host) {
    const { sessions } = await import('./run.ts');
    return sessions(line, { ...host, ...(await host.loadContext()) });
  },
};
