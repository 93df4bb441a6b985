/** What a look each minute does, on a virtual clock, with runs that end as the test says. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { takeNews } from '../../../src/app/schedule/news.ts';
import { type Entry, type Run, ScheduleStore } from '../../../src/app/schedule/store.ts';
import { newRun, type RunToExecute, type TickWork, tick } from '../../../src/app/schedule/tick.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { QuestionQueue } from '../../../src/features/waiting-questions/index.ts';

const ENTRY: Entry = {
  version: 1,
  when: '0 * * * *',
  timezone: 'UTC',
  source: { code: '1' },
  servers: [],
  missed: 'run',
  overlap: 'skip',
  isPaused: false,
  from: '2026-11-30T06:30:00Z',
  perRun: {},
  perDay: {},
  rights: { acceptedAt: '', source: '', tools: [] },
};
const QUESTION = { mode: 'form', message: 'May it?', requestedSchema: { type: 'object', properties: {} } } as const;

let stateDir: string;
let store: ScheduleStore;
let questions: QuestionQueue;
let claimed: Set<string>;
/** How runs end; undefined for one whose process ends first. */
let ends: (Partial<Run> | undefined)[];
let executed: string[];
let reported: string[];

beforeEach(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'tick-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  store = new ScheduleStore(stateDir);
  questions = new QuestionQueue(stateDir);
  [claimed, ends, executed, reported] = [new Set(), [], [], []];
});

function workAt(time: string): TickWork {
  return {
    store,
    questions,
    logger: { ...silentLogger, error: (text) => expect.unreachable(text) },
    now: () => new Date(`2026-11-30T${time}Z`),
    claim: async (path) => {
      if (claimed.has(path)) {
        return { pid: 1 };
      }
      claimed.add(path);
      return { release: async () => void claimed.delete(path) };
    },
    execute: async ({ id, run }: RunToExecute) => {
      executed.push(id.slice('2026-11-30T'.length));
      const end = ends.length === 0 ? { status: 'succeeded' as const, output: 'three\nlines' } : ends.shift();
      return end === undefined ? undefined : { ...run, ...end };
    },
    unknownOf: async () => [],
    report: async ({ id }) => {
      reported.push(id);
      return { report: 'sent' as const };
    },
  };
}

async function look(time: string, work = workAt(time)): Promise<void> {
  const going: Promise<void>[] = [];
  await tick(work, (done) => void going.push(done));
  await Promise.all(going);
}

const statuses = async () => (await store.runs('a')).map(({ run }) => run.status);

it('one time has one run, whoever looks and however often', async () => {
  await store.write('a', ENTRY);
  await look('06:59:59');
  expect(executed).toEqual([]);
  await Promise.all([look('07:00:00'), look('07:00:00')]);
  await look('07:00:01');
  await look('07:59:00');
  expect(executed).toEqual(['07-00-00Z']);
});

it('nothing is due before its rights are accepted, and while it is paused', async () => {
  const { rights: _, ...unaccepted } = ENTRY;
  await store.write('a', unaccepted);
  await store.write('b', { ...ENTRY, isPaused: true });
  await look('07:00:00');
  expect(executed).toEqual([]);
});

it('missed times are run once, and say how many there were, or are skipped', async () => {
  await store.write('a', ENTRY);
  await look('10:20:00');
  expect(executed).toEqual(['10-00-00Z']);
  expect((await store.readRun('a', '2026-11-30T10-00-00Z'))?.missed).toBe(3);
  await store.write('a', { ...ENTRY, missed: 'skip' });
  await look('12:20:00');
  await look('13:01:00');
  expect(executed).toEqual(['10-00-00Z', '13-00-00Z']);
  expect(await statuses()).toEqual(['succeeded', 'skipped', 'succeeded']);
});

it.each([
  ['skip', ['skipped'], []],
  ['wait', [], ['07-00-00Z']],
] as const)('a time during another run: %s', async (overlap, skipped, later) => {
  await store.write('a', { ...ENTRY, overlap });
  claimed.add(join(store.folderOf('a'), 'claim'));
  await look('07:00:05');
  expect(await statuses()).toEqual([]);
  await look('07:01:05');
  expect(await statuses()).toEqual(skipped);
  claimed.clear();
  await look('07:30:00');
  expect(executed).toEqual(later);
});

it('a run whose process ends goes on, and is given up after three', async () => {
  await store.write('a', ENTRY);
  ends = [undefined, undefined, undefined];
  for (const minute of ['07:00:00', '07:01:00', '07:02:00', '07:03:00']) {
    await look(minute);
  }
  expect(executed).toEqual(['07-00-00Z', '07-00-00Z', '07-00-00Z']);
  expect((await store.runs('a'))[0]?.run).toMatchObject({
    status: 'failed',
    reason: 'Its process ended 3 times before it did.',
  });
});

it('a run waits for all its answers, and for seven days at most', async () => {
  await store.write('a', { ...ENTRY, when: '0 7 30 11 *' });
  ends = [{ status: 'waiting' }, { status: 'waiting' }];
  const run = '2026-11-30T07-00-00Z';
  const [one, other] = await Promise.all(
    ['1', '2'].map((key) => questions.ask({ schedule: 'a', run, key, question: QUESTION })),
  );
  await look('07:00:00');
  await questions.answer(one?.id ?? '', { action: 'decline' }, 'page');
  await look('07:01:00');
  expect(executed).toHaveLength(1);
  await questions.answer(other?.id ?? '', { action: 'decline' }, 'page');
  await look('07:02:00');
  expect(executed).toHaveLength(2);
  await questions.ask({ schedule: 'a', run, key: '3', question: QUESTION });
  const later = { ...workAt('07:03:00'), now: () => new Date('2026-12-07T07:02:01Z') };
  await look('', later);
  expect((await store.runs('a'))[0]?.run).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('7 days'),
  });
  expect(await questions.open()).toEqual([]);
});

it('a report is sent once, and unknown if its sender ends', async () => {
  await store.write('a', { ...ENTRY, reportFile: '/nowhere' });
  const work = workAt('07:00:00');
  const dies = { ...work, report: () => new Promise<{ report: Run['report'] }>(() => undefined) };
  const going: Promise<void>[] = [];
  await tick(dies, (done) => void going.push(done));
  await expect.poll(async () => (await store.runs('a'))[0]?.run.report).toBe('unknown');
  claimed.clear();
  await look('07:01:00');
  expect(reported).toEqual([]);
  await look('08:00:00');
  expect(reported).toEqual(['2026-11-30T08-00-00Z']);
});

it('how runs ended is told once, the last three in full', async () => {
  await store.write('a', ENTRY);
  for (const hour of ['07', '08', '09', '10', '11']) {
    await look(`${hour}:00:00`);
  }
  expect(await takeNews(stateDir)).toEqual([
    expect.stringMatching(/^2 earlier scheduled runs ended as well: /),
    "Schedule 'a', run of 2026-11-30 09:00, succeeded: three",
    "Schedule 'a', run of 2026-11-30 10:00, succeeded: three",
    "Schedule 'a', run of 2026-11-30 11:00, succeeded: three",
  ]);
  expect(await takeNews(stateDir)).toEqual([]);
});

it('a clock that was set back repeats nothing, and goes on', async () => {
  await store.write('a', ENTRY);
  await look('09:00:00');
  await look('07:30:00');
  await look('08:00:00');
  await look('09:00:30');
  await look('10:00:00');
  expect(executed).toEqual(['09-00-00Z', '07-00-00Z', '08-00-00Z', '10-00-00Z']);
});

it('runs of a clock that was wrong do not make one time run again and again', async () => {
  await store.write('a', { ...ENTRY, from: '2026-11-30T06:59:30Z' });
  for (let day = 1; day <= 52; day += 1) {
    const due = `2027-01-01T00:00:${String(day).padStart(2, '0')}.000Z`;
    const id = due.slice(0, 19).replaceAll(':', '-');
    await store.addRun('a', `${id}Z`, { ...newRun(new Date(due), new Date(due)), status: 'succeeded' });
  }
  for (const time of ['07:00:00', '07:00:10', '07:01:00', '07:30:00']) {
    await look(time);
  }
  expect(executed).toEqual(['07-00-00Z']);
});

it('a time is not lost if its process ends while it is noted', async () => {
  await store.write('a', ENTRY);
  const id = '2026-11-30T07-00-00Z';
  mkdirSync(join(store.folderOf('a'), 'open'), { recursive: true });
  writeFileSync(join(store.folderOf('a'), 'open', id), '');
  mkdirSync(store.runFolder('a', id), { recursive: true });
  await look('07:00:30');
  expect(executed).toEqual(['07-00-00Z']);
  expect(await statuses()).toEqual(['succeeded']);
});

it('no further runs begin while five wait for answers', async () => {
  await store.write('a', { ...ENTRY, when: '* * * * *', from: '2026-11-30T06:59:30Z' });
  for (let minute = 0; minute < 6; minute += 1) {
    ends = [{ status: 'waiting' }];
    const time = `07:0${minute}:00`;
    await questions.ask({
      schedule: 'a',
      run: `2026-11-30T${time.replaceAll(':', '-')}Z`,
      key: '1',
      question: QUESTION,
    });
    await look(time);
  }
  expect(await statuses()).toEqual([...Array.from({ length: 5 }, () => 'waiting'), 'skipped']);
});

it('a damaged run ends, and is told of', async () => {
  await store.write('a', ENTRY);
  ends = [undefined];
  await look('07:00:00');
  writeFileSync(join(store.runFolder('a', '2026-11-30T07-00-00Z'), 'run.json'), '{"version":');
  await look('07:01:00');
  expect(await statuses()).toEqual(['failed']);
  expect(await takeNews(stateDir)).toEqual([expect.stringContaining('failed: cannot read')]);
});
