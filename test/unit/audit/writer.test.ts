/** The writer on a real disk: order, limits, rotation, and what it does when nothing can be written. */
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../../../src/core/base/log.ts';
import { AuditWriter } from '../../../src/record/audit/writer.ts';
import type { AuditRecord } from '../../../src/record/history/records.ts';

const DAY_MS = 86_400_000;
const NOON = Date.parse('2026-11-21T12:00:00Z');

let folder: string;
let directory: string;
let log: string[];
let now: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bridge-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  directory = join(folder, 'audit');
  log = [];
  now = NOON;
});

function createWriter(
  options: { maxFileBytes?: number; maxTotalBytes?: number; bridge?: string; principal?: string } = {},
): AuditWriter {
  const writer = new AuditWriter({
    directory,
    keep: { maxAgeDays: 10, maxTotalBytes: options.maxTotalBytes ?? 1e9 },
    maxFileBytes: options.maxFileBytes ?? 1e9,
    bridge: options.bridge ?? 'b1',
    principal: options.principal,
    logger: createLogger('WARNING', (line) => log.push(line.replace(/^\S+ /, ''))),
    now: () => now,
  });
  onTestFinished(() => writer.close());
  return writer;
}

function ended(reason: string): () => AuditRecord {
  const at = new Date(now).toISOString();
  return () => ({ type: 'session_ended', at, bridge: 'b1', session: 'default', generation: 1, reason });
}

function linesOf(file: string): Record<string, unknown>[] {
  const text = readFileSync(join(directory, file), 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const reasons = (file: string) => linesOf(file).map(({ reason }) => reason);

describe('a record', () => {
  it('goes into the file of its day in order, readable by the owner only', async () => {
    const writer = createWriter();
    for (let index = 0; index < 500; index += 1) {
      writer.add(ended(String(index)));
    }
    await writer.flush();
    expect(reasons('2026-11-21.jsonl')).toEqual(Array.from({ length: 500 }, (_, index) => String(index)));
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, '2026-11-21.jsonl')).mode & 0o777).toBe(0o600);
    expect(log).toEqual([]);
  });

  it('is written soon without a flush, even after records that arrived during a long write', async () => {
    const writer = createWriter();
    // The next write was due while this one was still running, and then no further one was ever made.
    writer.add(() => {
      writer.add(ended('during the write'));
      const end = performance.now() + 150;
      while (performance.now() < end) {
        // Like a slow disk, but deterministic.
      }
      return ended('long')();
    });
    for (let index = 0; index < 100; index += 1) {
      writer.add(ended('many'));
    }
    await writer.flush();
    writer.add(ended('last'));
    await expect.poll(() => reasons('2026-11-21.jsonl').at(-1)).toBe('last');
    expect(reasons('2026-11-21.jsonl')).toHaveLength(103);
  });

  it('is written at the latest when the writer closes', async () => {
    const writer = createWriter();
    writer.add(ended('the end'));
    await writer.close();
    expect(reasons('2026-11-21.jsonl')).toEqual(['the end']);
  });

  it('that cannot be formatted is logged and counted, and the others are written', async () => {
    const writer = createWriter();
    writer.add(() => {
      throw new Error('a bug');
    });
    writer.add(ended('after'));
    await writer.flush();
    writer.add(ended('later'));
    await writer.flush();
    expect(linesOf('2026-11-21.jsonl').map(({ type }) => type)).toEqual(['session_ended', 'lost', 'session_ended']);
    expect(log).toEqual([expect.stringContaining('could not be formatted: a bug')]);
  });
});

describe('a file', () => {
  it('is replaced by a new one when the UTC day changes', async () => {
    const writer = createWriter();
    now = Date.parse('2026-11-21T23:59:59.999Z');
    writer.add(ended('before midnight'));
    await writer.flush();
    now += 1;
    writer.add(ended('after midnight'));
    await writer.flush();
    expect(reasons('2026-11-21.jsonl')).toEqual(['before midnight']);
    expect(reasons('2026-11-22.jsonl')).toEqual(['after midnight']);
  });

  it('that is full is followed by another, and the oldest files are removed when the total is too large', async () => {
    const writer = createWriter({ maxFileBytes: 1_000, maxTotalBytes: 3_000 });
    for (let index = 0; index < 12; index += 1) {
      writer.add(ended('x'.repeat(400)));
      await writer.flush();
    }
    expect(readdirSync(directory).toSorted()).toEqual([3, 4, 5].map((number) => `2026-11-21.${number}.jsonl`));
  });

  // 143 MB in 51 s: old evidence of all sessions could be pushed out by one.
  it('of one session takes the rest of what it writes, so that it removes only its own', async () => {
    const writer = createWriter({ maxFileBytes: 4_000, maxTotalBytes: 64_000 });
    writer.add(ended('evidence'), 0, 'quiet');
    for (let index = 0; index < 300; index += 1) {
      writer.add(ended(`${index} ${'x'.repeat(400)}`), 0, 'flood');
      writer.add(ended('between'), 0, index % 100 === 0 ? 'quiet' : 'flood');
      await writer.flush();
    }
    const files = readdirSync(directory);
    const bytes = (some: string[]) => some.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
    const [own, common] = [
      files.filter((name) => name.includes('session-')),
      files.filter((name) => !name.includes('session-')),
    ];
    expect(reasons('2026-11-21.jsonl')[0]).toBe('evidence');
    expect(bytes(common)).toBeLessThan(8_000);
    expect(bytes(own)).toBeLessThan(64_000 / 4 + 2_000);
    expect(own.flatMap((name) => reasons(name)).some((reason) => String(reason).startsWith('299 '))).toBe(true);
    expect(log).toEqual([]);
  });

  // The share of a day counted for each session, and clients choose their names: one token erased the records of all others in 21 s.
  it('of one principal takes all that it writes under any name, so that it removes only its own', async () => {
    const [alice, bob, local] = ['alice', 'bob', undefined].map((principal) =>
      createWriter({ maxFileBytes: 4_000, maxTotalBytes: 64_000, ...(principal !== undefined && { principal }) }),
    ) as [AuditWriter, AuditWriter, AuditWriter];
    for (const [writer, count] of [
      [alice, 20],
      [local, 20],
      [bob, 400],
    ] as const) {
      for (let index = 0; index < count; index += 1) {
        writer.add(ended(`${index} ${'x'.repeat(400)}`), 0, `session ${index}`);
        await writer.flush();
      }
    }
    const files = readdirSync(directory);
    const ofAlice = files.filter((name) => name.startsWith('2026-11-21.principal-2bd806c97f0e00af.'));
    const ofBob = files.filter((name) => name.startsWith('2026-11-21.principal-81b637d8fcd2c6da.'));
    const ofLocal = files.filter((name) => /^2026-11-21(\.\d+)?\.jsonl$/.test(name));
    expect(ofAlice.length + ofBob.length + ofLocal.length).toBe(files.length);
    const count = (some: string[]) => some.flatMap((name) => reasons(name)).length;
    expect([count(ofAlice), count(ofLocal)]).toEqual([20, 20]);
    const bytes = files.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
    expect(bytes).toBeLessThan(64_000 + 2_000);
    // The others need little, so it has the rest.
    expect(count(ofBob)).toBeGreaterThan(60);
    expect(ofBob.flatMap((name) => reasons(name)).some((reason) => String(reason).startsWith('399 '))).toBe(true);
  });

  it('that is too old is removed, but other files in the folder are not', async () => {
    mkdirSync(directory, { mode: 0o700 });
    for (const name of [
      '2026-11-10.jsonl',
      '2026-11-11.jsonl',
      '2026-11-11.1.jsonl',
      'notes.txt',
      '2020-01-01.jsonl.gz',
    ]) {
      writeFileSync(join(directory, name), '');
      utimesSync(join(directory, name), new Date(NOON - 400 * DAY_MS), new Date(NOON - 400 * DAY_MS));
    }
    const writer = createWriter();
    writer.add(ended('today'));
    await writer.flush();
    const kept = ['2020-01-01.jsonl.gz', '2026-11-11.1.jsonl', '2026-11-11.jsonl', '2026-11-21.jsonl', 'notes.txt'];
    expect(readdirSync(directory).toSorted()).toEqual(kept);
  });

  it('that was removed is created again', async () => {
    const writer = createWriter();
    writer.add(ended('1'));
    await writer.flush();
    rmSync(join(directory, '2026-11-21.jsonl'));
    writer.add(ended('2'));
    await writer.flush();
    expect(reasons('2026-11-21.jsonl')).toEqual(['2']);
  });

  it('that others could read becomes private', async () => {
    mkdirSync(directory, { mode: 0o755 });
    chmodSync(directory, 0o755);
    writeFileSync(join(directory, '2026-11-21.jsonl'), '', { mode: 0o644 });
    const writer = createWriter();
    writer.add(ended('1'));
    await writer.flush();
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, '2026-11-21.jsonl')).mode & 0o777).toBe(0o600);
  });

  it('that ends in the middle of a line gets a line break first', async () => {
    mkdirSync(directory, { mode: 0o700 });
    appendFileSync(join(directory, '2026-11-21.jsonl'), '{"type":"sess');
    const writer = createWriter();
    writer.add(ended('whole'));
    await writer.flush();
    const [torn, whole] = readFileSync(join(directory, '2026-11-21.jsonl'), 'utf8').split('\n');
    expect(torn).toBe('{"type":"sess');
    expect(JSON.parse(whole ?? '')).toMatchObject({ reason: 'whole' });
  });
});

describe('when nothing can be written', () => {
  it.each([
    [
      'a link at the path of the folder',
      () => symlinkSync(mkdtempSync(join(folder, 'elsewhere-')), directory),
      'is a link',
    ],
    ['a file at the path of the folder', () => writeFileSync(directory, ''), 'not a directory|EEXIST'],
    [
      'a link at the path of the file',
      () => {
        mkdirSync(directory);
        writeFileSync(join(folder, 'victim'), '');
        symlinkSync(join(folder, 'victim'), join(directory, '2026-11-21.jsonl'));
      },
      'ELOOP',
    ],
    [
      'a file with a second hard link',
      () => {
        mkdirSync(directory);
        writeFileSync(join(folder, 'victim'), '');
        linkSync(join(folder, 'victim'), join(directory, '2026-11-21.jsonl'));
      },
      'a second hard link',
    ],
    [
      'a folder at the path of the file',
      () => mkdirSync(join(directory, '2026-11-21.jsonl'), { recursive: true }),
      'EISDIR',
    ],
  ])('%s is not followed', async (_, prepare, reason) => {
    prepare();
    const writer = createWriter();
    writer.add(ended('secret'));
    await expect(writer.flush()).rejects.toThrow(new RegExp(reason));
    for (const name of readdirSync(folder)) {
      expect(statSync(join(folder, name)).isFile() ? readFileSync(join(folder, name), 'utf8') : '').toBe('');
    }
  });

  it('the failure is logged once, and queued records are written once the disk works again', async () => {
    writeFileSync(directory, '');
    const writer = createWriter();
    for (const reason of ['1', '2', '3']) {
      writer.add(ended(reason));
      await expect(writer.flush()).rejects.toThrow();
    }
    expect(log).toEqual([expect.stringMatching(/^WARNING The audit log in .* cannot be written/)]);
    rmSync(directory);
    await writer.flush();
    expect(reasons('2026-11-21.jsonl')).toEqual(['1', '2', '3']);
    expect(writer.failure).toBeUndefined();
  });

  it('memory is bounded: the oldest records are kept, and a record in the log counts the missing ones', async () => {
    writeFileSync(directory, '');
    const writer = createWriter();
    const [large, megabyte] = ['x'.repeat(1e6), 1e6];
    for (let index = 0; index < 40; index += 1) {
      writer.add(ended(`${index} ${large}`), megabyte);
    }
    const lost = writer.takeLost('');
    expect(lost).toBeGreaterThan(20);
    await expect(writer.flush()).rejects.toThrow();
    rmSync(directory);
    await writer.flush();
    writer.add(ended('afterwards'));
    await writer.flush();
    const lines = linesOf('2026-11-21.jsonl');
    expect(lines.slice(0, -2).map(({ reason }) => Number.parseInt(String(reason), 10))).toEqual(
      Array.from({ length: 40 - lost }, (_, index) => index),
    );
    expect(lines.slice(-2)).toMatchObject([{ type: 'lost', bridge: 'b1', records: lost }, { reason: 'afterwards' }]);
  });

  // A flood of one session filled the queue, and the records of all others were lost.
  it('memory is shared: each session has room for its own records, and its own count of lost ones', async () => {
    writeFileSync(directory, '');
    const writer = createWriter();
    const megabyte = 1e6;
    for (let index = 0; index < 40; index += 1) {
      writer.add(ended('flood'), megabyte, 'flood');
    }
    expect(writer.add(ended('quiet'), 0, 'quiet')).toBe(true);
    await expect(writer.flush()).rejects.toThrow();
    rmSync(directory);
    await writer.flush();
    writer.add(ended('later'), 0, 'quiet');
    await writer.flush();
    expect([writer.takeLost('quiet'), writer.takeLost('flood'), writer.takeLost('flood')]).toEqual([0, 36, 0]);
    expect(reasons('2026-11-21.jsonl')).toContain('quiet');
    expect(linesOf('2026-11-21.jsonl').filter(({ type }) => type === 'lost')).toMatchObject([
      { session: 'flood', records: 36 },
    ]);
  });

  it('a record with a reservation is never lost, and others wait until there is room', async () => {
    writeFileSync(directory, '');
    const writer = createWriter();
    expect(await writer.reserve('a', 0)).toBe(true);
    // Twice, because the first failed write takes a batch out of the queue.
    for (const _ of [1, 2]) {
      while (writer.add(ended('flood'), 0, 'a')) {
        // Until the queue is full.
      }
      await expect(writer.flush()).rejects.toThrow();
    }
    expect(await writer.reserve('a', 20)).toBe(false);
    expect(await writer.reserve('b', 0)).toBe(true);
    const waiting = writer.reserve('a', 5_000);
    writer.release('a');
    expect(writer.add(ended('reserved'), 0, 'a')).toBe(true);
    rmSync(directory);
    await writer.flush();
    expect(await waiting).toBe(true);
    expect(reasons('2026-11-21.jsonl')).toContain('reserved');
  });

  it('records that are lost on close are logged', async () => {
    writeFileSync(directory, '');
    const writer = createWriter();
    writer.add(ended('1'));
    await writer.close();
    expect(log.at(-1)).toMatch(/The last record is missing/);
  });

  it('a folder that was moved is created again', async () => {
    const writer = createWriter();
    writer.add(ended('1'));
    await writer.flush();
    renameSync(directory, join(folder, 'moved'));
    now += DAY_MS;
    writer.add(ended('2'));
    await writer.flush();
    expect(reasons('2026-11-22.jsonl')).toEqual(['2']);
  });
});
