/** Opening and searching an audit log of 100,000 calls, next to reading the same files with `grep`. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { History } from '../../src/record/history/history.ts';
import type { HistoryQuery } from '../../src/record/history/query.ts';
import { makeHistory, writeHistory } from '../../test/support/history-log.ts';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity, type Row } from '../rows.ts';
import { withFolder } from '../support/folder.ts';
import { median, percentile } from '../support/statistics.ts';

const CALLS = 100_000;
export const LARGE_LOG = { calls: CALLS, bridges: 10, startMs: Date.parse('2026-11-20T00:00:00Z'), days: 7 };
const ROUNDS = 9;
/** The last page of some, and none that is found early. */
const QUERIES: readonly HistoryQuery[] = [
  { text: 'nothing contains this' },
  { text: 'FILTER tickets' },
  { server: 'github', status: 'failed' },
  { kind: 'cell', tool: 'list_rows' },
  { cell: 'default/1/7' },
  { principal: 'person-2', session: 'work', text: 'postgres' },
  { sinceMs: LARGE_LOG.startMs, untilMs: LARGE_LOG.startMs + 3_600_000 },
];
const runFile = promisify(execFile);

export const history: Measure = {
  name: 'history',
  title: 'search in the audit log',
  isForAllEngines: true,
  run: (context) => withFolder(async (folder) => measure(context, join(folder, 'audit'))),
};

async function measure(context: BenchContext, directory: string): Promise<Row[]> {
  writeHistory(directory, makeHistory(LARGE_LOG));
  const opened: number[] = [];
  const searched: number[] = [];
  const read: number[] = [];
  const listed: number[] = [];
  for (let round = 0; round < context.repeats(ROUNDS); round += 1) {
    read.push(await timeOf(() => grep(directory, '-i', 'nothing contains this')));
    listed.push(await timeOf(() => grep(directory, '-i', 'filter tickets')));
    const log = new History(directory);
    opened.push(await timeOf(() => log.refresh()));
    for (const query of QUERIES) {
      searched.push(await timeOf(() => log.search(query)));
    }
  }
  const [open, search] = [ms(median(opened)), ms(percentile(searched, 0.95))];
  const calls = CALLS.toLocaleString('en-US');
  return [
    {
      figure: `opening an audit log of ${calls} calls`,
      measured: open,
      floor: { ...ms(median(read)), what: '`grep -i` reads the files' },
      goals: [atMost(open, 1_000)],
    },
    {
      figure: `search in ${calls} calls, p95`,
      measured: search,
      detail: `p50 ${median(searched).toFixed(1)} ms`,
      floor: { ...ms(median(listed)), what: '`grep -i` for a text' },
      goals: [atMost(search, 200)],
    },
  ];
}

const ms = (value: number): Quantity => ({ value, unit: 'ms' });

export async function grep(directory: string, ...args: string[]): Promise<void> {
  // It exits with 1 if it finds nothing.
  await runFile('sh', ['-c', 'grep -r -c "$@"; test $? -le 1', 'grep', ...args, directory]);
}

export async function timeOf(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}
