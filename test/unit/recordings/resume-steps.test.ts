/** A result that a run has kept stands for the calls of its step, and for no others. */
import { constants } from 'node:buffer';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import type { ToolCall } from '../../../src/core/calls/contract.ts';
import { BridgeEvents } from '../../../src/core/calls/events.ts';
import { createCallPipeline } from '../../../src/core/calls/pipeline.ts';
import { Steps } from '../../../src/core/calls/steps.ts';
import { claimSession } from '../../../src/core/session/session-claim.ts';
import { createSecretMask } from '../../../src/features/secrets/index.ts';
import { openRun, Recording, RunAnswers } from '../../../src/record/recordings/index.ts';
import { begunCell } from '../../support/watched-run.ts';

const SECRET = 'sk-canary-0123456789';
const RUN = { session: 'default', generation: 1, cell: 1 };
const mask = createSecretMask(() => [SECRET]);
const ONE = '1'.repeat(64);
const TWO = '2'.repeat(64);

let file: string;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'resume-steps-'));
  file = join(folder, 'run.jsonl');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

interface Doing {
  /** Calls within the step, without awaiting anything else. */
  call(text: string): Promise<unknown>;
  /** A step within; false if it was kept. */
  step(key: string, work: (doing: Doing) => Promise<unknown>, data?: string): Promise<boolean>;
}

/** One run; resolves with the calls that reached the server, those that results stand for, and the notices. */
async function run(work: (doing: Doing) => Promise<unknown>) {
  const opened = await openRun(file, claimSession);
  const resume = new RunAnswers(opened, mask);
  const options = { folder: '', instanceId: '0', mask, servers: () => [], logger: silentLogger, run: opened };
  const recording = new Recording(options);
  const skipped: unknown[] = [];
  const steps: Steps = new Steps(
    () => events,
    resume.keptResults((call) => skipped.push(call.arguments['text'])),
  );
  const events = new BridgeEvents([steps.watch, recording.watch]);
  const methods = new Map(steps.methods);
  void events.emit({ type: 'cell_started', cell: begunCell(RUN) });
  const sent: unknown[] = [];
  const { make } = createCallPipeline({ events, gates: [resume.gate] });
  const within = (step: number | undefined): Doing => {
    const context = { ...RUN, step, call: 1, loaded: new Set<string>(), signal: new AbortController().signal };
    const ask = async (name: Parameters<typeof methods.get>[0], params: unknown) =>
      methods.get(name)?.run(params, context) as Promise<{ step: number } | null>;
    return {
      call: (text) =>
        make(callOf(text, context), async () => {
          sent.push(text);
          return { content: [{ type: 'text', text: `answer ${sent.length}` }] };
        }),
      async step(key, inner, data = 'AAAA') {
        const begun = await ask('begin_step', { name: 'work', after: [], within: step });
        const number = begun?.step ?? 0;
        if ((await ask('kept_step', { step: number, key })) !== null) {
          await ask('end_step', { step: number, outcome: 'kept' });
          return false;
        }
        await inner(within(number));
        await ask('end_step', { step: number, outcome: 'ok', data });
        return true;
      },
    };
  };
  await work(within(undefined)).catch(() => undefined);
  await recording.close();
  await opened.release();
  const { notices } = resume.withNotice({ notices: [] } as never);
  return { sent, skipped, notices };
}

function callOf(text: string, context: ToolCall['context']): ToolCall {
  const server = { name: 'notes', alias: 'notes', description: '' };
  return { server, tool: { name: 'add', alias: 'add', inputSchema: {} }, arguments: { text }, context };
}

const stop = (): never => {
  throw new Error('stopped');
};

// It was answered with that of the first step, so that it was never made.
test('the same call of a later step is made', async () => {
  await run(async ({ step }) => {
    await step(ONE, ({ call }) => call('same'));
    stop();
  });
  const second = await run(async ({ step }) => {
    expect(await step(ONE, ({ call }) => call('same'))).toBe(false);
    await step(TWO, ({ call }) => call('same'));
    stop();
  });
  expect(second).toMatchObject({ sent: ['same'], skipped: ['same'] });
  expect(second.notices[0]).toMatch(/^Resumed: 0 calls answered .* 1 step done before and not done again\.$/);
  const third = await run(async ({ step }) => {
    await step(ONE, ({ call }) => call('same'));
    await step(TWO, ({ call }) => call('same'));
  });
  expect(third).toMatchObject({ sent: [], skipped: ['same', 'same'] });
});

test('answers that a step got again, and those of steps within it, are its own', async () => {
  const outer = (last: () => unknown) => async (doing: Doing) => {
    await doing.call('first');
    await doing.step(ONE, ({ call }) => call('inner'));
    await last();
  };
  await run(({ step }) => step(TWO, outer(stop)));
  // The inner step is kept, the first call answered again.
  expect(
    await run(({ step }) =>
      step(
        TWO,
        outer(() => undefined),
      ).then(stop),
    ),
  ).toMatchObject({ sent: [], skipped: ['inner'] });
  const third = await run(async ({ call, step }) => {
    expect(await step(TWO, outer(stop))).toBe(false);
    await call('first');
    await call('inner');
  });
  expect(third).toMatchObject({ sent: ['first', 'inner'], skipped: ['first', 'inner'] });
});

// The write of the step was never made: its recorded answer was given to the call before it.
test('an answer that other code has got does not count for its step', async () => {
  await run(({ step }) => step(ONE, ({ call }) => call('write')).then(stop));
  const { sent } = await run(async ({ call, step }) => {
    await call('write');
    expect(await step(ONE, (doing) => doing.call('write'))).toBe(true);
  });
  expect(sent).toEqual(['write']);
});

// Its write was never made: the result of the outer step stood for it, and that of the inner one, too.
test.each([
  ['within', [TWO, ONE]],
  ['around', [ONE, TWO]],
])('a step %s one that is not done again is', async (_, [first = '', second = '']) => {
  const inner = ({ call }: Doing) => call('write');
  const works = new Map([
    [ONE, inner],
    [TWO, ({ step }: Doing) => step(ONE, inner)],
  ]);
  const work = (key: string) => works.get(key) ?? inner;
  await run(({ step }) => step(TWO, work(TWO)).then(stop));
  const again = await run(async ({ step }) => {
    expect(await step(first, work(first))).toBe(false);
    expect(await step(second, work(second))).toBe(true);
  });
  expect(again).toMatchObject({ sent: ['write'], skipped: ['write'] });
});

test('a run whose results are longer than the longest text can go on', { timeout: 60_000 }, async () => {
  await run(({ step }) => step(ONE, async () => undefined).then(stop));
  const line = { type: 'step', ...RUN, name: 'work', key: TWO, calls: [], data: 'A'.repeat(15 * 2 ** 20) };
  const text = `${JSON.stringify(line)}\n`;
  for (let bytes = 0; bytes < constants.MAX_STRING_LENGTH; bytes += text.length) {
    appendFileSync(file, text);
  }
  expect(statSync(file).size).toBeGreaterThan(constants.MAX_STRING_LENGTH);
  const { notices } = await run(({ step }) => step(ONE, stop));
  expect(notices[0]).toContain('1 step done before');
});

test('a step that is done again gets the recorded answers of its calls', async () => {
  const work = ({ call }: Doing) => call('once');
  await run(({ step }) => step(ONE, work, undefined).then(stop));
  const text = readFileSync(file, 'utf8');
  expect(text).toContain('"type":"step"');
  await run(async ({ step }) => {
    await step(TWO, work);
  }).then(({ sent }) => expect(sent).toEqual([]));
});

test('a result with a secret is not kept', async () => {
  const data = Buffer.from(`\x80\x05 ${SECRET}.`).toString('base64');
  await run(({ step }) => step(ONE, async () => undefined, data).then(stop));
  expect(readFileSync(file, 'utf8')).not.toContain(data);
  await run(async ({ step }) => expect(await step(ONE, async () => undefined)).toBe(true));
});

test('a result of each of two equal steps is used once', async () => {
  const twice = async ({ step }: Doing) => {
    const first = await step(ONE, ({ call }) => call('a'));
    return [first, await step(ONE, ({ call }) => call('a'))];
  };
  await run((doing) => doing.step(ONE, ({ call }) => call('a')).then(stop));
  const { sent } = await run(async (doing) => expect(await twice(doing)).toEqual([false, true]));
  expect(sent).toEqual(['a']);
});
