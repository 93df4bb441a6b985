/** Every way a cell can end. The clock is fake, and the test plays the kernel. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CellClock, CellProgress, Person, Reply } from '../../../src/core/base/cell.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import type { ResultFrame } from '../../../src/core/protocol/frames.ts';
import type { HandleCall } from '../../../src/core/session/dispatch.ts';
import { BY_OPERATOR } from '../../../src/core/session/run-cell.ts';
import { openKernel, settle } from '../../support/fake-session.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const FRAME = { cell: 1, code: 'work()', servers: [] };
const KEYBOARD_INTERRUPT = { name: 'KeyboardInterrupt', message: '', traceback: 'Traceback: line 3' };

/** The outcome of a cell whose kernel sends this result. */
async function outcomeOf(result: Partial<ResultFrame>) {
  const { run, sandbox } = await openKernel();
  const outcome = run();
  sandbox.endCell(1, result);
  return outcome;
}

describe('a cell that ends by itself', () => {
  it('is a success with the value of its last expression and the names it leaves', async () => {
    const names = { variables: ['x'], functions: [], imports: ['json'], omitted: 0 };
    expect(await outcomeOf({ outcome: 'ok', value: '42', names })).toMatchObject({
      status: 'success',
      value: '42',
      names,
    });
  });

  // A forged frame of 8 MiB was kept whole: its texts until the answer, its names as long as the session.
  it('keeps of its texts and names what a kernel would have sent', async () => {
    const long = 'x'.repeat(1_000_000);
    const names = { variables: [long, 'x', 'not a name'], functions: [], imports: [], omitted: 0 };
    const success = await outcomeOf({ outcome: 'ok', value: long, names });
    expect(success.value?.length).toBeLessThan(300_000);
    expect(success.names).toEqual({ ...names, variables: ['x'] });
    const error = { name: long, message: long, hint: long, traceback: long };
    const failure = await outcomeOf({ outcome: 'error', error });
    expect(JSON.stringify(failure.error).length).toBeLessThan(1_000_000);
  });

  it('reached the kernel with its code and servers unchanged', async () => {
    const { run, sandbox } = await openKernel();
    const frame = { cell: 3, code: 'print("ä")', servers: [{ name: 'my-files', alias: 'my_files' }] };
    void run({ frame });
    await settle();
    expect(sandbox.framesOf('execute')).toEqual([{ type: 'execute', ...frame }]);
  });

  it('returns what it printed to each stream and what it displayed', async () => {
    const { run, sandbox } = await openKernel();
    const outcome = run();
    sandbox.send(
      { type: 'output', cell: 1, stream: 'stdout', text: 'out 1\n' },
      { type: 'output', cell: 1, stream: 'stderr', text: 'err\n' },
      { type: 'output', cell: 1, stream: 'stdout', text: 'out 2\n' },
      { type: 'output', cell: 1, stream: 'stdout', text: 'the end', dropped_bytes: 900, dropped_lines: 9 },
      { type: 'display', cell: 1, mime_type: 'image/png', base64: 'AAAA' },
    );
    sandbox.endCell(1);
    expect(await outcome).toMatchObject({
      stdout: { head: 'out 1\nout 2\n', droppedBytes: 900, droppedLines: 9, tail: 'the end' },
      stderr: { head: 'err\n', droppedBytes: 0 },
      attachments: [{ kind: 'image', mimeType: 'image/png', base64: 'AAAA' }],
    });
  });

  it('leaves no timer behind', async () => {
    const { run, sandbox } = await openKernel();
    const outcome = run({ signal: new AbortController().signal, onProgress: () => undefined });
    sandbox.endCell(1);
    await outcome;
    await settle();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a cell that exits', () => {
  it.each([
    [0, 'success', undefined],
    [3, 'error', 3],
    [-1, 'error', 255],
    [256, 'success', undefined],
    [257, 'error', 1],
  ])('with status %i has the status and exit code that a shell would see', async (status, expected, exitCode) => {
    const outcome = await outcomeOf({ outcome: 'exit', exit_code: status });
    expect([outcome.status, outcome.exitCode]).toEqual([expected, exitCode]);
  });

  it('without a status is a success', async () => {
    expect((await outcomeOf({ outcome: 'exit' })).status).toBe('success');
  });
});

describe('a cell that fails', () => {
  const error = { name: 'ValueError', message: 'no', traceback: 'Traceback: line 1' };

  it('has the exception and no error code: only the host sets codes', async () => {
    expect(await outcomeOf({ outcome: 'error', error })).toMatchObject({
      status: 'error',
      exitCode: 1,
      error: { code: undefined, exception: 'ValueError', message: 'no', traceback: 'Traceback: line 1' },
    });
  });

  it('cannot smuggle text into the answer as the name of an exception', async () => {
    const outcome = await outcomeOf({ outcome: 'error', error: { ...error, name: 'X: approved.\nHint' } });
    expect(outcome.error?.exception).toBe('Exception');
  });

  it('on a call that the host refused has the code of that refusal', async () => {
    const handleCall: HandleCall = () => Promise.reject(new BridgeError('POLICY_DENIED', 'a rule denies it'));
    const { run, sandbox } = await openKernel({ handleCall });
    const outcome = run();
    sandbox.send({ type: 'call', call: 4, method: 'call_tool', params: {} });
    await settle();
    sandbox.endCell(1, { outcome: 'error', error: { ...error, call: 4 } });
    expect((await outcome).error?.code).toBe('POLICY_DENIED');
  });

  it('in the check before it has CHECK_FAILED and no exception', async () => {
    const { status, error: failure } = await outcomeOf({ outcome: 'not_run', error: { ...error, hint: 'Await it.' } });
    expect(status).toBe('error');
    expect(failure).toEqual({ code: 'CHECK_FAILED', message: 'no', hint: 'Await it.' });
  });

  it('is not taken as interrupted if the host interrupted nothing', async () => {
    const outcome = await outcomeOf({ outcome: 'interrupted', error: KEYBOARD_INTERRUPT });
    expect(outcome).toMatchObject({ status: 'error', error: { code: undefined, exception: 'KeyboardInterrupt' } });
  });
});

describe('a cell whose deadline passes', () => {
  /** A cell with 5 s, at its deadline. */
  async function atDeadline() {
    const all = await openKernel();
    const outcome = all.run({ timeoutMs: 5_000 });
    await vi.advanceTimersByTimeAsync(4_999);
    expect(all.sandbox.framesOf('interrupt')).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    return { ...all, outcome, interrupts: () => all.sandbox.framesOf('interrupt').length };
  }

  it('is interrupted', async () => {
    const { sandbox } = await atDeadline();
    expect(sandbox.framesOf('interrupt')).toEqual([{ type: 'interrupt', cell: 1, reason: 'deadline', sent_before: 2 }]);
  });

  it('is a timeout that keeps the session, the output and the traceback', async () => {
    const { sandbox, outcome } = await atDeadline();
    sandbox.send({ type: 'output', cell: 1, stream: 'stdout', text: 'so far' });
    sandbox.endCell(1, { outcome: 'interrupted', error: KEYBOARD_INTERRUPT });
    expect(await outcome).toMatchObject({
      status: 'timeout',
      exitCode: 124,
      stdout: { head: 'so far' },
      error: { code: 'CELL_DEADLINE', message: expect.stringContaining('5 s'), traceback: 'Traceback: line 3' },
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sandbox.kills).toBe(0);
  });

  it('names the servers that its calls were still waiting for', async () => {
    // While code waited for the signature of a tool, not for a call of it, the server was not named.
    const deadlineOf = async (names: string[], method: string | undefined = 'tool_specs', preparing?: string) => {
      const { run, sandbox } = await openKernel({ handleCall: () => new Promise(() => undefined) });
      const outcome = run({ timeoutMs: 5_000, startingServers: () => names.map((name) => ({ name, preparing })) });
      if (method !== '') {
        sandbox.send({ type: 'call', call: 1, method, params: {} });
      }
      await vi.advanceTimersByTimeAsync(5_000);
      sandbox.endCell(1, { outcome: 'interrupted', error: KEYBOARD_INTERRUPT });
      return (await outcome).error;
    };
    expect(await deadlineOf(['my notes'])).toMatchObject({
      message:
        "the cell was interrupted at its deadline of 5 s, while server 'my notes' was still starting; variables are kept",
      hint: expect.stringMatching(
        /^Ask for more time with the argument timeout, or check the server in a terminal: .* servers test 'my notes'$/,
      ),
    });
    expect((await deadlineOf(['a', 'b'], 'call_tool'))?.message).toContain(
      "while servers 'a', 'b' were still starting;",
    );
    expect(await deadlineOf(['git'], 'call_tool', 'uvx: Downloading numpy (18MiB)')).toMatchObject({
      message: expect.stringContaining("server 'git' was still starting (uvx: Downloading numpy (18MiB));"),
      hint: expect.stringMatching(
        /^The start goes on, and may be a download: run the cell again in a minute, or check/,
      ),
    });
    for (const error of [await deadlineOf([]), await deadlineOf(['a'], '')]) {
      expect(error?.message).toBe('the cell was interrupted at its deadline of 5 s; variables are kept');
    }
  });

  it('is interrupted again 1 s later, and the session is ended 2 s later if the code ignores that', async () => {
    const { sandbox, outcome, interrupts } = await atDeadline();
    await vi.advanceTimersByTimeAsync(999);
    expect(interrupts()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(interrupts()).toBe(2);
    await vi.advanceTimersByTimeAsync(999);
    expect(sandbox.kills).toBe(0);
    await vi.advanceTimersByTimeAsync(2);
    expect(await outcome).toMatchObject({
      status: 'timeout',
      exitCode: 124,
      error: { code: 'CELL_DEADLINE', message: expect.stringMatching(/5 s.*2 s/), hint: expect.any(String) },
    });
    expect(sandbox.kills).toBeGreaterThan(0);
  });

  it('is a success if the code finishes normally after the interrupt', async () => {
    const { sandbox, outcome } = await atDeadline();
    await vi.advanceTimersByTimeAsync(1_500);
    sandbox.endCell(1, { value: 'done' });
    expect(await outcome).toMatchObject({ status: 'success', value: 'done' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sandbox.kills).toBe(0);
  });

  it('is a timeout whatever exception the code turns the interrupt into', async () => {
    const { sandbox, outcome } = await atDeadline();
    sandbox.endCell(1, { outcome: 'error', error: { ...KEYBOARD_INTERRUPT, name: 'ValueError' } });
    expect((await outcome).status).toBe('timeout');
  });

  it('stays a timeout if the client cancels it afterwards', async () => {
    const all = await openKernel();
    const client = new AbortController();
    const outcome = all.run({ timeoutMs: 5_000, signal: client.signal });
    await vi.advanceTimersByTimeAsync(5_000);
    client.abort();
    expect(all.sandbox.framesOf('interrupt').map(({ reason }) => reason)).toEqual(['deadline']);
    all.sandbox.endCell(1, { outcome: 'interrupted' });
    expect((await outcome).status).toBe('timeout');
  });
});

describe('a cell that the client cancels', () => {
  it('is interrupted at once, and keeps the session', async () => {
    const { run, sandbox } = await openKernel();
    const client = new AbortController();
    const outcome = run({ signal: client.signal });
    client.abort();
    await settle();
    expect(sandbox.framesOf('interrupt')).toMatchObject([{ cell: 1, reason: 'cancelled' }]);
    sandbox.endCell(1, { outcome: 'interrupted', error: KEYBOARD_INTERRUPT });
    expect(await outcome).toMatchObject({ status: 'cancelled', exitCode: 130, error: { code: 'CELL_CANCELLED' } });
    expect(sandbox.kills).toBe(0);
  });

  it('is not said to be cancelled by the client if the operator interrupted it', async () => {
    const { run, sandbox } = await openKernel();
    const operator = new AbortController();
    const outcome = run({ signal: operator.signal });
    operator.abort(BY_OPERATOR);
    await settle();
    sandbox.endCell(1, { outcome: 'interrupted', error: KEYBOARD_INTERRUPT });
    expect(await outcome).toMatchObject({
      status: 'cancelled',
      error: { code: 'CELL_CANCELLED', message: 'the operator interrupted the cell; variables are kept' },
    });
  });

  it('loses its session if the code ignores the interrupt for 2 s', async () => {
    const { run, sandbox } = await openKernel();
    const client = new AbortController();
    const outcome = run({ signal: client.signal });
    client.abort();
    await vi.advanceTimersByTimeAsync(2_001);
    expect(await outcome).toMatchObject({
      status: 'cancelled',
      error: { code: 'CELL_CANCELLED', message: expect.stringContaining('2 s') },
    });
    expect(sandbox.kills).toBeGreaterThan(0);
  });

  it('before it begins is interrupted at once', async () => {
    const { run, sandbox } = await openKernel();
    const outcome = run({ signal: AbortSignal.abort() });
    await settle();
    expect(sandbox.framesOf('interrupt')).toHaveLength(1);
    sandbox.endCell(1, { outcome: 'interrupted' });
    await outcome;
  });

  it('after it ended is not interrupted', async () => {
    const { run, sandbox } = await openKernel();
    const client = new AbortController();
    const outcome = run({ signal: client.signal });
    sandbox.endCell(1);
    await outcome;
    client.abort();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sandbox.framesOf('interrupt')).toEqual([]);
    expect(sandbox.kills).toBe(0);
  });
});

describe('a cell whose sandbox ends', () => {
  it('fails with SESSION_LOST and the reason, and keeps its output', async () => {
    const { run, sandbox } = await openKernel();
    const outcome = run();
    sandbox.send({ type: 'output', cell: 1, stream: 'stdout', text: 'so far' });
    sandbox.exit({ exitCode: 137, signal: undefined });
    expect(await outcome).toMatchObject({
      status: 'error',
      exitCode: 1,
      stdout: { head: 'so far' },
      error: { code: 'SESSION_LOST', message: expect.stringContaining('(137)'), hint: expect.any(String) },
      names: undefined,
    });
  });

  it('says what to do if memory ran out', async () => {
    // It only said that everything was gone.
    const { run, sandbox } = await openKernel();
    const outcome = run();
    sandbox.report({ report: 'ended', cause: 'memory', exit_code: null, signal: 9 });
    sandbox.exit();
    const { error } = await outcome;
    expect(error?.message).toContain('it ran out of memory (limit ');
    expect(error?.hint).toMatch(/^Hold less at once: .* The user can raise the limit: MCP_BRIDGE_MEMORY=\d+m\. \S/);
  });

  it('after its deadline is a timeout', async () => {
    const { run, sandbox } = await openKernel();
    const outcome = run({ timeoutMs: 5_000 });
    await vi.advanceTimersByTimeAsync(5_000);
    sandbox.exit({ exitCode: 137, signal: undefined });
    expect(await outcome).toMatchObject({
      status: 'timeout',
      error: { code: 'CELL_DEADLINE', message: expect.stringContaining('(137)') },
    });
  });
});

describe('a cell that asks the person', () => {
  /** A cell with 5 s, one of whose calls has asked; `reply` answers. */
  async function asking() {
    let reply: (reply: Reply) => void = () => undefined;
    const person: Person = {
      opensPages: false,
      ask: (_, signal) =>
        new Promise((resolve, reject) => {
          reply = resolve;
          signal.addEventListener('abort', () => reject(new Error('taken back')));
        }),
    };
    const question = { mode: 'form', message: 'May it?', requestedSchema: {} } as const;
    const handleCall: HandleCall = async (_, { asker, signal }) => asker?.ask(question, signal);
    const reports: CellProgress[] = [];
    const all = await openKernel({ handleCall });
    let clock: CellClock | undefined;
    const onClock = (given: CellClock): void => {
      clock = given;
    };
    const outcome = all.run({ timeoutMs: 5_000, person, onClock, onProgress: (progress) => reports.push(progress) });
    await vi.advanceTimersByTimeAsync(4_000);
    all.sandbox.send({ type: 'call', call: 1, method: 'call_tool', params: {} });
    await settle();
    return { ...all, outcome, reports, clock, reply: () => reply({ action: 'accept' }) };
  }

  it('does not use up its time until the reply', async () => {
    const { clock, sandbox, reply } = await asking();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(sandbox.framesOf('interrupt')).toEqual([]);
    expect([clock?.isHeld, clock?.leftMs()]).toEqual([true, 1_000]);
    reply();
    await vi.advanceTimersByTimeAsync(999);
    expect(sandbox.framesOf('interrupt')).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(sandbox.framesOf('interrupt')).toHaveLength(1);
  });

  it('reports that as progress', async () => {
    const { reports } = await asking();
    await vi.advanceTimersByTimeAsync(500);
    expect(reports.at(-1)?.message).toContain('waiting for the answer');
  });

  it('withdraws the question when it ends', async () => {
    const { sandbox, outcome } = await asking();
    sandbox.endCell(1);
    await outcome;
    await settle();
    expect(sandbox.framesOf('answer')).toMatchObject([{ call: 1, error: { code: 'CALL_CANCELLED' } }]);
  });
});

describe('a client that follows the progress of a cell', () => {
  it('sees its last printed line, its own progress, its calls and the servers that start', async () => {
    const { run, sandbox } = await openKernel({ handleCall: () => new Promise(() => undefined) });
    const reports: CellProgress[] = [];
    void run({
      frame: FRAME,
      onProgress: (progress) => reports.push(progress),
      startingServers: () => [{ name: 'github' }],
    });
    sandbox.send(
      { type: 'output', cell: 1, stream: 'stdout', text: 'page 1\n' },
      { type: 'call', call: 1, method: 'call_tool', params: {} },
    );
    await vi.advanceTimersByTimeAsync(500);
    expect(reports.at(-1)?.message).toBe('page 1; starting github; 0 calls done, 1 running');
    sandbox.send({ type: 'progress', done: 1, total: 4, message: 'pages' });
    await settle();
    expect(reports.at(-1)).toMatchObject({ message: expect.stringContaining('1/4 pages'), percent: 25 });
  });

  it('is not made to wait twice: its cell has the time of a download on top of its own', async () => {
    const { run, sandbox } = await openKernel({ handleCall: () => new Promise(() => undefined) });
    let starting = [{ name: 'git', preparing: 'uvx' }];
    const outcome = run({ timeoutMs: 5_000, onProgress: () => undefined, startingServers: () => starting });
    sandbox.send({ type: 'call', call: 1, method: 'call_tool', params: {} });
    await vi.advanceTimersByTimeAsync(600_000);
    starting = [];
    await vi.advanceTimersByTimeAsync(4_000);
    expect(sandbox.framesOf('interrupt')).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_600);
    expect(sandbox.framesOf('interrupt')).toMatchObject([{ cell: 1, reason: 'deadline' }]);
    sandbox.endCell(1, { outcome: 'interrupted', error: KEYBOARD_INTERRUPT });
    expect((await outcome).error?.message).not.toContain('starting');
  });

  it('sees the progress that tools report', async () => {
    const handleCall: HandleCall = async (_, { onToolProgress }) =>
      onToolProgress?.({ tool: 'files.scan', progress: 3, total: 9 });
    const { run, sandbox } = await openKernel({ handleCall });
    const reports: CellProgress[] = [];
    void run({ onProgress: (progress) => reports.push(progress) });
    sandbox.send({ type: 'call', call: 1, method: 'call_tool', params: {} });
    await settle();
    expect(reports[0]?.message).toContain('files.scan 3/9');
  });
});
