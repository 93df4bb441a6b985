/** Cells that outlive the patience of their client. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type CellAnswer, type CellRequest, NO_OUTPUT, type Person, type Reply } from '../../../src/core/base/cell.ts';
import { Countdown } from '../../../src/core/base/countdown.ts';
import { createDeferred } from '../../../src/core/base/deferred.ts';
import { LongCells } from '../../../src/front/server/cell-answers.ts';
import { Undelivered } from '../../../src/front/server/undelivered.ts';

const PATIENCE_MS = 50_000;
const QUESTION = { mode: 'form', message: 'May it?', requestedSchema: { type: 'object', properties: {} } } as const;
const ACCEPT: Reply = { action: 'accept', content: {} };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp(begins = true) {
  const long = new LongCells(new Undelivered());
  /** The cells that have begun, with what ends them. */
  const cells: { readonly request: CellRequest; end(given?: Partial<CellAnswer>): void }[] = [];
  const run = (request: CellRequest): Promise<CellAnswer> => {
    const answer = createDeferred<CellAnswer>();
    request.onProgress?.({ message: 'starting the sandbox' });
    if (begins) {
      request.onClock?.(new Countdown(request.timeoutMs));
    }
    cells.push({ request, end: (given) => answer.resolve({ ...empty(request), status: 'success', ...given }) });
    return answer.promise;
  };
  const send = (code: string, given: Partial<CellRequest> = {}, patienceMs: number | undefined = PATIENCE_MS) =>
    long.answer({ code, servers: [], session: 'default', timeoutMs: 7_200_000, ...given }, patienceMs, run);
  return { cells, send };
}

function empty({ session, timeoutMs }: CellRequest) {
  return { stdout: NO_OUTPUT, stderr: NO_OUTPUT, servers: [], session, timeoutSeconds: timeoutMs / 1000, notices: [] };
}

const textOf = (head: string) => ({ ...NO_OUTPUT, head });
const print = (request: CellRequest | undefined, text: string) => request?.onOutput?.('stdout', text, 0);

it('a cell that ends in time has its answer', async () => {
  const { cells, send } = setUp();
  const answer = send('x');
  await vi.advanceTimersByTimeAsync(49_000);
  cells[0]?.end({ value: '1', stdout: textOf('a\n') });
  expect(await answer).toMatchObject({ status: 'success', value: '1', stdout: { head: 'a\n' }, notices: [] });
});

// Whatever began at once reported to no one.
it('the request has the progress of its cell from the first', async () => {
  const { cells, send } = setUp();
  const messages: string[] = [];
  const answer = send('x', { onProgress: ({ message }) => void messages.push(message) });
  cells[0]?.end();
  await answer;
  expect(messages).toEqual(['starting the sandbox']);
});

it('a longer one goes on, and # wait returns what is new with the end', async () => {
  const { cells, send } = setUp();
  const first = send('x');
  print(cells[0]?.request, 'a\n');
  await vi.advanceTimersByTimeAsync(PATIENCE_MS);
  expect(await first).toMatchObject({
    status: 'running',
    stdout: { head: 'a\n' },
    notices: [
      'The cell goes on, for at most 7150 s more. To wait for it, run the code `# wait`; to end it, `# stop`. Other sessions are free.',
    ],
  });
  const second = send('# wait');
  print(cells[0]?.request, 'b\n');
  cells[0]?.end({ value: '1', stdout: textOf('a\nb\n') });
  expect(await second).toMatchObject({ status: 'success', value: '1', stdout: { head: 'b\n' }, notices: [] });
  expect(cells).toHaveLength(1);
});

it('however long a cell runs, no more than one wait is asked for, and the next answer of its session has the rest', async () => {
  const { cells, send } = setUp();
  const first = send('x', { session: 'work' });
  await vi.advanceTimersByTimeAsync(PATIENCE_MS);
  expect((await first).notices[0]).toContain("run the code `# wait` in session 'work'");
  const second = send('# wait', { session: 'work' });
  await vi.advanceTimersByTimeAsync(PATIENCE_MS);
  expect((await second).notices[0]).toContain('Rather than wait again');
  await vi.advanceTimersByTimeAsync(7_000_000);
  cells[0]?.end({ cell: 3, value: '42' });
  const other = send('y', { session: 'other' });
  cells[1]?.end();
  expect((await other).notices).toEqual([]);
  const next = send('y', { session: 'work' });
  cells[2]?.end({ value: '2' });
  expect(await next).toMatchObject({
    value: '2',
    notices: ['Cell 3 ended with status success; its call was answered before:\n42'],
  });
});

it('an end while no one waits is the answer to # wait, whole', async () => {
  const { cells, send } = setUp();
  const first = send('x');
  await vi.advanceTimersByTimeAsync(PATIENCE_MS);
  await first;
  cells[0]?.end({ value: 'v'.repeat(10_000) });
  await vi.advanceTimersByTimeAsync(1);
  expect(await send('# wait')).toMatchObject({ status: 'success', value: 'v'.repeat(10_000) });
});

// An earlier bridge had left something to say, and the answer was that there is nothing.
it('# wait is a cell if there is nothing to wait for', async () => {
  const { cells, send } = setUp();
  const waited = send(' # wait \n');
  cells[0]?.end({ notices: ['From an earlier bridge: x'] });
  expect(await waited).toMatchObject({
    notices: ['No earlier cell of this session is running.', 'From an earlier bridge: x'],
  });
});

// `# stop` ended the cell that waited, and the long one ran on.
it('# wait and # stop are about the oldest cell of the session, whoever waits for it', async () => {
  const { cells, send } = setUp();
  const first = send('x');
  const second = send('y', { onProgress: () => undefined });
  await vi.advanceTimersByTimeAsync(PATIENCE_MS);
  await Promise.all([first, second]);
  const waited = send('# wait');
  await vi.advanceTimersByTimeAsync(PATIENCE_MS);
  await waited;
  const other = send('# wait please');
  const stopped = send('# stop');
  expect(await other).toMatchObject({ status: 'running' });
  expect(cells.map(({ request }) => request.signal?.aborted)).toEqual([true, false]);
  cells[0]?.end({ status: 'cancelled' });
  expect(await stopped).toMatchObject({ status: 'cancelled' });
});

it('code behind a long cell says what it waits for', async () => {
  const { send } = setUp(false);
  const first = send('x');
  const second = send('y');
  await vi.advanceTimersByTimeAsync(PATIENCE_MS);
  expect((await first).notices[0]).toContain('its sandbox is still starting');
  expect((await second).notices[0]).toContain('an earlier cell of this session still runs; it begins after that');
});

it('# stop interrupts it, and returns its end', async () => {
  const { cells, send } = setUp();
  const first = send('x');
  await vi.advanceTimersByTimeAsync(PATIENCE_MS);
  await first;
  const stopped = send('# stop');
  expect(cells[0]?.request.signal?.aborted).toBe(true);
  cells[0]?.end({ status: 'cancelled' });
  expect(await stopped).toMatchObject({ status: 'cancelled' });
});

it('a cancel of the request that waits interrupts the cell; its time limit does not', async () => {
  const { cells, send } = setUp();
  const [user, limit] = [new AbortController(), new AbortController()];
  const late = send('x', { signal: limit.signal }, undefined);
  print(cells[0]?.request, 'a\n');
  limit.abort('McpError: MCP error -32001: Request timed out');
  await late;
  expect(cells[0]?.request.signal?.aborted).toBe(false);
  const waiting = send('# wait', { signal: user.signal });
  user.abort('the user pressed Escape');
  expect(cells[0]?.request.signal).toMatchObject({ aborted: true, reason: 'the user pressed Escape' });
  cells[0]?.end({ status: 'cancelled', stdout: textOf('a\n') });
  expect(await waiting).toMatchObject({ status: 'cancelled', stdout: { head: 'a\n' } });
});

// What the cell had printed was lost, and so was every earlier answer that this one would have repeated.
it('an answer whose request was cancelled is repeated by the next one, with what it would have repeated', async () => {
  const { cells, send } = setUp();
  const before = send('x');
  await vi.advanceTimersByTimeAsync(PATIENCE_MS);
  await before;
  print(cells[0]?.request, 'earlier\n');
  cells[0]?.end({ cell: 1 });
  const user = new AbortController();
  const cancelled = send('y', { signal: user.signal });
  const queued = send('never begun', { signal: user.signal });
  user.abort('the user pressed Escape');
  cells[2]?.end({ status: 'error' });
  await queued;
  cells[1]?.end({ cell: 2, status: 'cancelled', stdout: textOf('printed\n'), notices: ['State was lost.'] });
  await cancelled;
  const next = send('z');
  cells[3]?.end();
  expect((await next).notices).toEqual([
    'Cell 1 ended with status success; its call was answered before:\nearlier',
    'Cell 2 ended with status cancelled; its call was cancelled:\nstatus: cancelled\nprinted',
  ]);
});

it('time in which a person is asked does not count, and a question without a request waits for the next one', async () => {
  const { cells, send } = setUp();
  const replies = [createDeferred<Reply>(), createDeferred<Reply>()];
  let asked = 0;
  const person: Person = {
    opensPages: false,
    ask: () => {
      asked += 1;
      return replies[asked - 1]?.promise ?? Promise.resolve(ACCEPT);
    },
  };
  const first = send('x', { person });
  const ask = () => cells[0]?.request.person?.ask(QUESTION, new AbortController().signal);
  const one = ask();
  await vi.advanceTimersByTimeAsync(10 * PATIENCE_MS);
  replies[0]?.resolve(ACCEPT);
  expect(await one).toEqual(ACCEPT);
  await vi.advanceTimersByTimeAsync(PATIENCE_MS);
  expect(await first).toMatchObject({ status: 'running' });
  const two = ask();
  expect(asked).toBe(1);
  const second = send('# wait', { person });
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toBe(2);
  replies[1]?.resolve(ACCEPT);
  expect(await two).toEqual(ACCEPT);
  cells[0]?.end();
  expect(await second).toMatchObject({ status: 'success' });
});

it('no more than 16 go on alone; requests of further ones wait for the end', async () => {
  const { cells, send } = setUp();
  const answers = Array.from({ length: 17 }, (_, number) => send('x', { session: `s${number}` }));
  await vi.advanceTimersByTimeAsync(2 * PATIENCE_MS);
  cells.forEach(({ end }) => end());
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 'running')).toHaveLength(16);
  expect(statuses[16]).toBe('success');
});

const DURATIONS_S = [5, 49, 61, 600, 7_200];
const PROFILES = [
  ['gives up at 60 s', 50_000],
  ['waits as long as there is progress', undefined],
  ['yields at 10 s', 9_000],
  ['gives up at 60 s and says so', undefined],
] as const;

// An agent does what answers say: it waits once, then goes on, and comes back when the person wants the result.
it.each(PROFILES.flatMap(([title, patienceMs]) => DURATIONS_S.map((seconds) => [title, seconds, patienceMs] as const)))(
  'with a client that %s, a cell of %i s takes at most two turns, runs once, and nothing of it is lost',
  async (title, seconds, patienceMs) => {
    const { cells, send } = setUp();
    const seen: string[] = [];
    let turns = 0;
    let isRunning = true;
    const turn = async (code: string): Promise<void> => {
      const limit = new AbortController();
      const answer = send(code, { signal: limit.signal }, patienceMs);
      if (turns === 0) {
        begin(cells[0], seconds);
      }
      turns += 1;
      if (title.endsWith('says so')) {
        // oxlint-disable-next-line eslint/no-restricted-globals -- on the virtual clock.
        setTimeout(() => limit.abort('Request timed out'), 60_000);
      }
      const { notices, status, stdout } = await runClock(answer);
      if (!limit.signal.aborted) {
        seen.push(stdout.head, ...notices);
        isRunning = status === 'running';
      }
    };
    await turn('x');
    if (isRunning) {
      await turn('# wait');
    }
    expect(turns).toBeLessThanOrEqual(2);
    if (isRunning) {
      await vi.advanceTimersByTimeAsync(seconds * 1_000);
      const later = send('y');
      cells[1]?.end();
      seen.push(...(await later).notices);
    }
    expect(cells.filter(({ request }) => request.code === 'x')).toHaveLength(1);
    const text = seen.join('\n');
    expect(text.match(/first/g)).toHaveLength(1);
    expect(text.match(/last/g)).toHaveLength(1);
  },
);

type Cell = ReturnType<typeof setUp>['cells'][number];

/** A cell that prints when it begins and when it ends. */
function begin(cell: Cell | undefined, seconds: number): void {
  print(cell?.request, 'first\n');
  // oxlint-disable-next-line eslint/no-restricted-globals -- on the virtual clock.
  setTimeout(() => {
    print(cell?.request, 'last\n');
    cell?.end({ stdout: textOf('first\nlast\n') });
  }, seconds * 1_000);
}

async function runClock<Value>(promise: Promise<Value>): Promise<Value> {
  let isOver = false;
  void promise.finally(() => {
    isOver = true;
  });
  for (let second = 0; second < 8_000 && !isOver; second += 1) {
    await vi.advanceTimersByTimeAsync(1_000);
  }
  return promise;
}
