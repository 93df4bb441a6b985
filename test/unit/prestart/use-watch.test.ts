import { expect, test } from 'vitest';
import { type CallOutcome, failed, succeeded, type ToolCall } from '../../../src/core/calls/contract.ts';
import { JsonScan } from '../../../src/core/protocol/json-scan.ts';
import { ResultBytes } from '../../../src/core/protocol/result-bytes.ts';
import { createUseWatch } from '../../../src/features/prestart/use-watch.ts';
import { watchedRun } from '../../support/watched-run.ts';

const CALL = {
  server: { name: 'x', alias: 'x' },
  tool: { name: 't' },
  arguments: {},
  context: {},
} as unknown as ToolCall;

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

test.each<[string, CallOutcome, readonly string[]]>([
  ['answered', succeeded({ content: [] }), ['x']],
  ['failed at the server', failed(new Error('gone')), []],
  ['failed in the tool', succeeded({ content: [], isError: true }), []],
  ['failed in the tool with a large result', succeeded(bytesOf({ content: [], isError: true })), []],
  ['answered with a large result', succeeded(bytesOf({ content: [] })), ['x']],
  ['only pretended', { ...succeeded({ content: [] }), isDryRun: true }, []],
  ['answered by an earlier run', { ...succeeded({ content: [] }), isResumed: true }, []],
])('a call that was %s', async (_, outcome, noted) => {
  const names: string[] = [];
  await watchedRun(createUseWatch((name) => names.push(name))).call(CALL, async () => outcome);
  expect(names).toEqual(noted);
});
