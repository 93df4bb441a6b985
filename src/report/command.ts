/** `history report`: sums of the audit log, for people who answer for what agents do. */
import type { Command as Program } from 'commander';
import type { Command } from '../terminal/command.ts';
import { addNotes, findGroup, jsonOption, POINT_IN_TIME, pointInTime, type Settle } from '../terminal/define.ts';
import type { ReportCommand } from './run.ts';

export const reportCommand: Command<ReportCommand> = {
  names: ['report'],
  define,
  async run(line, host) {
    host.endWhenUnread();
    const { runReport } = await import('./run.ts');
    return runReport(line, { ...host, ...(await host.loadContext()) });
  },
};

interface Options {
  readonly since: number;
  readonly json?: true;
  readonly html?: string;
}

const DEFAULT_SINCE = '7d';

/** Also as a command of its own, as it was called before. */
function define(program: Program, settle: Settle<ReportCommand>): void {
  defineReport(findGroup(program, 'history').command('report'), settle);
  defineReport(program.command('report', { hidden: true }), settle);
}

function defineReport(command: Program, settle: Settle<ReportCommand>): void {
  command
    .summary('sum up what agents did, and what it saved')
    .description(
      'Sum up the audit log: cells and calls per day, server and tool, failures, durations, approvals, and the tokens saved.',
    )
    .option('--since <time>', `${POINT_IN_TIME} (default: ${DEFAULT_SINCE})`, pointInTime)
    .option('--html <file>', 'write a page with charts to this file, which needs no other file and no network')
    .addOption(jsonOption())
    .action(({ html, json, since = pointInTime(DEFAULT_SINCE) }: Partial<Options>) =>
      settle({ command: 'report', sinceMs: since, html, isJson: json === true }),
    );
  addNotes(
    command,
    'Exit code: 1 if there is nothing to report. Days are in UTC. The page contains the first lines of slow cells, and only you can read the file.',
  );
}
