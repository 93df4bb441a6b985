/** What the host makes of the streams of one sandbox, with a kernel played by the test. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CallContext } from '../../../src/session/dispatch.ts';
import { FakeSandbox } from '../../support/fake-sandbox.ts';
import { connect, settle } from '../../support/fake-session.ts';

// The real limits take seconds to reach.
vi.mock('../../../src/base/limits.ts', async (original) => ({
  ...(await original<object>()),
  MAX_SANDBOX_LINE_BYTES: 4_096,
  MAX_FRAMES_PER_CELL: 8,
}));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ENDED = { report: 'ended', cause: 'exit', exit_code: 7, signal: null } as const;
const STARTED = { report: 'started', memory_limit_bytes: 1, pids_limit: 1, seccomp: true } as const;

/** A connection whose kernel is ready. */
async function connected(options: Parameters<typeof connect>[0] = {}) {
  const all = connect(options);
  await settle();
  all.sandbox.becomeReady();
  await all.connection.ready;
  return all;
}

/** Runs a cell and writes down what its listener hears, and its end. */
function execute({ connection }: Pick<ReturnType<typeof connect>, 'connection'>, cell = 1) {
  const events: unknown[] = [];
  const listener = {
    onOutput: ({ stream, text }: { stream: string; text: string }) => void events.push([stream, text]),
    onDisplay: ({ text }: { text?: string | undefined }) => void events.push(['display', text]),
    onAttachment: () => void events.push(['attachment']),
    onProgress: ({ done }: { done: number }) => void events.push(['progress', done]),
  };
  const end = connection.execute({ cell, code: 'work()', servers: [] }, listener, undefined);
  void end.then((how) => events.push('result' in how ? how.result.outcome : how.reason));
  return { end, events };
}

describe('a sandbox that starts', () => {
  it('is ready when its kernel greets the host', async () => {
    const { connection, sandbox } = connect();
    await settle();
    sandbox.becomeReady();
    expect(await connection.ready).toMatchObject({ type: 'ready', python_version: '3.14.0' });
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(sandbox.kills).toBe(0);
  });

  it('is ended when its kernel has not greeted in time', async () => {
    const { connection, sandbox } = connect({ startTimeoutMs: 5_000 });
    await vi.advanceTimersByTimeAsync(4_999);
    expect(sandbox.kills).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(await connection.ready).toEqual({});
    expect(await connection.ended).toEqual({ reason: 'it was not ready within 5 s' });
  });

  it('is not ready when its kernel speaks another version of the protocol', async () => {
    const { connection, sandbox, log } = connect({ startTimeoutMs: 5_000 });
    await settle();
    sandbox.becomeReady(2);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await connection.ready).toEqual({});
    expect(log.join()).toContain('a frame of type ready');
  });

  it('says how it exited when it ends first', async () => {
    const { connection, sandbox } = connect();
    sandbox.exit({ exitCode: 125, signal: undefined });
    expect(await connection.ready).toMatchObject({ exit: { exitCode: 125 } });
  });

  it('says what its supervisor reported when it ends first', async () => {
    const { connection, sandbox } = connect();
    await settle();
    sandbox.report({ ...ENDED, cause: 'failed', detail: 'no Python' });
    await vi.advanceTimersByTimeAsync(300);
    expect(await connection.ready).toMatchObject({ report: { cause: 'failed', detail: 'no Python' } });
  });

  it('may greet once', async () => {
    const { sandbox, log } = await connected();
    sandbox.becomeReady();
    expect(log.join()).toContain('a frame of type ready');
  });

  it('may send a code pack before it is ready, which is stored then, and none later', async () => {
    const saved: string[] = [];
    const packs = {
      load: async () => undefined,
      save: async (_: string, pack: Buffer) => void saved.push(pack.toString()),
    };
    const { connection, sandbox, log } = connect({ packs });
    await settle();
    for (const piece of ['first ', 'second']) {
      sandbox.send({ type: 'code_pack', data: Buffer.from(piece).toString('base64') });
    }
    expect(saved).toEqual([]);
    sandbox.becomeReady();
    await connection.ready;
    expect(saved).toEqual(['first second']);
    sandbox.send({ type: 'code_pack', data: Buffer.from('late').toString('base64') });
    expect(saved).toEqual(['first second']);
    expect(log.join()).toContain('a frame of type code_pack');
  });

  it('keeps the end of what the engine writes to stderr, without the reports', async () => {
    const { connection, sandbox } = connect();
    await settle();
    sandbox.stderr.push('pulling layers\n');
    sandbox.report(STARTED);
    expect(connection.stderrTail).toBe('pulling layers');
    expect(connection.measured).toMatchObject({ seccomp: true });
  });
});

describe('a sandbox without limits or filter of its engine', () => {
  const weak = { ...STARTED, pids_limit: null, seccomp: false };

  it('is logged as a warning for each', async () => {
    const { sandbox, log } = connect({}, new FakeSandbox({ isPreloaded: false }));
    await settle();
    sandbox.report(weak);
    expect(log).toHaveLength(2);
  });

  it('is not logged when the engine brings the kernel, because that engine reports its isolation itself', async () => {
    const { sandbox, log } = connect({}, new FakeSandbox({ isPreloaded: true }));
    await settle();
    sandbox.report(weak);
    expect(log).toEqual([]);
  });
});

describe('what a cell sends', () => {
  it('reaches its listener in order, and before the result', async () => {
    const all = await connected();
    const { end, events } = execute(all);
    all.sandbox.send(
      { type: 'output', cell: 1, stream: 'stdout', text: 'one' },
      { type: 'output', cell: 1, stream: 'stderr', text: 'two' },
      { type: 'display', cell: 1, mime_type: 'text/html', text: '<b>three</b>' },
      { type: 'progress', done: 4 },
      { type: 'output', cell: 1, stream: 'stdout', text: 'five' },
    );
    all.sandbox.endCell(1);
    await end;
    expect(events).toEqual([
      ['stdout', 'one'],
      ['stderr', 'two'],
      ['display', '<b>three</b>'],
      ['progress', 4],
      ['stdout', 'five'],
      'ok',
    ]);
  });

  it('is dropped when it names another cell', async () => {
    const all = await connected();
    const { events } = execute(all, 2);
    all.sandbox.send(
      { type: 'output', cell: 1, stream: 'stdout', text: 'forged' },
      { type: 'display', cell: 3, mime_type: 'text/html', text: 'forged' },
    );
    await settle();
    expect(events).toEqual([]);
    expect(all.log).toHaveLength(1);
  });

  it('is dropped after its result', async () => {
    const all = await connected();
    const { end, events } = execute(all);
    all.sandbox.endCell(1);
    all.sandbox.send(
      { type: 'output', cell: 1, stream: 'stdout', text: 'late' },
      { type: 'display', cell: 1, mime_type: 'text/html', text: 'late' },
      { type: 'progress', done: 1 },
    );
    await end;
    expect(events).toEqual(['ok']);
  });

  it('includes what calls put beside the text', async () => {
    const handleCall = async (_: unknown, { attach }: CallContext) => {
      attach?.({ kind: 'link', uri: 'artifact://1', name: 'a.csv', mimeType: 'text/csv', sizeBytes: 3 });
    };
    const all = await connected({ handleCall });
    const { events } = execute(all);
    all.sandbox.send({ type: 'call', call: 1, method: 'save_artifact', params: {} });
    expect(events).toEqual([['attachment']]);
  });
});

describe('the result of a cell', () => {
  it('counts once: a second one does not end the next cell', async () => {
    const all = await connected();
    const first = execute(all, 1);
    all.sandbox.endCell(1);
    await first.end;
    const second = execute(all, 2);
    all.sandbox.endCell(1, { outcome: 'exit' });
    await settle();
    expect(second.events).toEqual([]);
    all.sandbox.endCell(2);
    await second.end;
    expect(second.events).toEqual(['ok']);
  });

  it('is dropped while no cell runs', async () => {
    const { sandbox, log } = await connected();
    sandbox.endCell(1);
    expect(log.join()).toContain('a frame of type result');
  });

  it('with frames of the host missing ends the sandbox, which ends the cell', async () => {
    const all = await connected();
    const { end } = execute(all);
    all.sandbox.endCell(1, { outcome: 'interrupted', missed_frames: 2 });
    expect(await end).toMatchObject({ reason: expect.stringContaining('2 frames that the host sent did not arrive') });
    expect(all.sandbox.kills).toBeGreaterThan(0);
  });

  it('comes too late once the host has decided to end the sandbox', async () => {
    const all = await connected();
    all.sandbox.diesWhenKilled = false;
    const { end, events } = execute(all);
    const killed = all.connection.kill('it was idle');
    all.sandbox.endCell(1);
    await settle();
    expect(events).toEqual([]);
    all.sandbox.exit();
    expect(await end).toEqual({ reason: 'it was idle' });
    await killed;
  });
});

describe('calls that run when their cell ends', () => {
  it.each([
    ['interrupted', true],
    ['ok', false],
    ['error', false],
  ] as const)('with outcome %s: cancelled is %s', async (outcome, isCancelled) => {
    const signals: CallContext['signal'][] = [];
    const handleCall = (_: unknown, { signal }: CallContext) => {
      signals.push(signal);
      return new Promise<never>(() => undefined);
    };
    const all = await connected({ handleCall });
    const { end } = execute(all);
    all.sandbox.send({ type: 'call', call: 1, method: 'call_tool', params: {} });
    all.sandbox.endCell(1, { outcome });
    await end;
    expect(signals.map(({ aborted }) => aborted)).toEqual([isCancelled]);
  });
});

describe('a line that is no frame', () => {
  it.each([
    ['of an unknown type', '{"type":"execve"}'],
    ['that is not JSON', 'Hello from print()'],
    ['that is not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['with a key too many', '{"type":"result","cell":1,"outcome":"ok","code":"CELL_DEADLINE"}'],
    ['that is too long', `{"type":"output","cell":1,"stream":"stdout","text":"${'x'.repeat(4_096)}"}`],
    ['of the host', '{"type":"interrupt","cell":1,"reason":"deadline","sent_before":0}'],
  ])('%s is dropped, and the cell goes on', async (_, line) => {
    const all = await connected();
    const { end, events } = execute(all);
    all.sandbox.sendBytes(line);
    all.sandbox.sendBytes('\n');
    await settle();
    expect(events).toEqual([]);
    expect(all.log).toEqual([expect.stringContaining('session default')]);
    all.sandbox.endCell(1);
    await end;
    expect(events).toEqual(['ok']);
  });

  it('is logged with its start once; a flood of them does not flood the log', async () => {
    const { sandbox, log } = await connected();
    sandbox.sendBytes('first\nsecond\nthird\n');
    expect(log).toEqual([expect.stringContaining('first')]);
  });

  it('is answered when it is a call that holds too much to be read', async () => {
    const all = await connected();
    execute(all);
    all.sandbox.sendBytes(`{"type":"call","call":3,"method":"call_tool","params":${'['.repeat(300)}\n`);
    await settle();
    expect(all.sandbox.framesOf('answer')).toMatchObject([{ call: 3, ok: false, error: { code: 'LIMIT_FRAME' } }]);
  });
});

describe('a frame', () => {
  it('is the same however the pipe cuts it', async () => {
    const all = await connected();
    const { events } = execute(all);
    const bytes = Buffer.from('{"type":"output","cell":1,"stream":"stdout","text":"ä€𝒳"}\n');
    for (const byte of bytes) {
      all.sandbox.sendBytes(Buffer.from([byte]));
    }
    all.sandbox.sendBytes(Buffer.concat([bytes, bytes]));
    expect(events).toEqual(Array.from({ length: 3 }, () => ['stdout', 'ä€𝒳']));
  });

  it('without the end of its line is none, even as the last words of a sandbox', async () => {
    const all = await connected();
    const { end, events } = execute(all);
    all.sandbox.sendBytes('{"type":"result","cell":1,"outcome":"ok"}');
    all.sandbox.exit({ exitCode: 1, signal: undefined });
    await end;
    expect(events).toEqual([expect.stringContaining('(1)')]);
  });
});

describe('a flood of frames', () => {
  const flood = (all: Awaited<ReturnType<typeof connected>>, frames: number) => {
    for (let frame = 0; frame < frames; frame += 1) {
      all.sandbox.send({ type: 'progress', done: frame });
    }
  };

  it('ends the sandbox, and the reason names the limit', async () => {
    const all = await connected();
    const { end } = execute(all);
    flood(all, 8);
    expect(all.sandbox.kills).toBe(0);
    flood(all, 1);
    expect(await end).toEqual({ reason: 'it sent more than 8 frames in one cell' });
  });

  it('is counted for each cell', async () => {
    const all = await connected();
    for (const cell of [1, 2, 3]) {
      const { end } = execute(all, cell);
      flood(all, 7);
      all.sandbox.endCell(cell);
      await end;
    }
    expect(all.sandbox.kills).toBe(0);
  });
});

describe('the end of a sandbox', () => {
  it('ends the cell with the exit that the engine saw', async () => {
    const all = await connected();
    const { end } = execute(all);
    all.sandbox.exit({ exitCode: 137, signal: undefined });
    expect(await end).toMatchObject({ reason: expect.stringContaining('(137)') });
  });

  it('is explained by the supervisor, and waits 300 ms at most for the client of the engine', async () => {
    const all = await connected();
    const { end, events } = execute(all);
    all.sandbox.report(ENDED);
    await vi.advanceTimersByTimeAsync(299);
    expect(events).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await end).toEqual({ reason: 'Python ended itself with exit code 7' });
  });

  it('brings output that only the supervisor saw, before the end of the cell', async () => {
    const all = await connected();
    const { end, events } = execute(all);
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    all.sandbox.report({ ...ENDED, stdout: base64('last words'), stderr: base64('a traceback') });
    all.sandbox.exit();
    await end;
    expect(events.slice(0, 2)).toEqual([
      ['stdout', 'last words'],
      ['stderr', 'a traceback'],
    ]);
  });

  it('has the first reason that the host gave, whatever follows', async () => {
    const { connection, sandbox } = await connected();
    sandbox.diesWhenKilled = false;
    void connection.kill('it was idle');
    void connection.kill('the bridge was shut down');
    sandbox.report(ENDED);
    sandbox.exit();
    expect(await connection.ended).toEqual({ reason: 'it was idle' });
  });

  it('ends at once every cell that comes later', async () => {
    const all = await connected();
    all.sandbox.exit({ exitCode: 1, signal: undefined });
    await all.connection.ended;
    const { end } = execute(all);
    expect(await end).toEqual(await all.connection.ended);
    expect(all.sandbox.framesOf('execute')).toEqual([]);
  });

  it('cancels its calls', async () => {
    const signals: CallContext['signal'][] = [];
    const handleCall = (_: unknown, { signal }: CallContext) => {
      signals.push(signal);
      return new Promise<never>(() => undefined);
    };
    const all = await connected({ handleCall });
    const { end } = execute(all);
    all.sandbox.send({ type: 'call', call: 1, method: 'call_tool', params: {} });
    all.sandbox.exit();
    await end;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('from inside still lets the engine clean up', async () => {
    const { connection, sandbox } = await connected();
    sandbox.exit({ exitCode: 0, signal: undefined });
    await connection.ended;
    await settle();
    expect(sandbox.kills).toBe(1);
  });
});

describe('a sandbox that reads nothing', () => {
  it('gets an interrupt before everything that waits', async () => {
    const all = await connected({ handleCall: async () => 'x'.repeat(2_000) });
    execute(all);
    await settle();
    all.sandbox.stopReading();
    for (const call of [1, 2, 3]) {
      all.sandbox.send({ type: 'call', call, method: 'call_tool', params: {} });
    }
    await settle();
    all.connection.outbox.sendInterrupt({ cell: 1, reason: 'deadline' });
    all.sandbox.resumeReading();
    await settle();
    const order = all.sandbox.received.map((frame) => ('call' in frame ? frame.call : frame.type));
    expect(order).toEqual(['execute', 1, 'interrupt', 2, 3]);
    expect(all.sandbox.framesOf('interrupt')).toMatchObject([{ sent_before: 2 }]);
  });
});
