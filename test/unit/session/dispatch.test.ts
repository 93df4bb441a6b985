/** Which calls run, which wait, and which get no answer. */
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import {
  MAX_CALLS_IN_FLIGHT,
  MAX_CALLS_PER_CELL,
  MAX_CALLS_WAITING,
  MAX_RUNNING_CALL_BYTES,
  MAX_WAITING_CALL_BYTES,
} from '../../../src/core/base/limits.ts';
import { parseExact } from '../../../src/core/protocol/exact-json.ts';
import { type AnswerFrame, type CallFrame, HostFrameSchema } from '../../../src/core/protocol/frames.ts';
import type { Asker } from '../../../src/core/session/asker.ts';
import { type CallContext, Dispatcher, type HandleCall } from '../../../src/core/session/dispatch.ts';
import { Outbox } from '../../../src/core/session/outbox.ts';

// Small enough to reach with a few calls.
vi.mock('../../../src/core/base/limits.ts', async (original) => ({
  ...(await original<object>()),
  MAX_CALLS_IN_FLIGHT: 3,
  MAX_CALLS_WAITING: 4,
  MAX_CALLS_PER_CELL: 10,
  MAX_HOST_CALLS_IN_FLIGHT: 2,
  MAX_UNSENT_BYTES: 100,
  MAX_UNREAD_ANSWER_BYTES: 100,
}));

function setUp(handleCall?: HandleCall) {
  const pipe = new PassThrough({ highWaterMark: 1 << 20 });
  const begun: ((value: unknown) => void)[] = [];
  const contexts: CallContext[] = [];
  const dispatcher: Dispatcher = new Dispatcher(
    {
      session: 'test',
      generation: 1,
      loaded: new Set(),
      load: () => undefined,
      handleCall(call, context) {
        // Under the number of the frame; the host gives the call another.
        contexts.push({ ...context, call: Number(call.params['n']) });
        return handleCall?.(call, context) ?? new Promise((resolve) => begun.push(resolve));
      },
    },
    new Outbox(pipe, { onRoom: () => dispatcher.noteRoom() }),
  );
  const call = (number: number, frame: Partial<CallFrame> = {}, bytes = 100) =>
    dispatcher.receive({ type: 'call', call: number, method: 'call_tool', params: { n: number }, ...frame }, bytes);
  /** Frames that were sent since it was last asked. */
  async function sent() {
    await nextTurn();
    const text = String(pipe.read() ?? '');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => HostFrameSchema.parse(JSON.parse(line)));
  }
  const answers = async () => (await sent()).filter((frame): frame is AnswerFrame => frame.type === 'answer');
  /** The numbers of the calls that were answered, with the code of the error, or with `ok`. */
  const ends = async () => (await answers()).map(({ call: number, ok, error }) => [number, ok ? 'ok' : error?.code]);
  /** Declares a job from the running cell, and takes the answer. */
  async function startJob(name: string): Promise<void> {
    call(1_000, { method: 'start_job', params: { name } });
    expect(await ends()).toEqual([[1_000, 'ok']]);
  }
  /** Reads everything, until nothing more comes. */
  async function drain(): Promise<void> {
    for (let read = pipe.read(); read !== null; read = pipe.read()) {
      await nextTurn();
    }
  }
  const signals = () => contexts.map(({ signal }) => signal.aborted);
  return { dispatcher, begun, contexts, call, sent, answers, ends, startJob, signals, drain };
}

/** Numbers of calls, from 1. */
function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

describe('a call', () => {
  // Code chose the numbers: one for two calls of the log, or such that the page showed the arguments of another call.
  it('gets a number of the host, in the order in which calls begin, and so does each that it makes', async () => {
    const numbers: unknown[] = [];
    const { dispatcher, call } = setUp(async (_, context) => {
      numbers.push(context.call, context.nextNumber?.());
    });
    dispatcher.beginCell(1, undefined);
    for (const number of [9, 9, 4]) {
      call(number);
      await nextTurn();
    }
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('whose number is in use is dropped, and the one that has it gets its own answer', async () => {
    const { dispatcher, begun, call, answers } = setUp();
    dispatcher.beginCell(1, undefined);
    expect(call(7)).toBe(true);
    expect(call(7)).toBe(false);
    dispatcher.refuseUnread('{"type":"call","call":7,"method"', 'too long');
    begun[0]?.('mine');
    expect(await answers()).toEqual([{ type: 'answer', call: 7, ok: true, value: 'mine' }]);
    expect(begun).toHaveLength(1);
  });

  // Objects that were restored called servers, under the number of a cell that never started.
  it('of an object that is restored is refused; only the kernel reads packages then', async () => {
    const { dispatcher, begun, call, ends } = setUp();
    dispatcher.beginCell(1, undefined, undefined, true);
    call(1);
    call(2, { method: 'save_tool' });
    call(3, { method: 'read_wheel' });
    expect(await ends()).toEqual([
      [1, 'CALL_REFUSED'],
      [2, 'CALL_REFUSED'],
    ]);
    expect(begun).toHaveLength(1);
    dispatcher.endCell(false);
    dispatcher.beginCell(2, undefined);
    call(4);
    expect(begun).toHaveLength(2);
  });

  it('that waits for a place begins in a cell only', async () => {
    const { dispatcher, begun, call } = setUp();
    dispatcher.beginCell(1, undefined);
    for (let number = 0; number <= MAX_CALLS_IN_FLIGHT; number += 1) {
      call(number);
    }
    expect(begun).toHaveLength(MAX_CALLS_IN_FLIGHT);
    dispatcher.endCell(false);
    begun.forEach((resolve) => resolve(null));
    await nextTurn();
    expect(begun).toHaveLength(MAX_CALLS_IN_FLIGHT);
    dispatcher.beginCell(2, undefined);
    expect(begun).toHaveLength(MAX_CALLS_IN_FLIGHT + 1);
  });
});

describe('calls of a cell', () => {
  it('run in parallel up to the limit; the others wait in order', async () => {
    const { dispatcher, begun, contexts, call } = setUp();
    dispatcher.beginCell(1, undefined);
    upTo(5).forEach((number) => call(number));
    expect(contexts.map((context) => context.call)).toEqual([1, 2, 3]);
    begun[1]?.('done');
    await nextTurn();
    expect(contexts.map((context) => context.call)).toEqual([1, 2, 3, 4]);
  });

  it('are refused, with a hint to await results, once too many of them wait', async () => {
    const { dispatcher, call, answers } = setUp();
    dispatcher.beginCell(1, undefined);
    upTo(MAX_CALLS_IN_FLIGHT + MAX_CALLS_WAITING + 1).forEach((number) => call(number));
    expect(await answers()).toMatchObject([
      {
        call: 8,
        error: { code: 'LIMIT_CALLS', message: expect.stringContaining('4 calls'), hint: expect.any(String) },
      },
    ]);
  });

  it('are refused above the limit of one cell, and allowed again in the next', async () => {
    const { dispatcher, call, answers, ends } = setUp(async () => null);
    dispatcher.beginCell(1, undefined);
    for (const number of upTo(MAX_CALLS_PER_CELL)) {
      call(number);
      expect(await ends()).toEqual([[number, 'ok']]);
    }
    call(11);
    expect(await answers()).toMatchObject([
      { call: 11, error: { code: 'LIMIT_CALLS', message: expect.stringContaining('10 calls') } },
    ]);
    dispatcher.endCell(false);
    dispatcher.beginCell(2, undefined);
    call(12);
    expect(await ends()).toEqual([[12, 'ok']]);
  });

  it('are refused while no cell runs', async () => {
    const { dispatcher, call, ends, contexts } = setUp();
    call(1);
    dispatcher.beginCell(1, undefined);
    dispatcher.endCell(false);
    call(2);
    expect(await ends()).toEqual([
      [1, 'CALL_REFUSED'],
      [2, 'CALL_REFUSED'],
    ]);
    expect(contexts).toEqual([]);
  });

  it('may ask the person only while the cell runs', () => {
    const { dispatcher, contexts, call } = setUp();
    const asker = { code: 'work()' } as Asker;
    dispatcher.beginCell(1, asker);
    call(1);
    dispatcher.endCell(false);
    dispatcher.beginCell(2, undefined);
    call(2);
    expect(contexts.map((context) => context.asker)).toEqual([asker, undefined]);
  });

  it('are counted for progress reports, if they call tools', async () => {
    const { dispatcher, begun, call } = setUp();
    dispatcher.beginCell(1, undefined);
    call(1, { method: 'query_tool_docs' });
    [2, 3, 4, 5].forEach((number) => call(number));
    expect(dispatcher.counts()).toEqual({ done: 0, running: 4 });
    begun[0]?.('docs');
    begun[1]?.('done');
    await nextTurn();
    expect(dispatcher.counts()).toEqual({ done: 1, running: 3 });
    dispatcher.endCell(false);
    dispatcher.beginCell(2, undefined);
    expect(dispatcher.counts()).toEqual({ done: 0, running: 3 });
  });
});

describe('the answer to a call', () => {
  it('is null if the host returns nothing', async () => {
    const { dispatcher, call, answers } = setUp(async () => undefined);
    dispatcher.beginCell(1, undefined);
    call(1);
    expect(await answers()).toEqual([{ type: 'answer', call: 1, ok: true, value: null }]);
  });

  it('carries code, message, hint and data of a failure', async () => {
    const failure = new BridgeError('TOOL_FAILED', 'no such file', { hint: 'List them.', data: { tool: 'read' } });
    const { dispatcher, call, answers } = setUp(() => Promise.reject(failure));
    dispatcher.beginCell(1, undefined);
    call(1);
    const error = { code: 'TOOL_FAILED', message: 'no such file', hint: 'List them.', data: { tool: 'read' } };
    expect(await answers()).toEqual([{ type: 'answer', call: 1, ok: false, error }]);
  });

  it('is INTERNAL for a fault of the host', async () => {
    const { dispatcher, call, ends } = setUp(() => Promise.reject(new TypeError('x is undefined')));
    dispatcher.beginCell(1, undefined);
    call(1);
    expect(await ends()).toEqual([[1, 'INTERNAL']]);
  });

  it('follows its progress reports, which are reduced to the newest if they come too fast', async () => {
    const { dispatcher, begun, contexts, call, sent } = setUp();
    dispatcher.beginCell(1, undefined);
    call(1);
    [1, 2, 3].forEach((progress) => contexts[0]?.onProgress?.({ progress }));
    begun[0]?.('done');
    await nextTurn();
    contexts[0]?.onProgress?.({ progress: 4 });
    expect(await sent()).toEqual([
      { type: 'call_progress', call: 1, progress: 1 },
      { type: 'call_progress', call: 1, progress: 3 },
      { type: 'answer', call: 1, ok: true, value: 'done' },
    ]);
  });

  it('is LIMIT_RESULT if too many values are unread already', async () => {
    const { dispatcher, call, answers } = setUp(async () => 'x'.repeat(3_000_000));
    dispatcher.beginCell(1, undefined);
    call(1);
    call(2);
    expect(await answers()).toMatchObject([]);
    expect(dispatcher.codeOfRefused(1)).toBeUndefined();
    expect(dispatcher.codeOfRefused(2)).toBe('LIMIT_RESULT');
  });
});

describe('calls of many bytes', () => {
  it('run while they are within the limit; the next one waits, and small ones behind it do too', async () => {
    const { dispatcher, begun, contexts, call } = setUp();
    dispatcher.beginCell(1, undefined);
    call(1, {}, MAX_RUNNING_CALL_BYTES - 100);
    call(2, {}, 101);
    call(3, {}, 1);
    expect(contexts.map((context) => context.call)).toEqual([1]);
    begun[0]?.(null);
    await nextTurn();
    expect(contexts.map((context) => context.call)).toEqual([1, 2, 3]);
  });

  it('are refused with the limit once too many bytes wait', async () => {
    const { dispatcher, call, answers } = setUp();
    dispatcher.beginCell(1, undefined);
    call(1, {}, MAX_RUNNING_CALL_BYTES);
    call(2, {}, MAX_WAITING_CALL_BYTES - 1);
    call(3, {}, 2);
    expect(await answers()).toMatchObject([
      {
        call: 3,
        error: {
          code: 'LIMIT_CALLS',
          message: 'waiting calls would need 67,108,865 bytes; the limit is 67,108,864 bytes',
          hint: expect.any(String),
        },
      },
    ]);
    dispatcher.cancel(2);
    call(4, {}, 2);
    expect(await answers()).toEqual([]);
  });

  it('wait until the sandbox has read its answers', async () => {
    const { dispatcher, contexts, call, drain } = setUp(async () => 'x'.repeat(3_000_000));
    dispatcher.beginCell(1, undefined);
    call(1);
    await nextTurn();
    call(2);
    expect(contexts).toHaveLength(1);
    await drain();
    expect(contexts).toHaveLength(2);
  });
});

describe('calls that the host answers itself', () => {
  it('start one at a turn, a few at once, and hold up no call of a server', async () => {
    const { dispatcher, begun, contexts, call } = setUp();
    dispatcher.beginCell(1, undefined);
    upTo(4).forEach((number) => call(number, { method: 'list_tools' }));
    call(5);
    expect(contexts.map((context) => context.call)).toEqual([1, 5]);
    await nextTurn();
    await nextTurn();
    await nextTurn();
    expect(contexts.map((context) => context.call)).toEqual([1, 5, 2]);
    begun[0]?.(null);
    await expect.poll(() => contexts.map((context) => context.call)).toEqual([1, 5, 2, 3]);
  });
});

describe('an error', () => {
  it('does not show how the host carries exact numbers, and is no longer than a line may be', async () => {
    const marked = Object.keys(parseExact('1e999') as object)[0] ?? '';
    const { dispatcher, call, answers } = setUp(async () => {
      throw new BridgeError('CALL_REFUSED', `unknown: ${marked}${'x'.repeat(1_000_000)}`, { hint: marked });
    });
    dispatcher.beginCell(1, undefined);
    call(1);
    call(2, { method: 'start_job', params: { name: parseExact('{"a":1e999}') } });
    const text = JSON.stringify(await answers());
    expect(text).toContain('unknown: number');
    expect(text).not.toContain(marked);
    expect(text.length).toBeLessThan(200_000);
  });
});

describe('a call that the sandbox cancels', () => {
  it('never begins if it waits, and gets no answer', async () => {
    const { dispatcher, begun, contexts, call, ends } = setUp();
    dispatcher.beginCell(1, undefined);
    upTo(4).forEach((number) => call(number));
    dispatcher.cancel(4);
    begun.forEach((resolve) => resolve(null));
    expect(await ends()).toHaveLength(3);
    expect(contexts).toHaveLength(3);
  });

  it('is aborted if it runs, and the others are not', () => {
    const { dispatcher, call, signals } = setUp();
    dispatcher.beginCell(1, undefined);
    upTo(3).forEach((number) => call(number));
    dispatcher.cancel(2);
    expect(signals()).toEqual([false, true, false]);
  });

  it('may be unknown', () => {
    const { dispatcher } = setUp();
    expect(() => dispatcher.cancel(99)).not.toThrow();
  });
});

describe('a cell that ends', () => {
  it('normally leaves its calls running, and they are answered', async () => {
    const { dispatcher, begun, call, ends, signals } = setUp();
    dispatcher.beginCell(1, undefined);
    call(1);
    dispatcher.endCell(false);
    expect(signals()).toEqual([false]);
    begun[0]?.('done');
    expect(await ends()).toEqual([[1, 'ok']]);
  });

  it('by an interrupt aborts its running calls and refuses the waiting ones', async () => {
    const { dispatcher, call, ends, signals } = setUp();
    dispatcher.beginCell(1, undefined);
    upTo(4).forEach((number) => call(number));
    dispatcher.endCell(true);
    expect(signals()).toEqual([true, true, true]);
    expect(await ends()).toEqual([[4, 'CALL_CANCELLED']]);
  });

  // They ran, were recorded and asked the person as calls of the next cell, whatever that was.
  it('keeps the calls that still wait as its own, which run while another cell does and ask no one', async () => {
    const { dispatcher, begun, contexts, call } = setUp();
    dispatcher.beginCell(1, undefined);
    upTo(4).forEach((number) => call(number));
    dispatcher.endCell(false);
    begun[0]?.(null);
    await nextTurn();
    expect(contexts).toHaveLength(3);
    dispatcher.beginCell(2, {} as Asker);
    await nextTurn();
    expect(contexts[3]).toMatchObject({ cell: 1, call: 4, asker: undefined });
  });

  it('lets its calls and those of jobs know when they may make no others', async () => {
    const { dispatcher, contexts, call, startJob } = setUp();
    dispatcher.beginCell(1, undefined);
    await startJob('nightly');
    call(1);
    call(2, { job: 'nightly' });
    const over = () => contexts.map((context) => context.isOver?.(context));
    expect(over()).toEqual([false, false]);
    dispatcher.endCell(false);
    expect(over()).toEqual([true, false]);
    dispatcher.beginCell(2, undefined);
    dispatcher.endJob('nightly');
    expect(over()).toEqual([true, true]);
  });

  it('by an interrupt spares the calls of jobs and of earlier cells', async () => {
    const { dispatcher, call, ends, signals, startJob } = setUp();
    dispatcher.beginCell(1, undefined);
    call(1);
    await startJob('nightly');
    dispatcher.endCell(false);
    dispatcher.beginCell(2, undefined);
    call(2);
    call(3, { job: 'nightly' });
    call(4, { job: 'nightly' });
    dispatcher.endCell(true);
    expect(signals()).toEqual([false, true, false]);
    expect(await ends()).toEqual([]);
  });
});

describe('a job', () => {
  it('may call at any time, and its calls belong to no cell', async () => {
    const { dispatcher, contexts, call, startJob } = setUp();
    dispatcher.beginCell(1, {} as Asker);
    await startJob('nightly');
    call(1, { job: 'nightly' });
    dispatcher.endCell(false);
    call(2, { job: 'nightly' });
    const ofJob = { cell: 0, job: 'nightly', asker: undefined };
    expect(contexts).toMatchObject([
      { call: 1, ...ofJob },
      { call: 2, ...ofJob },
    ]);
  });

  it('can start a waiting call between cells, before older calls of a cell', async () => {
    const { dispatcher, begun, contexts, call, startJob } = setUp();
    dispatcher.beginCell(1, undefined);
    await startJob('nightly');
    upTo(4).forEach((number) => call(number));
    call(5, { job: 'nightly' });
    dispatcher.endCell(false);
    begun[0]?.(null);
    await nextTurn();
    expect(contexts.map((context) => context.call)).toEqual([1, 2, 3, 5]);
  });

  it('is known only from its declaration to its end', async () => {
    const { dispatcher, call, ends, startJob } = setUp(async () => null);
    dispatcher.beginCell(1, undefined);
    call(1, { job: 'nightly' });
    expect(await ends()).toEqual([[1, 'CALL_REFUSED']]);
    await startJob('nightly');
    call(2, { job: 'nightly' });
    expect(await ends()).toEqual([[2, 'ok']]);
    dispatcher.endJob('nightly');
    call(3, { job: 'nightly' });
    expect(await ends()).toEqual([[3, 'CALL_REFUSED']]);
  });

  it('cannot be declared while no cell runs, not even by another job', async () => {
    const { dispatcher, call, ends, startJob } = setUp();
    dispatcher.beginCell(1, undefined);
    await startJob('nightly');
    dispatcher.endCell(false);
    call(1, { method: 'start_job', params: { name: 'second' } });
    call(2, { method: 'start_job', params: { name: 'second' }, job: 'nightly' });
    expect(await ends()).toEqual([
      [1, 'CALL_REFUSED'],
      [2, 'CALL_REFUSED'],
    ]);
  });

  it('has its own limit of calls', async () => {
    const { dispatcher, call, ends, startJob } = setUp(async () => null);
    dispatcher.beginCell(1, undefined);
    await startJob('nightly');
    for (const number of upTo(MAX_CALLS_PER_CELL)) {
      call(number, { job: 'nightly' });
      expect(await ends()).toEqual([[number, 'ok']]);
    }
    call(11, { job: 'nightly' });
    call(12);
    expect(await ends()).toEqual([
      [11, 'LIMIT_CALLS'],
      [12, 'ok'],
    ]);
  });
});

describe('a sandbox that is gone', () => {
  it('gets no more frames, and its calls are aborted', async () => {
    const { dispatcher, begun, contexts, call, sent, signals } = setUp();
    dispatcher.beginCell(1, undefined);
    upTo(4).forEach((number) => call(number));
    dispatcher.close();
    contexts[0]?.onProgress?.({ progress: 1 });
    begun.forEach((resolve) => resolve('done'));
    expect(await sent()).toEqual([]);
    expect(signals()).toEqual([true, true, true]);
    expect(contexts).toHaveLength(3);
  });
});

describe('reports on a call', () => {
  const report = { tool: 'files.scan', progress: 1 };

  it('go to the client that listened when it began, which learns of its end before the code has the answer', async () => {
    const { dispatcher, begun, contexts, call, answers } = setUp();
    const events: unknown[] = [];
    const noteCall = (number: number, { progress }: { progress: number }) => void events.push([number, progress]);
    const endCall = (number: number) => void events.push([number, 'end', pending()]);
    const pending = () => dispatcher.counts().running;
    dispatcher.beginCell(1, undefined, { noteCall, endCall });
    call(7);
    contexts[0]?.onToolProgress?.(report);
    dispatcher.endCell(false);
    dispatcher.beginCell(2, undefined);
    contexts[0]?.onToolProgress?.({ ...report, progress: 2 });
    begun[0]?.('done');
    expect(await answers()).toHaveLength(1);
    expect(events).toEqual([
      [7, 1],
      [7, 2],
      [7, 'end', 1],
    ]);
  });

  it('go to no client that does not listen, and none of a job', () => {
    const { dispatcher, contexts, call } = setUp();
    dispatcher.beginCell(1, undefined);
    call(1);
    dispatcher.beginCell(2, undefined, { noteCall: () => undefined, endCall: () => undefined });
    dispatcher.receive({ type: 'call', call: 2, method: 'start_job', params: { name: 'j' } }, 100);
    dispatcher.receive({ type: 'call', call: 3, method: 'call_tool', params: {}, job: 'j' }, 100);
    expect(contexts.map(({ job, onToolProgress }) => [job, onToolProgress])).toEqual([
      [undefined, undefined],
      ['j', undefined],
    ]);
  });
});

describe('a call that holds too much to be read', () => {
  it('is answered when the start of its line tells its number', async () => {
    const { dispatcher, answers } = setUp();
    dispatcher.refuseUnread('{"type":"call","call":12,"method":"call_tool","par', 'of more than 10 values');
    dispatcher.refuseUnread('{"type":"output","cell":12,"str', 'of more than 10 values');
    dispatcher.refuseUnread('{"type":"call","call":99999999999999999,', 'of more than 10 values');
    expect(await answers()).toMatchObject([
      { call: 12, ok: false, error: { code: 'LIMIT_FRAME', message: expect.stringContaining('more than 10 values') } },
    ]);
  });
});

describe('what a cell may say of its calls', () => {
  const refusing = async (frames: readonly (Partial<CallFrame> & { readonly call: number })[]) => {
    const { dispatcher, call } = setUp(({ params }) =>
      params['n'] === 1
        ? Promise.reject(new BridgeError('POLICY_DENIED', 'a rule denies it'))
        : Promise.resolve('done'),
    );
    dispatcher.beginCell(1, undefined);
    for (const frame of frames) {
      call(frame.call, { params: { n: frame.call, name: 'j' }, ...frame });
    }
    await nextTurn();
    return dispatcher;
  };

  it('is the code of those that the host refused in it', async () => {
    const dispatcher = await refusing([{ call: 1 }, { call: 2 }]);
    expect([1, 2, 3].map((call) => dispatcher.codeOfRefused(call))).toEqual(['POLICY_DENIED', undefined, undefined]);
    dispatcher.endCell(false);
    dispatcher.beginCell(2, undefined);
    expect(dispatcher.codeOfRefused(1)).toBeUndefined();
  });

  it('holds none of a job', async () => {
    const dispatcher = await refusing([
      { call: 5, method: 'start_job' },
      { call: 1, job: 'j' },
    ]);
    expect(dispatcher.codeOfRefused(1)).toBeUndefined();
  });

  it('holds those refused for their size', () => {
    const { dispatcher } = setUp();
    dispatcher.beginCell(1, undefined);
    dispatcher.refuseUnread('{"type":"call","call":9,"method"', 'too long');
    expect(dispatcher.codeOfRefused(9)).toBe('LIMIT_FRAME');
  });

  it('is nothing as long as only the check before the cell has asked', async () => {
    const checked = await refusing([
      { call: 2, method: 'tool_specs' },
      { call: 3, method: 'list_tools' },
    ]);
    expect(checked.hasCodeCalled).toBe(false);
    expect((await refusing([{ call: 2, method: 'call_tool' }])).hasCodeCalled).toBe(true);
    expect((await refusing([{ call: 2, method: 'search_tool_docs' }])).hasCodeCalled).toBe(true);
  });
});

describe('a request of egress', () => {
  const contextOf = async (context: CallContext): Promise<CallContext> => context;

  it('runs as a call of the cell, which counts and has a number of the host', async () => {
    const { dispatcher, call, contexts } = setUp();
    const asker = { code: 'work()' } as Asker;
    dispatcher.beginCell(3, asker);
    const context = await dispatcher.runForEgress(contextOf);
    expect(context).toMatchObject({ session: 'test', generation: 1, cell: 3, call: 1, job: undefined, asker });
    call(1);
    expect(contexts.length).toBe(1);
    expect(dispatcher.counts()).toEqual({ done: 1, running: 1 });
    expect(dispatcher.hasCodeCalled).toBe(true);
  });

  it('is waited for, and ends with the cell that is cancelled or with the sandbox', async () => {
    const { dispatcher } = setUp();
    const hang = ({ signal }: CallContext): Promise<string> =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve('aborted')));
    dispatcher.beginCell(1, undefined);
    const first = dispatcher.runForEgress(hang);
    expect(dispatcher.isCalling()).toBe(true);
    expect(dispatcher.counts()).toEqual({ done: 0, running: 1 });
    dispatcher.endCell(true);
    expect(await first).toBe('aborted');
    expect(dispatcher.isCalling()).toBe(false);
    dispatcher.beginCell(2, undefined);
    const second = dispatcher.runForEgress(hang);
    dispatcher.close();
    expect(await second).toBe('aborted');
  });

  it('is refused if neither a cell runs nor a job, while the session is restored, and beyond the calls of a cell', async () => {
    const { dispatcher, startJob } = setUp();
    const refused = { code: 'CALL_REFUSED' };
    await expect(dispatcher.runForEgress(contextOf)).rejects.toMatchObject(refused);
    dispatcher.beginCell(1, undefined, undefined, true);
    await expect(dispatcher.runForEgress(contextOf)).rejects.toMatchObject(refused);
    dispatcher.endCell(false);
    dispatcher.beginCell(2, undefined);
    await startJob('fetch');
    dispatcher.endCell(false);
    expect(await dispatcher.runForEgress(contextOf)).toMatchObject({ cell: 0, job: 'fetch', asker: undefined });
    dispatcher.endJob('fetch');
    await expect(dispatcher.runForEgress(contextOf)).rejects.toMatchObject(refused);
    dispatcher.beginCell(3, undefined);
    for (let count = 0; count < MAX_CALLS_PER_CELL; count += 1) {
      // biome-ignore lint/performance/noAwaitInLoops: one after the other, as code of a cell.
      await dispatcher.runForEgress(contextOf);
    }
    await expect(dispatcher.runForEgress(contextOf)).rejects.toMatchObject({ code: 'LIMIT_CALLS' });
    dispatcher.endCell(false);
    dispatcher.close();
    await expect(dispatcher.runForEgress(contextOf)).rejects.toMatchObject(refused);
  });

  it('fails as its action does', async () => {
    const { dispatcher } = setUp();
    dispatcher.beginCell(1, undefined);
    const error = new BridgeError('POLICY_DENIED', 'not this host');
    await expect(dispatcher.runForEgress(() => Promise.reject(error))).rejects.toBe(error);
    expect(dispatcher.isCalling()).toBe(false);
  });
});
