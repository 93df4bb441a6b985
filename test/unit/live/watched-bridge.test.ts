/** The events and the state of one bridge, from what its session and its calls report. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CellAnswer, CellRequest, Person, Reply } from '../../../src/core/base/cell.ts';
import { Countdown } from '../../../src/core/base/countdown.ts';
import { createDeferred } from '../../../src/core/base/deferred.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import type { CallOutcome, ToolCall } from '../../../src/core/calls/contract.ts';
import type { BegunCell } from '../../../src/core/session/events.ts';
import type { CellOutcome } from '../../../src/core/session/run-cell.ts';
import { BY_OPERATOR } from '../../../src/core/session/run-cell.ts';
import type { SessionView } from '../../../src/core/session/session.ts';
import { EventStreams } from '../../../src/record/live/event-streams.ts';
import { type AnsweredQuestion, WatchedBridge } from '../../../src/record/live/watched-bridge.ts';
import {
  ApprovalSchema,
  EventSchema,
  type LiveEvent,
  ServerSchema,
  SessionSchema,
} from '../../../src/record/local-api/schema.ts';
import { begunCell, watchedRun } from '../../support/watched-run.ts';

beforeEach(() => void vi.useFakeTimers({ now: Date.parse('2026-11-26T00:00:00Z') }));
afterEach(() => void vi.useRealTimers());

const SESSION_RUN = { session: 'work', generation: 1 };
const RUN = { ...SESSION_RUN, cell: 3 };
const OK = { status: 'success' } as unknown as CellOutcome;
const VIEW: SessionView = {
  name: 'work',
  state: 'running',
  engine: 'podman',
  generation: 1,
  cells: 3,
  waiting: 0,
  servers: ['files'],
  ageMs: 10,
  idleMs: undefined,
  names: { variables: ['a', 'b'], functions: ['f'], imports: [], omitted: 2 },
  memoryBytes: 30_000_000,
  saved: undefined,
};
const REQUEST: CellRequest = { code: 'use("s3cret")', servers: ['files'], timeoutMs: 30_000, session: 'work' };
const ENGINE = { name: 'podman', isolation: 'x', refused: [] };

function callOf(call: number, more: Partial<ToolCall['context']> = {}): ToolCall {
  const context = { ...RUN, call, loaded: new Set<string>(), signal: new AbortController().signal, ...more };
  return { server: { name: 'files' }, tool: { name: 'read' }, arguments: {}, context } as unknown as ToolCall;
}

function open(principal?: string) {
  const events = new EventStreams();
  let text = '';
  events.join({
    write: (more) => {
      text += more;
    },
    unreadBytes: () => 0,
    end: () => undefined,
  });
  const answered: AnsweredQuestion[] = [];
  const server = { name: 'files', alias: 'files', description: '' };
  const pool = { state: 'ready' as 'ready' | 'failing' };
  const bridge = new WatchedBridge({
    id: 'bridge',
    principal,
    profile: undefined,
    client: () => 'tests',
    mask: (given) => given.replaceAll('s3cret', '***'),
    events,
    sessions: () => ({ views: () => [VIEW], kill: async () => true, hibernate: async () => false }),
    servers: {
      refresh: () => undefined,
      known: {
        servers: () => [server],
        metadata: () => ({ tools: [{}, {}] }) as never,
        refresh: async () => ({}) as never,
      },
      pool: {
        states: () => [
          {
            name: 'files',
            state: pool.state,
            pid: 7,
            requests: 1,
            failures: 0,
            lastError: new BridgeError('SERVER_EXITED', 'it crashed'),
          },
        ],
        stop: async () => undefined,
        forgetListing: () => undefined,
      },
    },
    timeoutMs: 5_000,
    onAnswered: (one) => answered.push(one),
  });
  /** The events so far, checked. */
  const seen = async (): Promise<LiveEvent[]> => {
    await vi.advanceTimersByTimeAsync(50);
    const lines = text.split('\n').filter((line) => line.startsWith('data: '));
    return lines.map((line) => EventSchema.parse(JSON.parse(line.slice('data: '.length))));
  };
  const run = watchedRun(bridge.watch);
  const print = (cell: BegunCell, printed: string, stream: 'stdout' | 'stderr' = 'stdout') =>
    run.emit({ type: 'cell_output', cell, stream, text: printed });
  return { answered, bridge, events, pool, print, run, seen };
}

type Opened = ReturnType<typeof open>;

function begin({ bridge, run }: Pick<Opened, 'bridge' | 'run'>, given = REQUEST): BegunCell {
  return run.begin(RUN, bridge.open(given), ['files']);
}

describe('a cell of the operator', () => {
  const SESSION = { name: 'work', servers: ['files'] };
  const ANSWER = { status: 'success', cell: 4, notices: ['It was restored.'] } as unknown as CellAnswer;

  /** Runs cells as a bridge does, and keeps the requests. */
  function runs({ bridge, run }: Opened, answer: CellAnswer = ANSWER): CellRequest[] {
    const requests: CellRequest[] = [];
    bridge.runWith(async (given) => {
      const request = bridge.open(given);
      requests.push(request);
      if (answer.cell !== undefined) {
        run.begin(RUN, request, ['files']);
      }
      return bridge.noticed(request, answer);
    });
    return requests;
  }

  it('is answered when it has begun, and the next answer to a client says so once', async () => {
    const opened = open();
    const { bridge } = opened;
    const requests = runs(opened);
    expect(await bridge.run(SESSION, 'x = 1')).toBe('bridge/work/1/3');
    expect(requests).toMatchObject([{ code: 'x = 1', servers: ['files'], session: 'work', timeoutMs: 5_000 }]);
    expect(requests[0]?.ranBy).toBe('operator');
    await vi.advanceTimersByTimeAsync(1);
    const next = bridge.noticed(REQUEST, { notices: ['Mine.'] } as unknown as CellAnswer);
    const ran = 'The operator ran cell 4 in this session; variables may have changed.';
    expect(next.notices).toEqual(['It was restored.', ran, 'Mine.']);
    expect(bridge.noticed(REQUEST, ANSWER).notices).toEqual(['It was restored.']);
  });

  it('can ask the operator, whom no client shows anything', async () => {
    const opened = open();
    const { bridge } = opened;
    const requests = runs(opened);
    await bridge.run(SESSION, 'x = 1');
    const asked = requests[0]?.person?.ask(
      { mode: 'form', message: 'May it?', requestedSchema: {}, calls: [{ server: 's', tool: 't', reason: 'r' }] },
      new AbortController().signal,
    );
    const [question] = bridge.approvals();
    expect(ApprovalSchema.parse(question).calls).toEqual([{ server: 's', tool: 't', reason: 'r' }]);
    bridge.answer(question?.id ?? '', { action: 'decline' });
    expect(await asked).toEqual({ action: 'decline' });
    const withdrawn = new AbortController();
    const again = requests[0]?.person?.ask({ mode: 'url', message: 'm', url: 'u' }, withdrawn.signal);
    withdrawn.abort();
    await expect(again).rejects.toThrow('withdrawn');
  });

  it('rejects if it did not run', async () => {
    const opened = open();
    const { bridge } = opened;
    await expect(bridge.run(SESSION, 'x')).rejects.toThrow('runs no cells of the operator');
    const error = { code: 'ENGINE_UNAVAILABLE', message: 'no engine' };
    runs(opened, { status: 'error', notices: [], error } as unknown as CellAnswer);
    await expect(bridge.run(SESSION, 'x')).rejects.toMatchObject(error);
    bridge.runWith(() => Promise.reject(new BridgeError('SESSION_LIMIT', 'too many')));
    await expect(bridge.run(SESSION, 'x')).rejects.toThrow('too many');
  });
});

const pass = (outcome: CallOutcome) => async () => outcome;

describe('a cell', () => {
  it('is told from its start to its end, with its output and calls, and without secrets', async () => {
    const opened = open('alice');
    const { print, run, seen } = opened;
    void run.emit({ type: 'session_started', run: SESSION_RUN, engine: ENGINE });
    const begun = begin(opened);
    void print(begun, 'hello\n');
    await run.call(callOf(1), pass({ ok: true, result: {} }));
    await run.call(callOf(2), pass({ ok: true, result: { isError: true } }));
    await run.call(callOf(3), pass({ ok: false, error: new BridgeError('POLICY_DENIED', 'no') }));
    run.end(begun, OK, 12);
    void run.emit({ type: 'session_ended', run: SESSION_RUN, reason: 'it met s3cret' });
    const cell = 'bridge/work/1/3';
    const events = await seen();
    expect(events.every((event) => event.principal === 'alice')).toBe(true);
    expect(events).toMatchObject([
      { type: 'session_started', session: 'work', generation: 1, engine: 'podman' },
      { type: 'cell_started', cell, code: 'use("***")', timeout_ms: 30_000 },
      { type: 'cell_output', cell, stream: 'stdout', from_char: 0, text: 'hello\n' },
      { type: 'call_started', cell, call: 1, server: 'files', tool: 'read' },
      { type: 'call_ended', call: 1, status: 'ok' },
      { type: 'call_started', call: 2 },
      { type: 'call_ended', call: 2, status: 'error', error_code: 'TOOL_FAILED' },
      { type: 'call_started', call: 3 },
      { type: 'call_ended', call: 3, status: 'error', error_code: 'POLICY_DENIED' },
      { type: 'cell_ended', cell, status: 'success', duration_ms: 12 },
      { type: 'session_ended', reason: 'it met ***' },
    ]);
  });

  it('is shown while it runs, with a bounded end of its output and its last calls', async () => {
    const opened = open();
    const { bridge, print, run } = opened;
    const begun = begin(opened);
    for (let number = 1; number <= 300; number += 1) {
      void print(begun, `${number}${'x'.repeat(999)}\n`);
      await run.call(callOf(number), pass({ ok: true, result: {} }));
    }
    const waiting = createDeferred<CallOutcome>();
    void run.call(callOf(301), () => waiting.promise);
    // Neither a call of a job nor one of an earlier sandbox belongs to the cell.
    void run.call(callOf(302, { cell: 0, job: 'later' }), () => waiting.promise);
    void run.call(callOf(303, { generation: 0 }), () => waiting.promise);
    const [session] = SessionSchema.array().parse(bridge.sessions());
    expect(session).toMatchObject({
      name: 'work',
      memory_bytes: 30_000_000,
      variables: 5,
      names: ['a', 'b'],
      state: 'running',
    });
    const { calls = [], output = '', ...cell } = session?.cell ?? {};
    expect(cell).toMatchObject({ code: 'use("***")', calls_running: 1, calls_ended: 300 });
    expect(cell).toMatchObject({ started: '2026-11-26T00:00:00.000Z', deadline: '2026-11-26T00:00:30.000Z' });
    expect([output.length, output.endsWith('x\n'), calls.length]).toEqual([16_384, true, 101]);
    expect([calls[0]?.call, calls.at(-1)]).toMatchObject([201, { call: 301, status: 'running' }]);
  });

  it('says of its output where it is, so whoever joins gets each part once', async () => {
    const opened = open();
    const { bridge, print, seen } = opened;
    const begun = begin(opened);
    void print(begun, 'one\n');
    void print(begun, 'two\n');
    void print(begun, 'three\n', 'stderr');
    const outputs = (await seen()).filter(({ type }) => type === 'cell_output');
    expect(outputs).toMatchObject([
      { stream: 'stdout', from_char: 0, text: 'one\ntwo\n' },
      { stream: 'stderr', from_char: 8, text: 'three\n' },
    ]);
    expect(bridge.sessions()[0]?.cell?.output_chars).toBe(14);
  });

  it('can be interrupted while it runs, and its client can still cancel it', () => {
    const opened = open();
    const { bridge, run } = opened;
    expect(bridge.interrupt('work')).toBe(false);
    const client = new AbortController();
    const begun = begin(opened, { ...REQUEST, signal: client.signal });
    const first = begun.request;
    expect(bridge.interrupt('work')).toBe(true);
    expect([first.signal?.aborted, first.signal?.reason]).toEqual([true, BY_OPERATOR]);
    run.end(begun);
    expect(bridge.interrupt('work')).toBe(false);
    const second = begin(opened, { ...REQUEST, signal: client.signal }).request;
    client.abort();
    expect([second.signal?.aborted, second.signal?.reason === BY_OPERATOR]).toEqual([true, false]);
  });
});

describe('a question', () => {
  const FORM = {
    mode: 'form',
    message: 'May it?',
    requestedSchema: { type: 'object', properties: { answer: { enum: ['Allow once', 'Do not allow'] } } },
  } as const;

  /** A cell whose client is asked and answers with `reply`. */
  function ask(reply: Promise<Reply>) {
    const parts = open();
    const withdrawn: AbortSignal[] = [];
    const person: Person = {
      opensPages: false,
      ask(_, signal) {
        withdrawn.push(signal);
        return reply;
      },
    };
    const { request } = begin(parts, { ...REQUEST, person });
    const asking = new AbortController();
    const answer = request.person?.ask(FORM, asking.signal);
    const [open1] = ApprovalSchema.array().parse(parts.bridge.approvals());
    return { ...parts, asking, answer, request, id: open1?.id ?? '', isWithdrawn: () => withdrawn[0]?.aborted };
  }

  const YES: Reply = { action: 'accept', content: { answer: 'Allow once' } };

  it('that the operator answers is withdrawn in the client, and a late answer of the client counts for nothing', async () => {
    const client = createDeferred<Reply>();
    const { answer, answered, bridge, id, isWithdrawn, seen } = ask(client.promise);
    expect(bridge.answer(id, YES)).toBe(true);
    client.resolve({ action: 'decline' });
    expect(await answer).toEqual(YES);
    expect([isWithdrawn(), bridge.approvals(), bridge.answer(id, YES)]).toEqual([true, [], false]);
    expect(answered).toMatchObject([{ session: 'work', cell: RUN, action: 'accept', choice: 'Allow once' }]);
    expect((await seen()).slice(-2)).toMatchObject([
      { type: 'approval_asked', id, session: 'work' },
      { type: 'approval_answered', id, answered_by: 'operator', action: 'accept' },
    ]);
  });

  it('that the client answers first can no longer be answered', async () => {
    const { answer, answered, bridge, id, seen } = ask(Promise.resolve<Reply>({ action: 'decline' }));
    expect(await answer).toEqual({ action: 'decline' });
    expect([bridge.answer(id, YES), answered]).toEqual([false, []]);
    expect((await seen()).at(-1)).toMatchObject({ answered_by: 'client', action: 'decline' });
  });

  it('that nobody answers, or whose client fails, is as without the API', async () => {
    const client = createDeferred<never>();
    const failing = client.promise.then(() => Promise.reject<Reply>(new Error('gone')));
    const { answer, asking, bridge, isWithdrawn, seen } = ask(failing);
    asking.abort();
    expect(isWithdrawn()).toBe(true);
    client.resolve(undefined as never);
    await expect(answer).rejects.toThrow('gone');
    expect([bridge.approvals(), (await seen()).at(-1)]).toMatchObject([[], { answered_by: 'nobody' }]);
  });

  it('of a request that waits is not one of the cell that runs', async () => {
    const opened = open();
    const { answered, bridge, print, seen } = opened;
    begin(opened);
    const person: Person = { opensPages: false, ask: () => createDeferred<Reply>().promise };
    const answer = bridge.open({ ...REQUEST, person }).person?.ask(FORM, new AbortController().signal);
    expect(bridge.sessions()[0]).not.toHaveProperty('questions');
    bridge.answer(bridge.approvals()[0]?.id ?? '', YES);
    expect(await answer).toEqual(YES);
    expect(answered).toMatchObject([{ session: 'work', cell: undefined }]);
    // Output of a cell that has ended is not that of the next.
    void print(begunCell({ ...RUN, cell: 2 }), 'late');
    expect(bridge.sessions()[0]?.cell?.output).toBe('');
    expect((await seen()).at(-1)).toMatchObject({ type: 'cell_output', cell: 'bridge/work/1/2' });
  });

  it('makes its session wait, and the time of its cell stand still', async () => {
    const { answer, bridge, id, request } = ask(createDeferred<Reply>().promise);
    const clock = new Countdown(30_000);
    request.onClock?.(clock);
    await vi.advanceTimersByTimeAsync(5_000);
    const release = clock.hold();
    await vi.advanceTimersByTimeAsync(60_000);
    const show = () => SessionSchema.parse(bridge.sessions()[0]);
    expect(show()).toMatchObject({
      questions: 1,
      cell: { paused: true, deadline: '2026-11-26T00:01:30.000Z' },
    });
    bridge.answer(id, YES);
    await answer;
    release();
    await vi.advanceTimersByTimeAsync(10_000);
    // It was shown as over since the first half minute.
    expect(show().cell).toMatchObject({ deadline: '2026-11-26T00:01:30.000Z' });
    expect([show().questions, show().cell?.paused]).toEqual([undefined, undefined]);
  });

  it('records no text that someone typed', async () => {
    const { answer, answered, bridge, id } = ask(createDeferred<Reply>().promise);
    bridge.answer(id, { action: 'accept', content: { answer: 'my password' } });
    await answer;
    expect(answered).toMatchObject([{ action: 'accept', choice: undefined }]);
  });
});

describe('servers', () => {
  it('are shown with calls, failures and percentiles', async () => {
    const { bridge, pool, run } = open();
    for (let number = 1; number <= 300; number += 1) {
      await run.send(callOf(number), async () => {
        await vi.advanceTimersByTimeAsync(number);
        return { isError: number > 290 };
      });
    }
    pool.state = 'failing';
    const [server] = ServerSchema.array().parse(bridge.servers());
    expect(server).toMatchObject({
      name: 'files',
      tools: 2,
      in_flight: 1,
      calls: 300,
      failed: 10,
      error: 'it crashed',
    });
    // Of the last 256 calls, which took 45 to 300 ms.
    expect(server?.p50_ms).toBeCloseTo(172, 0);
    expect(server?.p95_ms).toBeCloseTo(288, 0);
  });

  it('that change their state are an event', async () => {
    const { bridge, pool, seen } = open();
    bridge.lookAtServers();
    bridge.lookAtServers();
    pool.state = 'failing';
    bridge.lookAtServers();
    expect(await seen()).toMatchObject([
      { type: 'server_state', server: 'files', state: 'ready' },
      { type: 'server_state', server: 'files', state: 'failing' },
    ]);
  });
});
