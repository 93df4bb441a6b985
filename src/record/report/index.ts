/** What agents did in some time, from the audit log: as text, JSON or a page. */
import type { Command } from '../../edges/terminal/command.ts';
import { REPORT } from './command.ts';

export const reportCommand: Command<typeof REPORT> = {
  table: REPORT,
  async run(line, host) {
    host.endWhenUnread();
    const { runReport } = await import('./run.ts');
    return runReport(line, { ...host, ...(await host.loadContext()) });
  },
};
