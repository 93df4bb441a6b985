import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { JsonScan } from '../../../src/core/protocol/json-scan.ts';
import { isFailure, ResultBytes } from '../../../src/core/protocol/result-bytes.ts';

/** What the kernel takes for a failure; its tests read the same file. */
const FLAGS = JSON.parse(
  readFileSync(new URL('../../fixtures/failure-flags.json', import.meta.url), 'utf8'),
) as Readonly<Record<'failed' | 'fine', readonly unknown[]>>;

/** A result as a large one arrives. */
function bytesOf(result: object): ResultBytes {
  const response = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
  const scan = new JsonScan();
  scan.push(response);
  const scanned = scan.end();
  if (scanned === undefined) {
    throw new Error('refused');
  }
  return new ResultBytes([response], scanned);
}

// Only `true` was a failure for the host, so the audit log had a success where code got an exception.
test.each(FLAGS.failed)('a result whose isError is %j reports a failure', (isError) => {
  const result = { content: [], isError };
  expect([isFailure(result), isFailure(bytesOf(result))]).toEqual([true, true]);
});

test.each([...FLAGS.fine, undefined])('a result whose isError is %j does not', (isError) => {
  const result = { content: [], isError };
  expect([isFailure(result), isFailure(bytesOf(result)), isFailure('text')]).toEqual([false, false, false]);
});

test('a server cannot make the host parse a long isError', () => {
  const long = bytesOf({ content: [], isError: Array<number>(100_000).fill(0) });
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  expect(isFailure(long)).toBe(true);
  expect(parse).not.toHaveBeenCalled();
});
