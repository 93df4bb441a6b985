/** What is said of a running cell, and when. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { CellProgress } from '../../../src/base/cell.ts';
import { type ProgressSources, watchProgress } from '../../../src/session/cell-progress.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function watch(sources: Partial<ProgressSources> = {}) {
  const reports: CellProgress[] = [];
  const calls = () => ({ done: 0, running: 0 });
  const watching = watchProgress((progress) => reports.push(progress), {
    calls,
    startingServers: () => [],
    isAsking: () => false,
    ...sources,
  });
  return { ...watching, reports };
}

it('says nothing while there is nothing to say', () => {
  const { reports } = watch();
  vi.advanceTimersByTime(60_000);
  expect(reports).toEqual([]);
});

it('says each thing once, however often it happens', () => {
  const { addOutput, reports } = watch();
  for (let line = 0; line < 100_000; line += 1) {
    addOutput(`line ${line}\n`);
  }
  vi.advanceTimersByTime(5_000);
  expect(reports.map(({ message }) => message)).toEqual(['line 99999']);
});

it('puts together what the code says, servers that start, and calls', () => {
  const { setStated, reports } = watch({
    calls: () => ({ done: 1, running: 2 }),
    startingServers: () => ['github', 'memory'],
  });
  setStated({ done: 7, message: 'pages' });
  vi.advanceTimersByTime(500);
  expect(reports).toEqual([
    { message: '7 pages; starting github, memory; 1 call done, 2 running', percent: undefined, isRunning: true },
  ]);
});

it.each([
  [{ done: 1, total: 4 }, 25],
  [{ done: 9, total: 4 }, 100],
  [{ done: -1, total: 4 }, 0],
  [{ done: 1, total: 0 }, undefined],
])('%j is %s percent', (stated, percent) => {
  const { setStated, reports } = watch();
  setStated(stated);
  vi.advanceTimersByTime(500);
  expect(reports[0]?.percent).toBe(percent);
});

it('cuts a long line, and looks through blank ones and carriage returns', () => {
  const { addOutput, reports } = watch();
  addOutput(`start\r${'x'.repeat(10_000)}\r\n \n\n`);
  vi.advanceTimersByTime(500);
  expect(reports[0]?.message).toBe(`${'x'.repeat(120)}…`);
});

// A client that shows it in a terminal was driven by what code had printed, which may be what a tool gave.
it('shows control characters as what they are, in one line', () => {
  const { addOutput, setStated, reports } = watch();
  addOutput('\u001b[31mred\u0007\n');
  vi.advanceTimersByTime(500);
  setStated({ done: 1, message: '\u001b[2Jtwo\nlines' });
  expect(reports.map(({ message }) => message)).toEqual([String.raw`\x1b[31mred\x07`, String.raw`1 \x1b[2Jtwo lines`]);
});

it('says nothing after the end', () => {
  const { addOutput, stop, reports } = watch();
  addOutput('late\n');
  stop();
  vi.advanceTimersByTime(5_000);
  expect(reports).toEqual([]);
});

it('says first that a question waits for its answer', () => {
  const { addOutput, reports } = watch({ isAsking: () => true });
  addOutput('half\n');
  vi.advanceTimersByTime(500);
  expect(reports.map(({ message }) => message)).toEqual(['waiting for the answer to a question; half']);
});

/** Reports of a tool on one call, as a server makes them. */
const step = (progress: number, tool = 'files.scan') => ({
  tool,
  progress,
  total: 3,
  message: `step ${progress} of 3`,
});

// A look every half second saw nothing of a call that took less, and of a longer one not its first report.
it('sends the first and the last report of each call at once', () => {
  const { noteCall, endCall, reports } = watch({ calls: () => ({ done: 0, running: 2 }) });
  noteCall(1, step(1));
  noteCall(1, step(2));
  noteCall(2, step(1, 'web.fetch'));
  noteCall(1, step(3));
  endCall(1);
  endCall(2);
  vi.advanceTimersByTime(500);
  expect(reports.map(({ message }) => message)).toEqual([
    'files.scan 1/3 step 1 of 3; 0 calls done, 2 running',
    'web.fetch 1/3 step 1 of 3; 0 calls done, 2 running',
    'files.scan 3/3 step 3 of 3; 0 calls done, 2 running',
    '0 calls done, 2 running',
  ]);
});

it('looks now and then at what a call reports in between, and sends nothing twice', () => {
  const { noteCall, endCall, reports } = watch();
  for (let progress = 1; progress <= 100_000; progress += 1) {
    noteCall(1, { tool: 'files.scan', progress });
  }
  vi.advanceTimersByTime(5_000);
  endCall(1);
  expect(reports.map(({ message }) => message)).toEqual(['files.scan 1', 'files.scan 100000']);
});

it('tells calls of one tool apart by their number: each is seen', () => {
  const { noteCall, endCall, reports } = watch();
  for (const call of [1, 2, 3]) {
    noteCall(call, step(1));
  }
  for (const call of [1, 2, 3]) {
    noteCall(call, step(3));
    endCall(call);
  }
  expect(reports.filter(({ message }) => message.includes('1/3'))).toHaveLength(3);
  expect(reports.filter(({ message }) => message.includes('3/3'))).toHaveLength(3);
});

it('does not flood the client, however many calls report', () => {
  const { noteCall, endCall, reports } = watch();
  const run = (calls: number): void => {
    for (let call = 1; call <= calls; call += 1) {
      noteCall(call, step(1));
      noteCall(call, step(3));
      endCall(call);
    }
  };
  run(10_000);
  expect(reports).toHaveLength(100);
  vi.advanceTimersByTime(1_000);
  const before = reports.length;
  run(10_000);
  expect(reports.length - before).toBe(20);
});

it('sends what is held back at its end, and nothing afterwards', () => {
  const { noteCall, endCall, setStated, stop, reports } = watch();
  setStated({ done: 1 });
  setStated({ done: 2 });
  noteCall(1, step(1));
  noteCall(1, step(2));
  setStated({ done: 3 });
  stop();
  expect(reports.map(({ message }) => message)).toEqual([
    '1',
    '2; files.scan 1/3 step 1 of 3',
    '3; files.scan 2/3 step 2 of 3',
  ]);
  noteCall(1, step(3));
  setStated({ done: 4 });
  endCall(1);
  vi.advanceTimersByTime(5_000);
  expect(reports).toHaveLength(3);
});

it('sends the first and the last of each thing that the code counts', () => {
  const { setStated, reports } = watch();
  for (const total of [3, 5]) {
    for (let done = 1; done <= total; done += 1) {
      setStated({ done, total });
    }
  }
  expect(reports.map(({ message }) => message)).toEqual(['1/3', '3/3', '1/5', '5/5']);
});

it('says once what the code passes on of a tool', () => {
  const { noteCall, setStated, reports } = watch();
  noteCall(1, step(2));
  setStated({ done: 2, total: 3, message: 'step 2 of 3' });
  expect(reports.map(({ message, percent }) => ({ message, percent: percent && Math.round(percent) }))).toEqual([
    { message: 'files.scan 2/3 step 2 of 3', percent: undefined },
    { message: 'files.scan 2/3 step 2 of 3', percent: 67 },
  ]);
});

it('shows what a server reports on one short line', () => {
  const { noteCall, reports } = watch();
  noteCall(1, { tool: 't'.repeat(300), progress: 1, message: `a\r\n\tb \u001b[31m\u202e ${'x'.repeat(1_000_000)}` });
  const message = reports[0]?.message ?? '';
  expect(message).toContain(`${'t'.repeat(120)}… 1 a b \\x1b[31m\\x202e xxx`);
  expect(message.length).toBeLessThan(300);
});
