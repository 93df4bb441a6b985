/** `audit …`: the record of cells and calls. */
import { InvalidArgumentError, type Command as Program } from 'commander';
import { parseDurationMs } from '../base/units.ts';
import type { Command } from '../terminal/command.ts';
import { addNotes, jsonOption, type Settle, wholeNumber } from '../terminal/define.ts';
import type { AuditCommand } from './run.ts';

export const auditCommand: Command<AuditCommand> = {
  names: ['audit'],
  defaultActions: { audit: 'show' },
  define,
  async run(line, host) {
    host.endWhenUnread();
    const { audit } = await import('./run.ts');
    return audit(line, { ...host, ...(await host.loadContext()) });
  },
};

interface Options {
  readonly session?: string;
  readonly cell?: string;
  readonly server?: string;
  readonly since?: number;
  readonly failed?: true;
  readonly lines?: number;
  readonly follow?: true;
  readonly json?: true;
}

const DEFAULT_LINES = 10;
const MAX_LINES = 100_000;
const SINCE = 'only newer records: 30m, 2h, 7d, or a time such as 2026-11-21 or 2026-11-21T17:00Z';

function define(program: Program, settle: Settle<AuditCommand>): void {
  const group = program
    .command('audit')
    .summary('show the record of cells and calls')
    .description('Show the record of cells and calls. Without a subcommand: `audit show`.')
    .helpCommand(false);
  const take = (action: AuditCommand['action']) => (options: Options) => settle(toCommand(action, options));

  const show = group
    .command('show')
    .description('Show cells with their calls, oldest first.')
    .option('--session <name>', 'only this session')
    .option('--cell <id>', 'only this cell, with its code: an id, or its end such as default/1/7')
    .option('--server <name>', 'only cells that called this server')
    .option('--since <time>', SINCE, since)
    .option('--failed', 'only entries that failed or were refused')
    .addOption(jsonOption())
    .action(take('show'));
  addNotes(show, '--json prints one object per line for each cell, with its records as written.');
  const tail = group
    .command('tail')
    .description('Show the last records.')
    .option('-n, --lines <number>', `records (default: ${DEFAULT_LINES})`, wholeNumber('a whole number', 0, MAX_LINES))
    .option('-f, --follow', 'keep showing new records until interrupted')
    .addOption(jsonOption())
    .action(take('tail'));
  addNotes(tail, '--json prints the lines of the log as written.');
  group
    .command('stats')
    .description('Count cells and calls per tool: failures, refusals, times and sizes.')
    .option('--since <time>', SINCE, since)
    .addOption(jsonOption())
    .action(take('stats'));
}

function toCommand(action: AuditCommand['action'], options: Options): AuditCommand {
  const { session, cell, server, since: sinceMs, failed, lines = DEFAULT_LINES, follow, json } = options;
  const flags = { isFailed: failed === true, isFollowing: follow === true, isJson: json === true };
  return { command: 'audit', action, session, cell, server, sinceMs, lines, ...flags };
}

/** A point in time, or a duration before now; in milliseconds since 1970. */
function since(text: string): number {
  const agoMs = parseDurationMs(text);
  const timeMs = Number.isNaN(agoMs) ? Date.parse(text) : Date.now() - agoMs;
  if (Number.isNaN(timeMs) || timeMs < 0) {
    throw new InvalidArgumentError(
      'It must be a duration such as 30m, 2h or 7d, or a date or time such as 2026-11-21.',
    );
  }
  return timeMs;
}
