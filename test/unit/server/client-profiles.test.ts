/**
 * What clients of each kind, and the models behind them, get of a long cell: the real server over a transport in memory, the real table of
 * patience, and hours that pass on a virtual clock. Only the sandbox is replaced.
 */
import { setImmediate } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport, type JSONRPCMessage } from '@modelcontextprotocol/server';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type CellAnswer, type CellRequest, NO_OUTPUT } from '../../../src/core/base/cell.ts';
import { Countdown } from '../../../src/core/base/countdown.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { type Bridge, LazyBridge } from '../../../src/core/session/lazy-bridge.ts';
import { createOutputBuffer } from '../../../src/core/session/output.ts';
import { patienceOf } from '../../../src/edges/clients/patience.ts';
import type { ResourceProvider } from '../../../src/front/server/resources.ts';
import { serveClient } from '../../../src/front/server/server.ts';
import { TASK_AFTER_MS } from '../../../src/front/server/tasks.ts';

const ERAS = ['2025-11-25', '2026-07-28'] as const;
type Era = (typeof ERAS)[number];

const DURATIONS_S = [5, 30, 59, 61, 300, 600, 2_700, 7_200];
const LINE_EVERY_S = 7;
const VALUE = "'the value'";
const LONG = '# timeout: 3h\nlong()';
const WAIT = '# wait';
/** The answer to other code. */
const NOTHING = 'Success (no output)';
const DAY_S = 24 * 3_600;
/** The next answer repeats 2,000 characters. The lines of shorter cells, and of those that are cancelled, have fewer. */
const CUT_FROM_S = 7_200;

interface Profile {
  readonly title: string;
  /** The name that the client gives. */
  readonly name: string;
  /** When it gives up; after a day by default. */
  readonly limitS?: number;
  /** Whether it asks for progress, which restarts its clock. */
  readonly isRestarted?: true;
  /** When the model has control again although its call goes on. */
  readonly yieldsAfterS?: number;
  readonly hasTasks?: true;
  /** When the person cancels what waits for a cell of so many seconds. */
  readonly cancelsAtS?: (seconds: number) => number;
  /** Turns of the model for a cell of so many seconds; 1 by default. */
  readonly turns?: (seconds: number) => number;
  /** The rest of a cell that takes longer is in the next answer that the model asks for; by default, never. */
  readonly restAfterS?: number;
}

/** A client that is not known has an answer within 45 s. */
const oneWait = (seconds: number): number => (seconds < 45 ? 1 : 2);
const half = (seconds: number): number => seconds / 2;

const UNKNOWN = { name: 'someone', limitS: 60, turns: oneWait, restAfterS: 90 } as const;

const PROFILES: readonly Profile[] = [
  { title: 'gives up at 60 s', ...UNKNOWN },
  // The SDK for Python waits until the end, unless the program that uses it has set a limit.
  { title: 'gives up sooner than its name says', name: 'mcp', limitS: 60, restAfterS: 60 },
  { title: 'gives up at 60 s without progress', name: 'opencode', limitS: 60, isRestarted: true },
  { title: 'yields at 10 s', name: 'claude-code', limitS: 300, isRestarted: true, yieldsAfterS: 10 },
  { title: 'yields at 10 s and gives up at 60 s', ...UNKNOWN, yieldsAfterS: 10 },
  { title: 'has tasks', name: 'someone', hasTasks: true },
  { title: 'cancels in the middle', name: 'Visual Studio Code', cancelsAtS: half },
  { title: 'cancels # wait', ...UNKNOWN, cancelsAtS: () => 60 },
  // Within 90 s, because an hour of polls takes half a second.
  { title: 'cancels its task', name: 'someone', hasTasks: true, cancelsAtS: (seconds) => Math.min(half(seconds), 90) },
];

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(ERAS)('a client of %s', (era) => {
  const cases = PROFILES.flatMap((profile) => DURATIONS_S.map((seconds) => ({ ...profile, seconds })));

  it.each(cases)('that $title has all of a cell of $seconds s, once', async ({ seconds, ...profile }) => {
    const bridge = fakeBridge(seconds);
    const agent = await connect(profile, era, bridge.made);
    const cancelsAtS = profile.cancelsAtS?.(seconds);
    const isCancelled = cancelsAtS !== undefined && cancelsAtS < seconds;
    if (cancelsAtS !== undefined) {
      void after(cancelsAtS).then(() => agent.cancel());
    }
    const { seen, turns } = await converse(agent, profile);
    await vi.advanceTimersByTimeAsync((seconds + DAY_S) * 1_000);
    const next = await runClock(agent.call('next'));
    seen.push(next);

    const { begun, kept, long } = bridge;
    expect(turns).toBe(profile.turns?.(seconds) ?? 1);
    expect(begun.filter((code) => code === LONG)).toHaveLength(1);
    expect(long).toMatchObject({ isOver: true, isInterrupted: isCancelled });
    const isLate = isCancelled || seconds > (profile.restAfterS ?? DAY_S);
    expect(next !== NOTHING).toBe(isLate);
    const text = seen.join('\n');
    expect(linesIn(text)).toEqual(Array.from({ length: long.lines }, (_, index) => index + 1));
    expect(text.includes('omitted')).toBe(isLate && !isCancelled && seconds >= CUT_FROM_S);
    expect(text.split(VALUE)).toHaveLength(isCancelled ? 1 : 2);
    expect(text.includes('status cancelled')).toBe(isCancelled);
    expect(await runClock(agent.call(WAIT))).toBe(`${NOTHING}\nnotices:\nNo earlier cell of this session is running.`);
    expect([...kept.values()].flat()).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    await agent.close();
  });
});

/** The model starts a long cell and does what the answers say. */
async function converse(agent: Agent, { yieldsAfterS }: Profile) {
  const seen: string[] = [];
  let turns = 0;
  for (let code: string | undefined = LONG; code !== undefined && turns < 10; turns += 1) {
    const call = agent.call(code);
    if (yieldsAfterS !== undefined) {
      const ended = await runClock(Promise.race([call, after(yieldsAfterS)]));
      if (ended === undefined) {
        // The model has control, and works in another session.
        expect(await agent.call('other()', 'other')).toBe(NOTHING);
      }
    }
    const text = await runClock(call);
    seen.push(text);
    code = text.includes('To wait for it, run the code `# wait`') ? WAIT : undefined;
  }
  return { seen, turns };
}

/** The numbers of the lines that the answers show. For those left out, an answer must say how many, and where they are. */
function linesIn(text: string): number[] {
  const lines: number[] = [];
  for (const line of text.split('\n')) {
    const leftOut = /^\[[\d,]+ bytes \((\d+) lines\) omitted here; runtime\.output\(1\) has all of it\.\]$/.exec(line);
    if (/^\d+$/.test(line)) {
      lines.push(Number(line));
    } else if (leftOut !== null) {
      const first = (lines.at(-1) ?? 0) + 1;
      lines.push(...Array.from({ length: Number(leftOut[1]) }, (_, index) => first + index));
    }
  }
  return lines;
}

/** Sandboxes in which only the long cell does anything. */
function fakeBridge(seconds: number) {
  const long = { lines: 0, isInterrupted: false, isOver: false };
  const begun: string[] = [];
  /** What a later bridge would repeat, by session. */
  const kept = new Map<string, readonly string[]>();
  const runCell = async (request: CellRequest): Promise<CellAnswer> => {
    begun.push(request.code);
    return request.code === LONG ? runLong(request, seconds, long) : answerTo(request);
  };
  const keepAnswers = async (session: string, texts: readonly string[]) => void kept.set(session, texts);
  return { long, begun, kept, made: { runCell, keepAnswers } as unknown as Bridge };
}

function answerTo({ servers, session, timeoutMs }: CellRequest, given: Partial<CellAnswer> = {}): CellAnswer {
  const common = { servers, session, timeoutSeconds: timeoutMs / 1_000, notices: [] };
  return { status: 'success', stdout: NO_OUTPUT, stderr: NO_OUTPUT, ...common, ...given };
}

/** Prints the number of each line, the first one at once, and ends with the value. */
function runLong(request: CellRequest, seconds: number, long: ReturnType<typeof fakeBridge>['long']) {
  const printed = createOutputBuffer();
  const print = (): void => {
    long.lines += 1;
    printed.add(`${long.lines}\n`);
    request.onOutput?.('stdout', `${long.lines}\n`, 0);
  };
  request.onProgress?.({ message: 'running the code', isRunning: true });
  request.onClock?.(new Countdown(request.timeoutMs));
  print();
  const beat = setInterval(print, LINE_EVERY_S * 1_000);
  return new Promise<CellAnswer>((resolve) => {
    const end = (given: Partial<CellAnswer>): void => {
      clearInterval(beat);
      whole.stop();
      long.isOver = true;
      resolve(answerTo(request, { cell: 1, stdout: printed.take(), ...given }));
    };
    const whole = new Countdown(seconds * 1_000, () => end({ value: VALUE }));
    request.signal?.addEventListener('abort', () => {
      long.isInterrupted = true;
      end({ status: 'cancelled', error: { code: 'CELL_CANCELLED', message: 'the client cancelled the cell' } });
    });
  });
}

interface Agent {
  /** What the model reads; of a call that fails, the error of its client. */
  call(code: string, session?: string): Promise<string>;
  /** The person cancels the call that came last. */
  cancel(): void;
  close(): Promise<void>;
}

/** Calls `run_python`. */
type CallTool = (given: Record<string, unknown>, signal: AbortSignal) => Promise<unknown>;

async function connect(profile: Profile, era: Era, made: Bridge): Promise<Agent> {
  const [transport, serverTransport] = InMemoryTransport.createLinkedPair();
  const bridge = new LazyBridge(async () => made);
  const limits = { maxOutputChars: 40_000, defaultTimeoutSeconds: 30, maxTimeoutSeconds: DAY_S };
  const common = {
    version: '1',
    outputMode: 'compact',
    resources: {} as ResourceProvider,
    logger: silentLogger,
  } as const;
  const server = serveClient(serverTransport, {
    bridge,
    ...limits,
    ...common,
    patienceOf: (...client) => patienceOf('auto', ...client),
  });
  const callTool = await (profile.hasTasks ? connectWithTasks : connectWithSdk)(transport, profile, era);
  let person = new AbortController();
  return {
    async call(code, session = 'default') {
      person = new AbortController();
      const result = await callTool({ code, session }, person.signal).catch((error: unknown) => error);
      return result instanceof Error ? result.message : textOf(result);
    },
    cancel: () => person.abort(),
    close: () => server.close(),
  };
}

const textOf = (result: unknown): string =>
  (result as { content?: readonly { text: string }[] } | undefined)?.content?.[0]?.text ?? '';

async function connectWithSdk(
  transport: InMemoryTransport,
  { name, ...profile }: Profile,
  era: Era,
): Promise<CallTool> {
  const client = new Client(
    { name, version: '1' },
    era === '2026-07-28' ? { versionNegotiation: { mode: { pin: era } } } : {},
  );
  await client.connect(transport);
  const progress = profile.isRestarted && { onprogress: () => undefined, resetTimeoutOnProgress: true };
  const timeout = (profile.limitS ?? DAY_S) * 1_000;
  return (given, signal) => client.callTool({ name: 'run_python', arguments: given }, { signal, timeout, ...progress });
}

/** The SDK's client has no tasks. This one polls as often as the server suggests, and the model waits for nothing. */
async function connectWithTasks(transport: InMemoryTransport, { name }: Profile, era: Era): Promise<CallTool> {
  const request = await openRaw(transport, name, era);
  const isModern = era === '2026-07-28';
  return async (given, signal) => {
    const call = { name: 'run_python', arguments: given };
    const sentAt = performance.now();
    const created = await request('tools/call', isModern ? call : { ...call, task: {} }, signal);
    expect(performance.now() - sentAt).toBeLessThanOrEqual(TASK_AFTER_MS);
    let task = isModern ? created : created['task'];
    const { taskId } = task;
    if (taskId === undefined) {
      return task;
    }
    signal.addEventListener('abort', () => void request('tasks/cancel', { taskId }));
    while (task.status === 'working') {
      await after((task.pollIntervalMs ?? task.pollInterval) / 1_000);
      task = await request('tasks/get', { taskId });
    }
    return isModern || task.status !== 'completed' ? task.result : request('tasks/result', { taskId });
  };
}

/** Tests read only the parts they need. */
// oxlint-disable-next-line typescript/no-explicit-any
type Fields = Record<string, any>;

/** Connects, and returns what sends a request and resolves with its result or error. */
async function openRaw(transport: InMemoryTransport, name: string, era: Era) {
  const waiting: ((message: Fields) => void)[] = [];
  transport.onmessage = (message: Fields) => waiting[message['id']]?.(message);
  await transport.start();
  const clientInfo = { name, version: '1' };
  const meta = {
    'io.modelcontextprotocol/protocolVersion': era,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  };
  const send = (message: object) => transport.send({ jsonrpc: '2.0', ...message } as JSONRPCMessage);
  const request = (method: string, params: object, signal?: AbortSignal) =>
    new Promise<Fields>((resolve) => {
      const onAbort = (): void => {
        void send({ method: 'notifications/cancelled', params: { requestId: id } });
        resolve({});
      };
      const onAnswer = ({ error, result }: Fields): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve(result ?? error);
      };
      const id = waiting.push(onAnswer) - 1;
      signal?.addEventListener('abort', onAbort);
      void send({ id, method, params: era === '2026-07-28' ? { ...params, _meta: meta } : params });
    });
  if (era === '2025-11-25') {
    await request('initialize', { protocolVersion: era, capabilities: { tasks: {} }, clientInfo });
    await send({ method: 'notifications/initialized' });
  }
  return request;
}

const after = (seconds: number) =>
  new Promise<undefined>((resolve) => void new Countdown(seconds * 1_000, () => resolve(undefined)));

/** Lets time pass until there is a value. */
async function runClock<Value>(promise: Promise<Value>): Promise<Value> {
  let isOver = false;
  void promise.finally(() => {
    isOver = true;
  });
  for (await setImmediate(); !isOver; await setImmediate()) {
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    vi.advanceTimersToNextTimer();
  }
  return promise;
}
