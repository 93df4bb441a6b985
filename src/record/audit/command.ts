/** `history …`, also called `audit`: the record of cells and calls. */
import { BridgeError } from '../../core/base/errors.ts';
import {
  action,
  argument,
  choice,
  flag,
  type Group,
  type LineOf,
  option,
  POINT_IN_TIME,
  pointInTime,
  principal,
  wholeNumber,
} from '../../edges/terminal/define.ts';
import { KINDS, STATUSES } from '../history/kinds.ts';

const DEFAULT_LINES = 10;
const MAX_LINES = 100_000;
const DEFAULT_FOUND = 50;
const MAX_FOUND = 1_000;

const since = () => option('--since <time>', `only newer records: ${POINT_IN_TIME}`, pointInTime);

const search = () =>
  action(
    'Find cells, calls and events, newest first.',
    {
      text: argument('[text]', 'part of code, a name, an id or an error, in any case'),
      kind: choice('--kind <kind>', 'only cells, calls or events', KINDS),
      server: option('--server <name>', 'only calls of this server, and cells that called it'),
      tool: option('--tool <name>', 'only calls of this tool, and cells that called it'),
      session: option('--session <name>', 'only this session'),
      cell: option('--cell <id>', 'only this cell: an id, or its end such as default/1/7'),
      principal: principal('only this principal'),
      status: choice('--status <status>', 'only this status; failed for all failures', STATUSES),
      sinceMs: since(),
      untilMs: option('--until <time>', 'only what began before this time', pointInTime),
      limit: option(
        '-n, --limit <number>',
        `entries (default: ${DEFAULT_FOUND})`,
        wholeNumber('a whole number', 1, MAX_FOUND),
      ),
      cursor: option('--cursor <cursor>', 'go on where an earlier search ended'),
    },
    {
      notes: '--json prints one object: `items` as written, and `next`, the cursor of the next page, if there is one.',
    },
  );

export const AUDIT = {
  command: 'audit',
  word: 'history',
  alias: 'audit',
  summary: 'show what agents have done: cells, calls, sums, recordings',
  description: 'Show what agents have done, from the record of cells and calls.',
  defaultAction: 'show',
  actions: () => ({
    show: action(
      'Show cells with their calls, in the order in which they ended.',
      {
        id: argument('[cell]', 'the same as --cell'),
        session: option('--session <name>', 'only this session'),
        cell: option('--cell <id>', 'only this cell, with its code: an id, or its end such as default/1/7'),
        server: option('--server <name>', 'only cells that called this server'),
        sinceMs: since(),
        isFailed: flag('--failed', 'only entries that failed or were refused'),
      },
      {
        notes: '--json prints one object per line for each cell, with its records as written.',
        check({ cell, id }) {
          if (id !== undefined && cell !== undefined) {
            throw new BridgeError('USAGE_INVALID', 'a cell was given twice', { hint: 'Leave out --cell.' });
          }
        },
      },
    ),
    search: search(),
    tail: action(
      'Show the last records.',
      {
        lines: option(
          '-n, --lines <number>',
          `records (default: ${DEFAULT_LINES})`,
          wholeNumber('a whole number', 0, MAX_LINES),
          DEFAULT_LINES,
        ),
        isFollowing: flag('-f, --follow', 'keep showing new records until interrupted'),
      },
      { notes: '--json prints the lines of the log as written.' },
    ),
    stats: action('Count cells and calls per tool: failures, refusals, times and sizes.', { sinceMs: since() }),
  }),
} as const satisfies Group;

export type AuditCommand = LineOf<typeof AUDIT>;
