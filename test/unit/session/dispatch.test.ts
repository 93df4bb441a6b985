/** Which calls run, which wait, and which get no answer. */
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BridgeError } from '../../../src/base/errors.ts';
import { MAX_CALLS_IN_FLIGHT } from '../../../src/base/limits.ts';
import { type CallContext, Dispatcher } from '../../../src/session/dispatch.ts';
import { Outbox } from '../../../src/session/outbox.ts';

function setUp() {
  const pipe = new PassThrough({ highWaterMark: 1 << 20 });
  const begun: ((value: unknown) => void)[] = [];
  const contexts: CallContext[] = [];
  const dispatcher = new Dispatcher(
    {
      session: 'test',
      generation: 1,
      loaded: new Set(),
      load: () => undefined,
      handleCall(_call, context) {
        contexts.push(context);
        return new Promise((resolve) => begun.push(resolve));
      },
    },
    new Outbox(pipe),
  );
  const call = (number: number) =>
    dispatcher.receive({ type: 'call', call: number, method: 'call_tool', params: { n: number } });
  async function answers(): Promise<unknown[]> {
    await nextTurn();
    const text = String(pipe.read() ?? '');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as unknown);
  }
  return { dispatcher, begun, contexts, call, answers };
}

describe('a call', () => {
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
    dispatcher.receive({ type: 'call', call: 2, method: 'start_job', params: { name: 'j' } });
    dispatcher.receive({ type: 'call', call: 3, method: 'call_tool', params: {}, job: 'j' });
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
  const refusing = async (
    frames: readonly { readonly call: number; readonly job?: string; readonly method?: string }[],
  ) => {
    const pipe = new PassThrough({ highWaterMark: 1 << 20 });
    const dispatcher = new Dispatcher(
      {
        session: 'test',
        generation: 1,
        loaded: new Set(),
        load: () => undefined,
        handleCall: ({ params }) =>
          params['n'] === 1
            ? Promise.reject(new BridgeError('POLICY_DENIED', 'a rule denies it'))
            : Promise.resolve('done'),
      },
      new Outbox(pipe),
    );
    dispatcher.beginCell(1, undefined);
    for (const { method = 'call_tool', ...frame } of frames) {
      dispatcher.receive({ type: 'call', method, params: { n: frame.call, name: 'j' }, ...frame });
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
