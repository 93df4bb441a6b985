/** What the client learns about a running cell, and when. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { CellProgress } from '../../../src/core/base/cell.ts';
import { type ProgressSources, watchProgress } from '../../../src/core/session/cell-progress.ts';

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

it('reports nothing while nothing happens', () => {
  const { reports } = watch();
  vi.advanceTimersByTime(60_000);
  expect(reports).toEqual([]);
});

it('reports the same state once', () => {
  const { addOutput, reports } = watch();
  for (let line = 0; line < 100_000; line += 1) {
    addOutput(`line ${line}\n`);
  }
  vi.advanceTimersByTime(5_000);
  expect(reports.map(({ message }) => message)).toEqual(['line 99999']);
});

it('combines the report of the code, starting servers, and calls', () => {
  const { setStated, reports } = watch({
    calls: () => ({ done: 1, running: 2 }),
    startingServers: () => [{ name: 'github' }, { name: 'memory' }],
  });
  setStated({ done: 7, message: 'pages' });
  vi.advanceTimersByTime(500);
  expect(reports).toEqual([
    { message: '7 pages; starting github, memory; 1 call done, 2 running', percent: undefined, isRunning: true },
  ]);
});

it('shows what a package runner does, at a terminal too unless a question needs it', () => {
  let isAsking = false;
  const { reports } = watch({
    startingServers: () => [{ name: 'git', preparing: 'uvx: Downloading\u001b[1m numpy (18MiB)' }, { name: 'memory' }],
    isAsking: () => isAsking,
  });
  vi.advanceTimersByTime(500);
  const message = 'starting git (uvx: Downloading\\x1b[1m numpy (18MiB)), memory';
  expect(reports.at(-1)).toEqual({ message, percent: undefined, isRunning: false });
  isAsking = true;
  vi.advanceTimersByTime(500);
  expect(reports.at(-1)).toMatchObject({ isRunning: true });
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

it('cuts a long line, and skips blank lines and text before a carriage return', () => {
  const { addOutput, reports } = watch();
  addOutput(`start\r${'x'.repeat(10_000)}\r\n \n\n`);
  vi.advanceTimersByTime(500);
  expect(reports[0]?.message).toBe(`${'x'.repeat(120)}…`);
});

// Printed text, which may come from a tool, once controlled the terminal of a client that showed it.
it('escapes control characters and keeps one line', () => {
  const { addOutput, setStated, reports } = watch();
  addOutput('\u001b[31mred\u0007\n');
  vi.advanceTimersByTime(500);
  setStated({ done: 1, message: '\u001b[2Jtwo\nlines' });
  expect(reports.map(({ message }) => message)).toEqual([String.raw`\x1b[31mred\x07`, String.raw`1 \x1b[2Jtwo lines`]);
});

it('reports nothing after the end', () => {
  const { addOutput, stop, reports } = watch();
  addOutput('late\n');
  stop();
  vi.advanceTimersByTime(5_000);
  expect(reports).toEqual([]);
});

it('puts a waiting question first', () => {
  const { addOutput, reports } = watch({ isAsking: () => true });
  addOutput('half\n');
  vi.advanceTimersByTime(500);
  expect(reports.map(({ message }) => message)).toEqual(['waiting for the answer to a question; half']);
});

/** Progress reports of a server for one call. */
const step = (progress: number, tool = 'files.scan') => ({
  tool,
  progress,
  total: 3,
  message: `step ${progress} of 3`,
});

// A sample every half second missed short calls, and the first report of longer ones.
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

it('samples the reports of a call in between, and sends nothing twice', () => {
  const { noteCall, endCall, reports } = watch();
  for (let progress = 1; progress <= 100_000; progress += 1) {
    noteCall(1, { tool: 'files.scan', progress });
  }
  vi.advanceTimersByTime(5_000);
  endCall(1);
  expect(reports.map(({ message }) => message)).toEqual(['files.scan 1', 'files.scan 100000']);
});

it('distinguishes calls of one tool by their number', () => {
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

it('does not flood the client when many calls report', () => {
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

it('sends waiting reports at its end, and nothing after it', () => {
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

it('sends the first and the last report of everything that the code counts', () => {
  const { setStated, reports } = watch();
  for (const total of [3, 5]) {
    for (let done = 1; done <= total; done += 1) {
      setStated({ done, total });
    }
  }
  expect(reports.map(({ message }) => message)).toEqual(['1/3', '3/3', '1/5', '5/5']);
});

it('reports once what the code repeats from a tool', () => {
  const { noteCall, setStated, reports } = watch();
  noteCall(1, step(2));
  setStated({ done: 2, total: 3, message: 'step 2 of 3' });
  expect(reports.map(({ message, percent }) => ({ message, percent: percent && Math.round(percent) }))).toEqual([
    { message: 'files.scan 2/3 step 2 of 3', percent: undefined },
    { message: 'files.scan 2/3 step 2 of 3', percent: 67 },
  ]);
});

it('shortens the report of a server to one line', () => {
  const { noteCall, reports } = watch();
  noteCall(1, { tool: 't'.repeat(300), progress: 1, message: `a\r\n\tb \u001b[31m\u202e ${'x'.repeat(1_000_000)}` });
  const message = reports[0]?.message ?? '';
  expect(message).toContain(`${'t'.repeat(120)}… 1 a b \\x1b[31m\\x202e xxx`);
  expect(message.length).toBeLessThan(300);
});
