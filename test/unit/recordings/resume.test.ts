/** Which calls of an interrupted run are not made again. */
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { CellStatus } from '../../../src/core/base/cell.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { type CallOutcome, failed, succeeded, type ToolCall } from '../../../src/core/calls/contract.ts';
import { claimSession } from '../../../src/core/session/session-claim.ts';
import { createSecretMask } from '../../../src/features/secrets/index.ts';
import { openRun, Recording, RunAnswers } from '../../../src/record/recordings/index.ts';
import { SUCCESS, watchedRun } from '../../support/watched-run.ts';

const SECRET = 'sk-canary-0123456789';
const RUN = { session: 'default', generation: 1, cell: 1 };
const mask = createSecretMask(() => [SECRET]);

let file: string;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'resume-'));
  file = join(folder, 'new', 'run.jsonl');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

function callOf(given: Record<string, unknown>): ToolCall {
  return {
    server: { name: 'files', alias: 'files', description: '' },
    tool: { name: 'read', alias: 'read', inputSchema: {} },
    arguments: given,
    context: { ...RUN, call: 1, loaded: new Set(), signal: new AbortController().signal },
  };
}

/** One run with these calls; resolves with those that reached the server, the answers, and the notices. */
async function run(
  calls: readonly Record<string, unknown>[],
  {
    answer = (number: number): CallOutcome => succeeded(number),
    status,
  }: {
    answer?: (number: number) => CallOutcome;
    status?: CellStatus;
  } = {},
) {
  const opened = await openRun(file, claimSession);
  const resume = new RunAnswers(opened, mask);
  const recording = new Recording({
    folder: '',
    instanceId: '0',
    mask,
    servers: () => [],
    logger: silentLogger,
    run: opened,
  });
  const watched = watchedRun(recording.watch);
  const cell = watched.begin(RUN, { code: 'x', servers: [], timeoutMs: 1_000, session: 'default' });
  const sent: unknown[] = [];
  const answers: unknown[] = [];
  for (const given of calls) {
    const outcome = await watched.call(callOf(given), (call) =>
      resume.gate(call, async ({ arguments: reached }) => {
        sent.push(reached);
        return answer(sent.length);
      }),
    );
    answers.push(outcome.ok ? outcome.result : 'failed');
  }
  if (status !== undefined) {
    watched.end(cell, { ...SUCCESS, status });
  }
  await recording.close();
  await opened.release();
  const { notices } = resume.withNotice({ notices: [] } as never);
  return { sent, answers, notices };
}

test('each recorded answer is given once, in order; other calls are made and added', async () => {
  await run([{ a: 1 }, { a: 1 }, { b: 2 }]);
  const second = await run([{ a: 1 }, { b: 2 }, { a: 1 }, { a: 1 }, { c: 3 }]);
  expect(second.answers).toEqual([1, 3, 2, 1, 2]);
  expect(second.sent).toEqual([{ a: 1 }, { c: 3 }]);
  expect(second.notices).toEqual([`Resumed: 3 calls answered from ${file} and not made again.`]);
  expect((await run([{ c: 3 }, { a: 1 }, { a: 1 }, { a: 1 }, { a: 1 }])).sent).toEqual([{ a: 1 }]);
});

test('the order of arguments does not matter, their values do', async () => {
  await run([{ a: 1, b: { c: 2, d: 3 } }]);
  expect(
    (
      await run([
        { b: { d: 3, c: 2 }, a: 1 },
        { a: '1', b: { c: 2, d: 3 } },
      ])
    ).sent.length,
  ).toBe(1);
});

test('failed calls are made again', async () => {
  await run([{ a: 1 }], { answer: () => failed(new BridgeError('TOOL_FAILED', 'no')), status: 'error' });
  expect(await run([{ a: 1 }])).toMatchObject({ sent: [{ a: 1 }], answers: [1], notices: [] });
});

test('answers and arguments with a masked secret are not used, and that is said', async () => {
  await run([{ a: 1 }, { key: SECRET }], { answer: () => succeeded({ token: SECRET }) });
  expect(readFileSync(file, 'utf8')).not.toContain(SECRET);
  const { answers, notices, sent } = await run([{ a: 1 }, { key: SECRET }]);
  expect([sent.length, answers]).toEqual([2, [1, 2]]);
  expect(notices[0]).toContain('2 calls had to be made again: what was recorded has masked secrets');
});

test('an answer is in the file before code gets it', async () => {
  const opened = await openRun(file, claimSession);
  const recording = new Recording({
    folder: '',
    instanceId: '0',
    mask,
    servers: () => [],
    logger: silentLogger,
    run: opened,
  });
  await watchedRun(recording.watch).call(callOf({ a: 1 }), async () => succeeded('done'));
  expect(readFileSync(file, 'utf8')).toContain('"result":"done"');
  await recording.close();
});

test('a line that was not finished is cut off', async () => {
  await run([{ a: 1 }]);
  appendFileSync(file, '{"type":"call","ses');
  expect((await run([{ a: 1 }, { b: 2 }])).sent).toEqual([{ b: 2 }]);
  expect((await run([{ a: 1 }, { b: 2 }])).sent).toEqual([]);
});

// Two runs at once made 400 calls for 200.
test('a run that another process continues is refused, and can be continued when that has ended', async () => {
  const first = await openRun(file, claimSession);
  await expect(openRun(file, claimSession)).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    message: `process ${process.pid} is running the run in ${file}`,
  });
  await first.release();
  expect((await run([{ a: 1 }])).sent).toEqual([{ a: 1 }]);
  expect(readdirSync(dirname(file))).toEqual(['run.jsonl']);
});

test('a finished run and other files are refused and stay as they are', async () => {
  await run([{ a: 1 }], { status: 'success' });
  await expect(openRun(file, claimSession)).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    message: expect.stringContaining('has finished'),
  });
  for (const text of ['something\n', '{"type":"cell"}\n', '\u0000']) {
    writeFileSync(file, text);
    await expect(openRun(file, claimSession)).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: expect.stringContaining('cannot resume'),
    });
    expect(readFileSync(file, 'utf8')).toBe(text);
  }
});
