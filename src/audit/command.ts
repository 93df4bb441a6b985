/** The command `audit`. */
import type { Command } from '../terminal/command.ts';
import { type AuditCommand, defineAudit } from './command-line.ts';

export const auditCommand: Command<AuditCommand> = {
  names: ['audit'],
  defaultActions: { audit: 'show' },
  define: defineAudit,
  async run(line, host) {
    host.endWhenUnread();
    const { audit } = await import('./run.ts');
    return audit(line, { ...host, ...(await host.loadContext()) });
  },
};
