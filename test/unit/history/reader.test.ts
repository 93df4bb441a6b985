/** Reading, joining and counting records; damaged lines are counted and skipped. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type AuditEntry, joinRecords, matches } from '../../../src/record/history/entries.ts';
import { AuditReader } from '../../../src/record/history/reader.ts';
import type { AuditRecord, RecordOf } from '../../../src/record/history/records.ts';
import { StatisticsBuilder } from '../../../src/record/history/statistics.ts';

const at = '2026-11-21T12:00:00.000Z';
const common = { at, bridge: 'b1' };
const SIZES = { stdout_bytes: 1, stderr_bytes: 2, value_bytes: 3, error_bytes: 4, attachments: 0 };

function started(cell: number, more: Partial<RecordOf<'cell_started'>> = {}): AuditRecord {
  const run = { session: 'default', generation: 1, cell, timeout_ms: 30_000, servers: ['files'] };
  const code = { code_sha256: 'ab', code_bytes: 1, code: 'x' };
  return { type: 'cell_started', ...common, id: `b1/default/1/${cell}`, ...run, ...code, ...more };
}

function ended(cell: number, status: RecordOf<'cell_ended'>['status'] = 'success', session = 'default'): AuditRecord {
  return { type: 'cell_ended', ...common, id: `b1/${session}/1/${cell}`, status, duration_ms: 10, ...SIZES };
}

function call(cell: number, number: number, more: Partial<RecordOf<'call'>> = {}): RecordOf<'call'> {
  const id = `b1/default/1/${cell}`;
  const what = { server: 'files', tool: 'read', arguments: { path: 'string(3)' } };
  const outcome = { decision: 'allowed', outcome: 'ok', duration_ms: 5, result_bytes: 100 } as const;
  return { type: 'call', ...common, id: `${id}/${number}`, cell: id, ...what, ...outcome, ...more };
}

let directory: string;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  directory = join(folder, 'audit');
  mkdirSync(directory);
});

function write(file: string, ...records: (AuditRecord | string)[]): void {
  const lines = records.map((record) => (typeof record === 'string' ? record : `${JSON.stringify(record)}\n`));
  appendFileSync(join(directory, file), lines.join(''));
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) {
    list.push(item);
  }
  return list;
}

const ids = async (reader: AuditReader, sinceMs?: number) =>
  (await all(reader.read(sinceMs))).map(({ record }) => ('id' in record ? record.id : record.type));

describe('reading', () => {
  it('yields nothing if there is no folder', async () => {
    rmSync(directory, { recursive: true });
    expect(await ids(new AuditReader(directory))).toEqual([]);
  });

  it('yields files by day and number, and their lines in order', async () => {
    write('2026-11-22.jsonl', ended(5));
    write('2026-11-21.10.jsonl', ended(4));
    write('2026-11-21.2.jsonl', ended(3));
    write('2026-11-21.jsonl', ended(1), ended(2));
    writeFileSync(join(directory, 'other.jsonl'), 'not ours');
    const reader = new AuditReader(directory);
    expect(await ids(reader)).toEqual([1, 2, 3, 4, 5].map((cell) => `b1/default/1/${cell}`));
    expect(reader.badLines).toBe(0);
  });

  it('merges the files of single sessions into those of all, by time', async () => {
    const later = (seconds: number) => ({ at: `2026-11-21T12:00:0${seconds}.000Z` });
    write('2026-11-21.jsonl', { ...ended(1), ...later(1) }, { ...ended(3), ...later(3) }, { ...ended(2), ...later(2) });
    write('2026-11-21.session-0c1d2e3f.jsonl', { ...ended(4), ...later(0) }, { ...ended(5), ...later(2) });
    write('2026-11-21.session-0c1d2e3f.1.jsonl', { ...ended(6), ...later(4) });
    write('2026-11-22.jsonl', ended(7));
    const reader = new AuditReader(directory);
    expect(await ids(reader)).toEqual([4, 1, 5, 3, 2, 6, 7].map((cell) => `b1/default/1/${cell}`));
    write('2026-11-21.session-0c1d2e3f.1.jsonl', ended(8));
    expect(await ids(reader)).toEqual(['b1/default/1/8']);
  });

  it('continues where it ended, even in the middle of a line and with a new file', async () => {
    write('2026-11-21.jsonl', ended(1), JSON.stringify(ended(2)).slice(0, 20));
    const reader = new AuditReader(directory);
    expect(await ids(reader)).toEqual(['b1/default/1/1']);
    expect(reader.badLines).toBe(1);
    write('2026-11-21.jsonl', `${JSON.stringify(ended(2)).slice(20)}\n`);
    write('2026-11-21.1.jsonl', ended(3));
    expect(await ids(reader)).toEqual(['b1/default/1/2', 'b1/default/1/3']);
    expect(reader.badLines).toBe(0);
  });

  it('skips and counts invalid lines, but ignores empty ones', async () => {
    const wrong = JSON.stringify({ ...ended(1), status: 'fine' });
    write('2026-11-21.jsonl', 'torn{"type":\n', '\n', '[]\n', `${wrong}\n`, ended(2), '\0\0\0\n');
    const reader = new AuditReader(directory);
    expect(await ids(reader)).toEqual(['b1/default/1/2']);
    expect(reader.badLines).toBe(4);
  });

  it('a line of 17 MB does not affect the next one', async () => {
    write('2026-11-21.jsonl', `${'x'.repeat(17 * 1024 * 1024)}\n`, ended(1));
    const reader = new AuditReader(directory);
    expect(await ids(reader)).toEqual(['b1/default/1/1']);
    expect(reader.badLines).toBe(1);
  });

  it('does not follow a link, and reports it', async () => {
    writeFileSync(join(directory, '..', 'elsewhere'), `${JSON.stringify(ended(1))}\n`);
    symlinkSync(join(directory, '..', 'elsewhere'), join(directory, '2026-11-20.jsonl'));
    write('2026-11-21.jsonl', ended(2));
    const reader = new AuditReader(directory);
    expect(await ids(reader)).toEqual(['b1/default/1/2']);
    expect(reader.unreadable).toEqual([expect.stringMatching(/2026-11-20\.jsonl: ELOOP/)]);
  });

  it('leaves out older records, without opening the files of earlier days', async () => {
    write('2026-11-20.jsonl', 'this is no record\n');
    write('2026-11-21.jsonl', { ...ended(1), at: '2026-11-21T10:00:00.000Z' }, ended(2));
    const reader = new AuditReader(directory);
    expect(await ids(reader, Date.parse('2026-11-21T11:00:00Z'))).toEqual(['b1/default/1/2']);
    expect(reader.badLines).toBe(0);
  });
});

describe('joining', () => {
  async function join_(...records: AuditRecord[]): Promise<AuditEntry[]> {
    async function* each() {
      yield* records.map((record) => ({ record }));
    }
    return all(joinRecords(each()));
  }

  it('gives a cell its code, calls and end, whatever runs at the same time', async () => {
    const [second, first] = await join_(started(1), started(2), call(1, 1), call(2, 2), ended(2), call(1, 3), ended(1));
    expect(first).toMatchObject({
      id: 'b1/default/1/1',
      calls: [{ id: 'b1/default/1/1/1' }, { id: 'b1/default/1/1/3' }],
    });
    expect(second).toMatchObject({ kind: 'cell', id: 'b1/default/1/2', calls: [{ id: 'b1/default/1/2/2' }] });
  });

  it('puts cells without an end last, and keeps other records on their own', async () => {
    const entries = await join_(started(1), ended(7), call(0, 9, { job: 'watch' }), call(1, 1));
    expect(entries).toMatchObject([
      { id: 'b1/default/1/7', started: undefined },
      { kind: 'record', record: { job: 'watch' } },
      { id: 'b1/default/1/1', ended: undefined, calls: [{}] },
    ]);
  });

  it.each([
    [{ session: 'default' }, 2],
    [{ session: 'other' }, 1],
    [{ cell: 'b1/default/1/1' }, 1],
    [{ cell: 'default/1/2' }, 1],
    [{ cell: '1' }, 2],
    [{ server: 'files' }, 1],
    [{ server: 'none' }, 0],
    [{ isFailed: true }, 2],
    [{ isFailed: true, session: 'default' }, 1],
    [{}, 3],
  ])('%j matches %i entries', async (filter, count) => {
    const failed = call(1, 1, { outcome: 'error', error_code: 'TOOL_FAILED' });
    const entries = await join_(started(1), failed, ended(1), started(2), ended(2), ended(1, 'timeout', 'other'));
    expect(entries.filter((entry) => matches(entry, filter))).toHaveLength(count);
  });
});

describe('statistics', () => {
  it('count cells and calls, with times accurate to 5 %', () => {
    const builder = new StatisticsBuilder();
    builder.add(ended(1));
    builder.add(ended(2, 'timeout'));
    for (let index = 1; index <= 100; index += 1) {
      builder.add(call(1, index, { duration_ms: index }));
    }
    builder.add(call(1, 0, { outcome: 'error', decision: 'denied', error_code: 'POLICY_DENIED', tool: 'write' }));
    builder.add(call(1, 0, { outcome: 'error', decision: 'asked', answer: 'timeout', tool: 'write' }));
    builder.add(call(1, 0, { decision: 'asked', answer: 'allowed', tool: 'write' }));
    builder.add({ type: 'lost', ...common, records: 3, reason: 'full' });
    const { tools, ...rest } = builder.result();
    expect(rest).toMatchObject({
      cells: { success: 1, timeout: 1 },
      output_bytes: 20,
      calls_without_end: 0,
      lost_records: 3,
      from: at,
      to: at,
    });
    expect(tools).toMatchObject([
      { tool: 'read', calls: 100, failed: 0, refused: 0, result_bytes: 10_000 },
      { tool: 'write', calls: 3, failed: 2, refused: 2 },
    ]);
    expect(Math.abs((tools[0]?.p50_ms ?? 0) - 50)).toBeLessThan(2.6);
    expect(Math.abs((tools[0]?.p95_ms ?? 0) - 95)).toBeLessThan(4.9);
  });

  it('of an empty log are empty', () => {
    const { from, cell_p50_ms: p50 } = new StatisticsBuilder().result();
    expect({ from, p50 }).toEqual({ from: null, p50: null });
  });
});

describe('a call with a required record', () => {
  const begun = (number: number) => call(1, number, { outcome: 'started', duration_ms: 0 });

  it('is one call with its end, or without', async () => {
    write('2026-11-21.jsonl', started(1), begun(1), begun(2), begun(2), call(1, 1), call(1, 2, { outcome: 'error' }));
    const [entry] = await all(joinRecords(new AuditReader(directory).read()));
    const calls = entry?.kind === 'cell' ? entry.calls : expect.fail();
    // The calls of one program have the same id.
    expect(calls.map(({ id, outcome }) => [id.at(-1), outcome])).toEqual([
      ['1', 'ok'],
      ['2', 'error'],
      ['2', 'started'],
    ]);
    const other = { tool: 'write' };
    write('2026-11-22.jsonl', started(2), { ...begun(3), cell: 'b1/default/1/2' });
    write(
      '2026-11-22.jsonl',
      { ...begun(3), cell: 'b1/default/1/2', ...other },
      call(2, 3, { ...other, id: begun(3).id }),
    );
    const [, second] = await all(joinRecords(new AuditReader(directory).read()));
    // The end of a call of another tool took its place.
    expect(second?.kind === 'cell' && second.calls.map(({ outcome, tool }) => [tool, outcome])).toEqual([
      ['read', 'started'],
      ['write', 'ok'],
    ]);
    rmSync(join(directory, '2026-11-22.jsonl'));
    const builder = new StatisticsBuilder();
    for await (const { record } of new AuditReader(directory).read()) {
      builder.add(record);
    }
    expect(builder.result()).toMatchObject({ calls_without_end: 1, tools: [{ calls: 2, failed: 1 }] });
  });
});
