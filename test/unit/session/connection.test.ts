/** How the host handles the streams of one sandbox. The test plays the kernel. */
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CallContext, RunForEgress } from '../../../src/core/session/dispatch.ts';
import { FakeSandbox } from '../../support/fake-sandbox.ts';
import { connect, settle } from '../../support/fake-session.ts';

// The real limits take seconds to reach.
vi.mock('../../../src/core/base/limits.ts', async (original) => ({
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

/** Runs a cell and records what its listener gets, then how the cell ended. */
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

  it('is ended if its kernel does not greet the host in time', async () => {
    const { connection, sandbox } = connect({ startTimeoutMs: 5_000 });
    await vi.advanceTimersByTimeAsync(4_999);
    expect(sandbox.kills).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(await connection.ready).toEqual({});
    expect(await connection.ended).toEqual({ reason: 'it was not ready within 5 s' });
  });

  it('is not ready if its kernel speaks another version of the protocol', async () => {
    const { connection, sandbox, log } = connect({ startTimeoutMs: 5_000 });
    await settle();
    sandbox.becomeReady(2);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await connection.ready).toEqual({});
    expect(log.join()).toContain('a frame of type ready');
  });

  it('reports how it exited if it ends first', async () => {
    const { connection, sandbox } = connect();
    sandbox.exit({ exitCode: 125, signal: undefined });
    expect(await connection.ready).toMatchObject({ exit: { exitCode: 125 } });
  });

  it('passes on the report of its supervisor if it ends first', async () => {
    const { connection, sandbox } = connect();
    await settle();
    sandbox.report({ ...ENDED, cause: 'failed', detail: 'no Python' });
    await vi.advanceTimersByTimeAsync(300);
    expect(await connection.ready).toMatchObject({ report: { cause: 'failed', detail: 'no Python' } });
  });

  it('may greet the host only once', async () => {
    const { sandbox, log } = await connected();
    sandbox.becomeReady();
    expect(log.join()).toContain('a frame of type ready');
  });

  it('may send a code pack until it is ready, and the pack is stored then', async () => {
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

describe('a sandbox whose engine enforces no limits and no filter', () => {
  const weak = { ...STARTED, pids_limit: null, seccomp: false };

  it('causes one warning for each', async () => {
    const { sandbox, log } = connect({}, new FakeSandbox({ isPreloaded: false }));
    await settle();
    sandbox.report(weak);
    expect(log).toHaveLength(2);
  });

  it('causes no warning if the engine brings the kernel, because that engine reports its own isolation', async () => {
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

  it('is dropped if it names another cell', async () => {
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

  it('is dropped if it comes after the result', async () => {
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

  it('includes what its calls attach to the answer', async () => {
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
  it('counts once: a duplicate does not end the next cell', async () => {
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

  it('ends the sandbox, and with it the cell, if frames of the host went missing', async () => {
    const all = await connected();
    const { end } = execute(all);
    all.sandbox.endCell(1, { outcome: 'interrupted', missed_frames: 2 });
    expect(await end).toMatchObject({ reason: expect.stringContaining('2 frames that the host sent did not arrive') });
    expect(all.sandbox.kills).toBeGreaterThan(0);
  });

  it('is ignored once the host has decided to end the sandbox', async () => {
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

// Code that catches the interrupt could claim another outcome, and its calls went on, also those that only waited.
it.each(['ok', 'error', 'exit'] as const)(
  'an interrupt of the host cancels the calls of a cell that ends with %s',
  async (outcome) => {
    const signals: CallContext['signal'][] = [];
    const handleCall = (_: unknown, { signal }: CallContext) => {
      signals.push(signal);
      return new Promise<never>(() => undefined);
    };
    const all = await connected({ handleCall });
    const { end } = execute(all);
    all.sandbox.send({ type: 'call', call: 1, method: 'call_tool', params: {} });
    await settle();
    all.connection.interrupt(1, 'deadline');
    all.sandbox.endCell(1, { outcome });
    await end;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  },
);

describe('bytes that no one asked for', () => {
  it.each([
    ['checkpoint_part', '"checkpoint":7'],
    ['egress_data', '"stream":7'],
  ])('are dropped with their frame %s, even if they look like frames', async (type, number) => {
    const all = await connected();
    const { end, events } = execute(all);
    const result = '{"type":"result","cell":1,"outcome":"exit"}';
    all.sandbox.sendBytes(`{"type":"${type}",${number},"bytes":${result.length + 1}}\n\n${result}`);
    await settle();
    expect(all.log).toEqual([]);
    all.sandbox.sendBytes('\n');
    await settle();
    expect(all.log).toEqual([expect.stringContaining(`a frame of type ${type} that is not expected now`)]);
    expect(events).toEqual([]);
    all.sandbox.endCell(1);
    await end;
    expect(events).toEqual(['ok']);
  });
});

describe('a stream of a program', () => {
  it('reaches whoever answers it, with a way to run a call of the cell, and ends with the sandbox', async () => {
    const opened: [stream: Duplex, run: RunForEgress][] = [];
    const all = await connected({ onEgress: (stream, run) => opened.push([stream, run]) });
    execute(all);
    all.sandbox.send({ type: 'egress_open', stream: 1 });
    all.sandbox.sendBytes(
      '{"type":"egress_data","stream":1,"bytes":3}\na\nb\n{"type":"egress_taken","stream":1,"bytes":1}\n',
    );
    await settle();
    expect(all.log).toEqual([expect.stringContaining('a frame of type egress_taken that is not expected now')]);
    all.sandbox.send({ type: 'egress_open', stream: 2 });
    all.sandbox.sendBytes('{"type":"egress_data","stream":2,"bytes":3}\na\nb\n');
    await settle();
    const [stream, run] = opened[1] ?? expect.fail('no stream');
    expect(String(stream.read())).toBe('a\nb');
    expect(await run(async ({ cell }) => cell)).toBe(1);
    await all.connection.kill('enough');
    await settle();
    expect(stream.destroyed).toBe(true);
    await expect(run(async ({ cell }) => cell)).rejects.toMatchObject({ code: 'CALL_REFUSED' });
  });

  it('is reset if no one answers it', async () => {
    const all = await connected();
    all.sandbox.send({ type: 'egress_open', stream: 1 });
    await settle();
    expect(all.sandbox.framesOf('egress_reset')).toEqual([{ type: 'egress_reset', stream: 1 }]);
  });
});

describe('a line that is not a frame', () => {
  it.each([
    ['of an unknown type', '{"type":"execve"}'],
    ['that is not JSON', 'Hello from print()'],
    ['that is not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['with an extra key', '{"type":"result","cell":1,"outcome":"ok","code":"CELL_DEADLINE"}'],
    ['that is too long', `{"type":"output","cell":1,"stream":"stdout","text":"${'x'.repeat(4_096)}"}`],
    ['that announces too many bytes', '{"type":"checkpoint_part","checkpoint":1,"bytes":1048577}'],
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

  it('is logged with its first characters, and only the first such line is', async () => {
    const { sandbox, log } = await connected();
    sandbox.sendBytes('first\nsecond\nthird\n');
    expect(log).toEqual([expect.stringContaining('first')]);
  });

  it('is answered if it is a call too complex to read', async () => {
    const all = await connected();
    execute(all);
    all.sandbox.sendBytes(`{"type":"call","call":3,"method":"call_tool","params":${'['.repeat(300)}\n`);
    await settle();
    expect(all.sandbox.framesOf('answer')).toMatchObject([{ call: 3, ok: false, error: { code: 'LIMIT_FRAME' } }]);
  });
});

describe('a frame', () => {
  it('is the same wherever the pipe splits it', async () => {
    const all = await connected();
    const { events } = execute(all);
    const bytes = Buffer.from('{"type":"output","cell":1,"stream":"stdout","text":"ä€𝒳"}\n');
    for (const byte of bytes) {
      all.sandbox.sendBytes(Buffer.from([byte]));
    }
    all.sandbox.sendBytes(Buffer.concat([bytes, bytes]));
    expect(events).toEqual(Array.from({ length: 3 }, () => ['stdout', 'ä€𝒳']));
  });

  it('needs the end of its line, even if the sandbox ends after it', async () => {
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

  it('is explained by the supervisor, at most 300 ms after its report', async () => {
    const all = await connected();
    const { end, events } = execute(all);
    all.sandbox.report(ENDED);
    await vi.advanceTimersByTimeAsync(299);
    expect(events).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await end).toEqual({ reason: 'Python ended itself with exit code 7' });
  });

  it('is preceded by output that only the supervisor saw', async () => {
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

  it('keeps the first reason that the host gave', async () => {
    const { connection, sandbox } = await connected();
    sandbox.diesWhenKilled = false;
    void connection.kill('it was idle');
    void connection.kill('the bridge was shut down');
    sandbox.report(ENDED);
    sandbox.exit();
    expect(await connection.ended).toEqual({ reason: 'it was idle' });
  });

  it('ends every later cell at once', async () => {
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

  it('lets the engine clean up even if nothing killed it', async () => {
    const { connection, sandbox } = await connected();
    sandbox.exit({ exitCode: 0, signal: undefined });
    await connection.ended;
    await settle();
    expect(sandbox.kills).toBe(1);
  });
});

describe('a sandbox that reads nothing', () => {
  it('gets an interrupt before the frames that wait', async () => {
    const all = await connected({ handleCall: async () => 'x'.repeat(20_000) });
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
