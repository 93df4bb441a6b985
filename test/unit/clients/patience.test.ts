/** How long clients wait for an answer. */
import { expect, it } from 'vitest';
import { parseAnswerWithin } from '../../../src/edges/clients/answer-within.ts';
import { patienceOf } from '../../../src/edges/clients/patience.ts';

it.each([
  ['auto', 'claude-code', true, undefined],
  ['auto', 'claude-code', false, 280_000],
  ['auto', 'codex-mcp-client', true, 280_000],
  ['auto', 'opencode', true, undefined],
  ['auto', 'mcp', false, undefined],
  // Progress restarts the clock of few clients.
  ['auto', 'someone', true, 45_000],
  ['auto', undefined, false, 45_000],
  ['auto', 'constructor', false, 45_000],
  ['off', 'someone', false, undefined],
  [10_000, 'claude-code', true, 10_000],
] as const)('with %s, %s with progress %s waits %s ms', (within, client, hasProgress, ms) => {
  expect(patienceOf(within, client, hasProgress)).toBe(ms);
});

it('the setting has bounds', () => {
  expect(parseAnswerWithin('2m')).toBe(120_000);
  expect(() => parseAnswerWithin('500ms')).toThrow('from 1s to 24h');
  expect(() => parseAnswerWithin('soon')).toThrow('from 1s to 24h');
});
