import { expect, it } from 'vitest';
import { answerTimeoutMs, currentLoadPerCore, SILENCE_MS } from '../../../../src/edges/engines/container/patience.ts';

it.each([
  ['idle', 0, 3_800],
  ['as busy as it can be without a queue', 1, 3_800],
  ['at the limit', 2, 3_800],
  ['twice as busy', 4, 7_600],
  ['overloaded', 50, 15_200],
])('gives the engine of a machine that is %s (%s tasks per core) %s ms', (_state, loadPerCore, expected) => {
  expect(answerTimeoutMs({}, loadPerCore)).toBe(expected);
});

it('gives an engine over a network 20 s, however busy this machine is', () => {
  expect(answerTimeoutMs({ DOCKER_HOST: 'ssh://user@host' }, 0)).toBe(20_000);
  expect(answerTimeoutMs({ DOCKER_HOST: 'ssh://user@host' }, 50)).toBe(20_000);
});

it('reports an engine that hangs within 5 s unless the machine is busy', () => {
  expect(SILENCE_MS + answerTimeoutMs({}, 0)).toBeLessThan(5_000);
});

it('knows the load of this machine', () => {
  expect(currentLoadPerCore()).toBeGreaterThanOrEqual(0);
});
