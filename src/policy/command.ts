/** The command `policy`. */
import type { Command } from '../terminal/command.ts';
import { definePolicy, type PolicyCommand } from './command-line.ts';

export const policyCommand: Command<PolicyCommand> = {
  names: ['policy'],
  defaultActions: { policy: 'show' },
  define: definePolicy,
  async run(line, host) {
    const { policy } = await import('./run.ts');
    return policy(line, { ...host, ...(await host.loadContext()) });
  },
};
