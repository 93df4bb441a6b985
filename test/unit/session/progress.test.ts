/** What is said of a running cell, and when. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { CellProgress } from '../../../src/cell.ts';
import { type ProgressSources, watchProgress } from '../../../src/session/progress.ts';

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
