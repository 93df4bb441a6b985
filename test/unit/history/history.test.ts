/** Searching the audit log: what is found, in which order, page by page, whatever the files look like. */
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Arbitrary, assert, asyncProperty, constantFrom, integer, option, record as recordOf } from 'fast-check';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { FAILURES, searchTextOf, statusOf } from '../../../src/record/history/facts.ts';
import { History, type HistoryItem } from '../../../src/record/history/history.ts';
import { KINDS } from '../../../src/record/history/kinds.ts';
import type { HistoryQuery } from '../../../src/record/history/query.ts';
import type { AuditRecord, RecordOf } from '../../../src/record/history/records.ts';
import { makeHistory, writeHistory } from '../../support/history-log.ts';

const START_MS = Date.parse('2026-11-20T22:00:00.000Z');
const HOUR_MS = 3_600_000;

let directory: string;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-history-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  directory = join(folder, 'audit');
  mkdirSync(directory);
});

async function open(): Promise<History> {
  const history = new History(directory);
  await history.refresh();
  return history;
}

/** Every page. */
async function searchAll(history: History, query: HistoryQuery): Promise<HistoryItem[]> {
  const items: HistoryItem[] = [];
  let cursor: string | undefined;
  do {
    const page = await history.search({ ...query, cursor });
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return items;
}

const timeOf = (item: HistoryItem): number =>
  Date.parse(item.kind === 'cell' ? ((item.started ?? item.ended)?.at ?? '') : item.record.at);

function keyOf(item: HistoryItem): string {
  return item.kind === 'cell' ? item.id : 'id' in item.record ? item.record.id : item.record.type;
}

/** What a search should find, by looking at every record. */
function findNaively(records: readonly AuditRecord[], query: HistoryQuery): string[] {
  const calls = records.filter((record) => record.type === 'call');
  const ends = records.filter((record) => record.type === 'cell_ended');
  const has = (parts: readonly string[]): boolean =>
    parts.some((part) => part.toLowerCase().includes((query.text ?? '').toLowerCase()));
  const isFound = (kind: string, status: string, record: AuditRecord, of: readonly AuditRecord[]) => {
    const cell = record.type === 'call' ? record.cell : 'id' in record ? record.id : '';
    const timeMs = Date.parse(record.at);
    const { principal = '' } = record;
    return (
      (query.kind ?? kind) === kind &&
      (query.status === 'failed' ? FAILURES.has(status) : (query.status ?? status) === status) &&
      (query.principal ?? principal) === principal &&
      (query.bridge ?? record.bridge) === record.bridge &&
      (query.session === undefined || cell.split('/')[1] === query.session) &&
      (query.cell === undefined || cell === query.cell || cell.endsWith(`/${query.cell}`)) &&
      timeMs >= (query.sinceMs ?? 0) &&
      timeMs < (query.untilMs ?? Infinity) &&
      ((query.server ?? query.tool) === undefined ||
        of.some(
          (call) =>
            call.type === 'call' &&
            (query.server ?? call.server) === call.server &&
            (query.tool ?? call.tool) === call.tool,
        ))
    );
  };
  return records.flatMap((record) => {
    if (record.type === 'call') {
      const found = isFound('call', statusOf(record), record, [record]);
      return found && has([record.cell, searchTextOf(record)]) ? [record.id] : [];
    }
    if (record.type !== 'cell_started') {
      return [];
    }
    const end = ends.find(({ id }) => id === record.id);
    const own = calls.filter(({ cell }) => cell === record.id);
    const found = isFound('cell', end?.status ?? 'running', record, own);
    return found && has([record.id, searchTextOf(record), end === undefined ? '' : searchTextOf(end)])
      ? [record.id]
      : [];
  });
}

const optional = <Value>(arbitrary: Arbitrary<Value>) => option(arbitrary, { nil: undefined });
const queries: Arbitrary<HistoryQuery> = recordOf({
  text: optional(constantFrom('', 'AWAIT', 'github', 'policy_denied', 'keyerror', 'owner', 'work/1/3', 'zzz', '"')),
  kind: optional(constantFrom(...KINDS)),
  server: optional(constantFrom('github', 'files', 'none')),
  tool: optional(constantFrom('list_issues', 'read_rows')),
  session: optional(constantFrom('default', 'work')),
  cell: optional(constantFrom('default/1/2', '7')),
  principal: optional(constantFrom('', 'person-2')),
  status: optional(constantFrom('failed', 'ok', 'success', 'refused', 'running')),
  sinceMs: optional(integer({ min: START_MS, max: START_MS + 48 * HOUR_MS })),
  untilMs: optional(integer({ min: START_MS, max: START_MS + 48 * HOUR_MS })),
  limit: optional(integer({ min: 1, max: 60 })),
});

describe('a search', () => {
  it('finds what a look at every record finds, each once, newest first', async () => {
    const records = makeHistory({ calls: 600, bridges: 3, startMs: START_MS, days: 2, codeChars: 120 });
    // A cell that still runs, and one whose end is on the next day.
    const [last] = records.filter((record) => record.type === 'cell_started').slice(-1);
    writeHistory(
      directory,
      records.filter((record) => record.type !== 'cell_ended' || record.id !== last?.id),
    );
    const written = records.filter((record) => record.type !== 'cell_ended' || record.id !== last?.id);
    const history = await open();
    await assert(
      asyncProperty(queries, async (query) => {
        const items = await searchAll(history, query);
        expect(items.map(keyOf).toSorted()).toEqual(findNaively(written, query).toSorted());
        const times = items.map(timeOf);
        expect(times).toEqual(times.toSorted((a, b) => b - a));
      }),
      { numRuns: 150 },
    );
  });

  it('goes on after its cursor although newer calls arrive, also in another process', async () => {
    const records = makeHistory({ calls: 60, bridges: 2, startMs: START_MS, days: 1 });
    writeHistory(directory, records.slice(0, 60));
    const history = await open();
    const first = await history.search({ kind: 'call', limit: 20 });
    writeHistory(directory, records.slice(60));
    await history.refresh();
    const second = await history.search({ kind: 'call', limit: 1_000, cursor: first.next });
    const elsewhere = await (await open()).search({ kind: 'call', limit: 1_000, cursor: first.next });
    const calls = records.slice(0, 60).filter((record) => record.type === 'call');
    expect([...first.items, ...second.items].map(keyOf)).toEqual(calls.toReversed().map(({ id }) => id));
    expect(elsewhere).toEqual(second);
  });

  it('rejects a cursor that is none', async () => {
    await expect((await open()).search({ cursor: 'x' })).rejects.toThrow(BridgeError);
  });

  it('finds refused cells, programs and packages as events', async () => {
    const common = { at: '2026-11-21T12:00:00.000Z', bridge: 'b' };
    const refused = { session: 's', servers: [], code_sha256: '', code_bytes: 1, code: 'IMPORT os', error_code: 'X' };
    writeHistory(directory, [
      { type: 'cell_refused', ...common, ...refused },
      { type: 'packages_refused', ...common, cell: 'b/s/1/1', requirements: ['pandas'], error_code: 'X', reason: 'no' },
    ]);
    const history = await open();
    const found = async (query: HistoryQuery) =>
      (await history.search(query)).items.map((item) => item.kind === 'event' && item.record.type);
    expect(await found({ text: 'import' })).toEqual(['cell_refused']);
    expect(await found({ text: 'PANDAS', status: 'refused', session: 's' })).toEqual(['packages_refused']);
    expect(await found({ session: 's' })).toHaveLength(2);
  });
});

describe('a cell', () => {
  it('opens with its calls, by its id or the end of it', async () => {
    const records = makeHistory({ calls: 100, bridges: 2, startMs: START_MS, days: 1 });
    writeHistory(directory, records);
    const history = await open();
    const started = records.find((record) => record.type === 'cell_started') as RecordOf<'cell_started'>;
    const calls = records.filter((record) => record.type === 'call' && record.cell === started.id);
    expect(await history.cell(started.id)).toMatchObject({ id: started.id, started, calls, callsLeftOut: 0 });
    expect((await history.cell(started.id.split('/').slice(1).join('/')))?.started?.session).toBe(started.session);
    expect(await history.cell('nothing/1/1')).toBeUndefined();
  });

  // A session that writes very much goes on in a file of its own, which is read after that of all sessions.
  it('is one although its end is in another file, and was read before its start', async () => {
    const records = makeHistory({ calls: 3, bridges: 1, startMs: START_MS, days: 1 });
    const [start, ...rest] = records.map((record) => `${JSON.stringify(record)}\n`);
    writeFileSync(join(directory, '2026-11-20.session-0c1d2e3f.jsonl'), rest.join(''));
    const history = await open();
    expect((await history.search({ kind: 'cell' })).items).toMatchObject([{ started: undefined }]);
    writeFileSync(join(directory, '2026-11-20.jsonl'), start ?? '');
    await history.refresh();
    const { items } = await history.search({ kind: 'cell', text: 'await' });
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({ started: { type: 'cell_started' }, ended: { type: 'cell_ended' } });
  });
});

describe('files', () => {
  const line = (call: number): string =>
    `${JSON.stringify({
      type: 'call',
      at: new Date(START_MS + call).toISOString(),
      bridge: 'b',
      id: `b/s/1/1/${call}`,
      cell: 'b/s/1/1',
      server: 'häuser',
      tool: 'read',
      arguments: {},
      decision: 'allowed',
      outcome: 'ok',
      duration_ms: 1,
    })}\n`;
  const day = () => join(directory, '2026-11-20.jsonl');
  const ids = async (history: History) =>
    (await history.search({ limit: 1_000 })).items.map(
      (item) => item.kind === 'call' && item.record.id.split('/').at(-1),
    );

  it('are read on, a half-written line only once it is complete', async () => {
    const text = line(2);
    writeFileSync(day(), line(1) + text.slice(0, 50));
    const history = await open();
    expect([await ids(history), history.badLines]).toEqual([['1'], 1]);
    appendFileSync(day(), text.slice(50) + line(3));
    await history.refresh();
    expect([await ids(history), history.badLines]).toEqual([['3', '2', '1'], 0]);
  });

  it('may have damaged lines, which are counted', async () => {
    const incomplete = line(9).replace('"decision":"allowed",', '');
    writeFileSync(
      day(),
      `${line(1)}{"broken\n\n[]\n"text"\n${incomplete}{"type":"later"}\n${line(2)}\u0000\n${line(3)}`,
    );
    const history = await open();
    expect([await ids(history), history.badLines]).toEqual([['3', '2', '1'], 6]);
  });

  it('may have records that turn out to be invalid when they are shown', async () => {
    writeFileSync(day(), line(1) + line(2).replace('"duration_ms":1', '"duration_ms":"1"'));
    const history = await open();
    expect([await ids(history), await ids(history), history.badLines]).toEqual([['1'], ['1'], 1]);
  });

  it('may have lines longer than any record, which are left out', async () => {
    const long = 'x'.repeat(17 * 1024 * 1024);
    writeFileSync(day(), `${line(1)}${long}\n${line(2)}`);
    const history = await open();
    expect([await ids(history), history.badLines]).toEqual([['2', '1'], 1]);
  });

  it('are read again if one was removed or replaced', async () => {
    writeFileSync(join(directory, '2026-11-19.jsonl'), line(1));
    writeFileSync(day(), line(2));
    const history = await open();
    rmSync(join(directory, '2026-11-19.jsonl'));
    writeFileSync(`${day()}.new`, line(3) + line(4));
    renameSync(`${day()}.new`, day());
    await history.refresh();
    expect(await ids(history)).toEqual(['4', '3']);
  });

  it('that cannot be read are reported', async () => {
    mkdirSync(day());
    writeFileSync(join(directory, '2026-11-19.jsonl'), line(1));
    const history = await open();
    expect(await ids(history)).toEqual(['1']);
    expect(history.unreadable).toEqual([`${day()}: it is not a regular file`]);
  });

  it('without records are an empty log', async () => {
    rmSync(directory, { recursive: true });
    expect((await (await open()).search({})).items).toEqual([]);
  });

  it('are found again by the places of their lines', async () => {
    const records = makeHistory({ calls: 3_000, bridges: 4, startMs: START_MS, days: 1 });
    writeHistory(directory, records);
    const calls = records.filter((record) => record.type === 'call');
    const items = await searchAll(await open(), { kind: 'call', limit: 1_000 });
    const found = items.flatMap((item) => (item.kind === 'call' ? [item.record] : []));
    expect(found.toReversed()).toEqual(calls);
  });
});

describe('a call with a required record', () => {
  it('is found once, with its end if there is one, also if that comes later', async () => {
    const at = (ms: number) => new Date(START_MS + ms).toISOString();
    const record = (number: number, ms: number, outcome: 'started' | 'ok') => ({
      type: 'call',
      at: at(ms),
      bridge: 'b1',
      id: `b1/default/1/1/${number}`,
      cell: 'b1/default/1/1',
      server: 'files',
      tool: 'read',
      arguments: {},
      decision: 'allowed',
      outcome,
      duration_ms: outcome === 'ok' ? 5 : 0,
    });
    const write = (...records: object[]) =>
      appendFileSync(join(directory, '2026-11-20.jsonl'), records.map((one) => `${JSON.stringify(one)}\n`).join(''));
    write(record(1, 10, 'started'), record(2, 20, 'started'), record(1, 5, 'ok'));
    const history = await open();
    const found = async (query: HistoryQuery = {}) =>
      (await searchAll(history, query)).map((item) => [keyOf(item).at(-1), item.status, timeOf(item) - START_MS]);
    expect(await found()).toEqual([
      ['2', 'started', 20],
      ['1', 'ok', 5],
    ]);
    expect(await found({ status: 'started' })).toHaveLength(1);
    // It began before the other, and waited for a person.
    write(record(2, 2, 'ok'));
    await history.refresh();
    expect(await found()).toEqual([
      ['1', 'ok', 5],
      ['2', 'ok', 2],
    ]);
    expect(history.size).toBe(2);
  });
});
