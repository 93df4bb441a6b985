/** The record of cells and calls: written from the events of a bridge, read by a command. */
import type { Command } from '../../edges/terminal/command.ts';
import { AUDIT } from './command.ts';

export { recordProgram } from './program-record.ts';
export { type AuditTrail, openAuditTrail, withAuditNotices } from './trail.ts';
export { createAuditWatcher, createRequiredGate } from './watch.ts';

export const auditCommand: Command<typeof AUDIT> = {
  table: AUDIT,
  async run(line, host) {
    host.endWhenUnread();
    const { audit } = await import('./run.ts');
    return audit(line, { ...host, ...(await host.loadContext()) });
  },
};
