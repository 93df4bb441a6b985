import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { WarmUp, type WarmUpTask } from '../../../src/app/bridge/warm-up.ts';
import { createLogger } from '../../../src/core/base/log.ts';

const PERSON = { opensPages: true };
let ran: unknown[];
let log: string[];

beforeEach(() => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  [ran, log] = [[], []];
});

const noting = (name: string): WarmUpTask => ({ name, run: async (person) => void ran.push([name, person]) });
const warmUp = (...tasks: WarmUpTask[]): WarmUp =>
  new WarmUp(
    tasks,
    createLogger('DEBUG', (line) => log.push(line)),
  );

test('runs each task once, a while after the first list', async () => {
  const warming = warmUp(noting('a'), noting('b'));
  await vi.advanceTimersByTimeAsync(60_000);
  warming.toolsListed(PERSON);
  await vi.advanceTimersByTimeAsync(1_499);
  expect(ran).toEqual([]);
  warming.toolsListed(undefined);
  await vi.advanceTimersByTimeAsync(1);
  expect(ran).toEqual([
    ['a', PERSON],
    ['b', PERSON],
  ]);
  warming.toolsListed(PERSON);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ran).toHaveLength(2);
});

test('runs nothing if the client is gone before, or lists only then', async () => {
  const warming = warmUp(noting('a'));
  warming.toolsListed(PERSON);
  await vi.advanceTimersByTimeAsync(1_499);
  warming.close();
  warming.toolsListed(PERSON);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ran).toEqual([]);
});

test('runs the other tasks if one fails, and logs why', async () => {
  const failing: WarmUpTask = { name: 'servers', run: () => Promise.reject(new Error('no such file')) };
  warmUp(failing, noting('b')).toolsListed(undefined);
  await vi.advanceTimersByTimeAsync(1_500);
  expect(ran).toEqual([['b', undefined]]);
  expect(log.join('')).toContain('DEBUG Could not prepare servers: no such file');
});
