/** `history …`, also called `audit`: the record of cells and calls. */
import { Option, type Command as Program } from 'commander';
import { BridgeError } from '../base/errors.ts';
import { type HistoryKind, KINDS, STATUSES } from '../history/kinds.ts';
import type { Command } from '../terminal/command.ts';
import {
  addNotes,
  jsonOption,
  POINT_IN_TIME,
  pointInTime,
  principalOption,
  type Settle,
  wholeNumber,
} from '../terminal/define.ts';
import type { AuditCommand } from './run.ts';

export const auditCommand: Command<AuditCommand> = {
  names: ['audit'],
  defaultActions: { history: 'show', audit: 'show' },
  define,
  async run(line, host) {
    host.endWhenUnread();
    const { audit } = await import('./run.ts');
    return audit(line, { ...host, ...(await host.loadContext()) });
  },
};

interface Options {
  readonly text?: string;
  readonly kind?: HistoryKind;
  readonly tool?: string;
  readonly status?: string;
  readonly for?: string;
  readonly until?: number;
  readonly limit?: number;
  readonly cursor?: string;
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
const DEFAULT_FOUND = 50;
const MAX_FOUND = 1_000;
const SINCE = `only newer records: ${POINT_IN_TIME}`;

function define(program: Program, settle: Settle<AuditCommand>): void {
  const group = program
    .command('history')
    .alias('audit')
    .summary('show what agents have done: cells, calls, sums, recordings')
    .description(
      'Show what agents have done, from the record of cells and calls. Without a subcommand: `history show`.',
    )
    .helpCommand(false);
  const take = (action: AuditCommand['action']) => (options: Options) => settle(toCommand(action, options));

  const show = group
    .command('show')
    .description('Show cells with their calls, in the order in which they ended.')
    .argument('[cell]', 'the same as --cell')
    .option('--session <name>', 'only this session')
    .option('--cell <id>', 'only this cell, with its code: an id, or its end such as default/1/7')
    .option('--server <name>', 'only cells that called this server')
    .option('--since <time>', SINCE, pointInTime)
    .option('--failed', 'only entries that failed or were refused')
    .addOption(jsonOption())
    .action((cell: string | undefined, options: Options) => {
      if (cell !== undefined && options.cell !== undefined) {
        throw new BridgeError('USAGE_INVALID', 'a cell was given twice', { hint: 'Leave out --cell.' });
      }
      settle(toCommand('show', { ...options, ...(cell !== undefined && { cell }) }));
    });
  addNotes(show, '--json prints one object per line for each cell, with its records as written.');
  defineSearch(group, settle);
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
    .option('--since <time>', SINCE, pointInTime)
    .addOption(jsonOption())
    .action(take('stats'));
}

function defineSearch(group: Program, settle: Settle<AuditCommand>): void {
  const search = group
    .command('search')
    .description('Find cells, calls and events, newest first.')
    .argument('[text]', 'part of code, a name, an id or an error, in any case')
    .addOption(new Option('--kind <kind>', 'only cells, calls or events').choices(KINDS))
    .option('--server <name>', 'only calls of this server, and cells that called it')
    .option('--tool <name>', 'only calls of this tool, and cells that called it')
    .option('--session <name>', 'only this session')
    .option('--cell <id>', 'only this cell: an id, or its end such as default/1/7')
    .addOption(principalOption('only this principal'))
    .addOption(new Option('--status <status>', 'only this status; failed for all failures').choices(STATUSES))
    .option('--since <time>', SINCE, pointInTime)
    .option('--until <time>', 'only what began before this time', pointInTime)
    .option('-n, --limit <number>', `entries (default: ${DEFAULT_FOUND})`, wholeNumber('a whole number', 1, MAX_FOUND))
    .option('--cursor <cursor>', 'go on where an earlier search ended')
    .addOption(jsonOption())
    .action((text: string | undefined, options: Options) =>
      settle(toCommand('search', { ...options, ...(text !== undefined && { text }) })),
    );
  addNotes(
    search,
    '--json prints one object: `items` as written, and `next`, the cursor of the next page, if there is one.',
  );
}

function toCommand(action: AuditCommand['action'], options: Options): AuditCommand {
  const { session, cell, server, since: sinceMs, failed, lines = DEFAULT_LINES, follow, json } = options;
  const { text, kind, tool, status, for: principal, until: untilMs, limit, cursor } = options;
  const query = { text, kind, server, tool, session, cell, status, principal, sinceMs, untilMs, limit, cursor };
  const flags = { isFailed: failed === true, isFollowing: follow === true, isJson: json === true };
  return { command: 'audit', action, session, cell, server, sinceMs, lines, query, ...flags };
}
