/** The limits of the kernel are within those of the host, so that honest code is never refused. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  BYTES_PER_VALUE,
  MAX_ARTIFACT_PIECE_BYTES,
  MAX_LINE_VALUES,
  MAX_RUNNING_CALL_BYTES,
  MAX_SANDBOX_LINE_BYTES,
  MAX_WAITING_CALL_BYTES,
} from '../../../src/core/base/limits.ts';

/** Each character may need two bytes. */
const LARGEST_CALL_BYTES = 2 * MAX_SANDBOX_LINE_BYTES + MAX_LINE_VALUES * BYTES_PER_VALUE;

/** The number that a module of the kernel assigns to a name. */
function numberIn(module: string, name: string): number {
  const folder = new URL('../../../sandbox-runtime/bridge_kernel/', import.meta.url);
  const text = readFileSync(new URL(`${module}.py`, folder), 'utf8');
  const [, base = '', shift = '0'] = new RegExp(`^${name} = ([\\d_]+)(?: << (\\d+))?$`, 'm').exec(text) ?? [];
  return Number(base.replaceAll('_', '')) * 2 ** Number(shift);
}

it('what the kernel sends without an answer may wait in the host, with one more call', () => {
  const sent = numberIn('rpc', 'MAX_UNANSWERED_BYTES');
  // The kernel sends a call of any size if no other is unanswered.
  expect(Math.max(sent, LARGEST_CALL_BYTES) + LARGEST_CALL_BYTES).toBeLessThanOrEqual(MAX_WAITING_CALL_BYTES);
});

it('the kernel counts as the host does', () => {
  expect(numberIn('rpc', '_BYTES_PER_VALUE')).toBe(BYTES_PER_VALUE);
  expect(numberIn('rpc', '_MAX_VALUES')).toBe(MAX_LINE_VALUES);
});

it('the largest call of plain text can run beside small ones', () => {
  expect(LARGEST_CALL_BYTES - MAX_SANDBOX_LINE_BYTES).toBeLessThan(MAX_RUNNING_CALL_BYTES);
});

it('the kernel sends and asks for pieces of artifacts as large as the host takes', () => {
  expect(numberIn('artifacts', '_PIECE_BYTES')).toBe(MAX_ARTIFACT_PIECE_BYTES);
});
