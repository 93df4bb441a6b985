/**
 * Calls from one sandbox: which may run, how many at once, and how each is answered. `handleCall` does what a call asks.
 * The sandbox is not trusted: reused numbers, calls between cells and floods are refused here, and what one sandbox asks for must
 * not keep the others waiting.
 */
import { type CancelSignal, CancelSource } from '../base/cancel.ts';
import type { Attachment } from '../base/cell.ts';
import { BridgeError, type ErrorCode, toBridgeError } from '../base/errors.ts';
import { collectSoonAfter } from '../base/garbage.ts';
import { MAX_CALLS_PER_CELL } from '../base/limits.ts';
import { stringifyExact, withoutMarker } from '../protocol/exact-json.ts';
import type { CallFrame, CallMethod, FrameError } from '../protocol/frames.ts';
import { ResultBytes } from '../protocol/result-bytes.ts';
import type { Asker } from './asker.ts';
import { type CallProgress, type CallProgressReporter, createCallProgressReporter } from './call-progress.ts';
import { CallQueue, type QueuedCall } from './call-queue.ts';
import type { CallCounts, CallWatch, ToolProgress } from './cell-progress.ts';
import { pauseAfter } from './fair-share.ts';
import { Jobs } from './jobs.ts';
import type { Outbox } from './outbox.ts';

export interface CallContext {
  readonly session: string;
  /** Which sandbox of the session. */
  readonly generation: number;
  /** Number of the cell in which the call arrived; 0 for a call of a job. */
  readonly cell: number;
  /** Number of the call in its sandbox: the host gives it, and later calls have higher ones. */
  readonly call: number;
  /** Names of the servers that code of this session may call. */
  readonly loaded: ReadonlySet<string>;
  /** Loads a server; the answer of the cell names it. Does nothing if it is loaded. */
  readonly load?: ((server: string) => void) | undefined;
  /** Aborted when the call is cancelled, alone or with its cell. */
  readonly signal: CancelSignal;
  /** Name of the calling job; undefined if the cell itself calls. */
  readonly job?: string | undefined;
  /** Number of the step that calls; undefined outside steps. */
  readonly step?: number | undefined;
  /** A number for a call that this one makes. */
  readonly nextNumber?: (() => number) | undefined;
  /** Whether what the call has started may make no calls of its own any more: its cell or its job has ended. */
  readonly isOver?: ((call: Pick<CallContext, 'cell' | 'job'>) => boolean) | undefined;
  /** Asks the person; undefined if the client cannot, and for a call of a job. */
  readonly asker?: Asker | undefined;
  /** An object that lives as long as the sandbox: use it as a key for what must be forgotten with the state of the session. */
  readonly sandbox?: object | undefined;
  /** The interpreter of the sandbox and its platform, such as `cpython-314 linux x86_64`, as it said before any code ran in it. */
  readonly python?: string | undefined;
  /** Attaches something to the answer; ignored if no cell runs. */
  readonly attach?: ((attachment: Attachment) => void) | undefined;
  /** Reports progress to the sandbox. May be called at any rate. */
  readonly onProgress?: ((progress: CallProgress) => void) | undefined;
  /** Whether a large result of a tool may come as `ResultBytes`. */
  readonly takesBytes?: boolean | undefined;
  /** Reports progress to the client. May be called at any rate. Undefined if the client does not ask for it, and for a call of a job. */
  readonly onToolProgress?: ((progress: ToolProgress) => void) | undefined;
}

/** Does what a call asks. Resolves with any JSON value; rejects with a `BridgeError`. */
export type HandleCall = (
  call: { readonly method: string; readonly params: Readonly<Record<string, unknown>> },
  context: CallContext,
) => Promise<unknown>;

/**
 * Does something of the host as a call of the cell that runs, or else of a job. Rejects with `CALL_REFUSED` if there is neither,
 * and as `action` does.
 */
export type RunForEgress = <Result>(action: (context: CallContext) => Promise<Result>) => Promise<Result>;

type ContextOfCall = Pick<CallContext, 'asker' | 'cell' | 'signal' | 'onProgress' | 'onToolProgress'>;

interface Running {
  /** The cell in which the call began. */
  readonly cell: number;
  readonly controller: CancelSource;
  /** Made for the first report: most calls report nothing. */
  progress: CallProgressReporter | undefined;
}

export interface DispatcherOptions {
  readonly session: string;
  readonly generation: number;
  readonly loaded: ReadonlySet<string>;
  readonly load: (server: string) => void;
  readonly handleCall: HandleCall;
  /** Answers what code asks of the session itself. Rejects with a `BridgeError`. */
  readonly onStateCall?: ((method: StateMethod, params: Readonly<Record<string, unknown>>) => unknown) | undefined;
  readonly attach?: ((attachment: Attachment) => void) | undefined;
}

/** Calls about the state of the session. */
const STATE_METHODS = ['reset', 'checkpoint', 'restore', 'checkpoints'] as const satisfies CallMethod[];
export type StateMethod = (typeof STATE_METHODS)[number];

function isStateMethod(method: string): method is StateMethod {
  return (STATE_METHODS as readonly string[]).includes(method);
}

/** Calls that the kernel's check makes before a cell runs (`bridge_kernel/check.py`). Code makes all others. */
const CALLS_OF_CHECK: ReadonlySet<string> = new Set<CallMethod>([
  'tool_specs',
  'list_tools',
  'install_packages',
  'read_wheel',
]);

/** Calls that the kernel itself makes while it restores a session. Objects that are restored call nothing. */
const CALLS_OF_RESTORE: ReadonlySet<string> = new Set<CallMethod>(['read_wheel']);

/** The longest message of an error: it may repeat what the sandbox sent. Chosen: no line of it is longer than others. */
const MAX_ERROR_CHARS = 100_000;

const CALL_START = /^\{"type":"call","call":(\d{1,16}),/;

export class Dispatcher {
  /** Of the sandbox; set once, when it is ready. */
  python: string | undefined;
  readonly #options: DispatcherOptions;
  readonly #outbox: Outbox;
  readonly #running = new Map<number, Running>();
  readonly #queue = new CallQueue();
  readonly #jobs = new Jobs();
  /** 0 while no cell runs. */
  #cell = 0;
  #asker: Asker | undefined;
  #watch: CallWatch | undefined;
  /** Whether the cell restores the session, and has no code of its own. */
  #isRestoring = false;
  #callsOfCell = 0;
  /** Calls of this cell that failed, with their codes. Texts are not kept: every call may fail. */
  readonly #refused = new Map<number, ErrorCode>();
  #hasCodeCalled = false;
  #toolCallsRunning = 0;
  #toolCallsDone = 0;
  /** Whether a call for which the host works has just started; the next one starts when the other sessions had their turn. */
  #isYielding = false;
  #isClosed = false;
  #lastNumber = 0;
  /** The number in the frame only leads to the answer: code chooses it, and can use one again. */
  readonly #nextNumber = (): number => {
    this.#lastNumber += 1;
    return this.#lastNumber;
  };
  readonly #isAllowed = ({ job }: CallFrame): boolean => this.#cell !== 0 || job !== undefined;
  /** One for all calls: a closure of each would add to what a call costs. */
  readonly #isOver = ({ cell, job }: Pick<CallContext, 'cell' | 'job'>): boolean =>
    this.#isClosed || (job === undefined ? cell !== this.#cell : !this.#jobs.isRunning(job));

  constructor(options: DispatcherOptions, outbox: Outbox) {
    this.#options = options;
    this.#outbox = outbox;
  }

  /** Begins a cell: calls are allowed until `endCell`. */
  beginCell(cell: number, asker: Asker | undefined, watch?: CallWatch, isRestoring = false): void {
    this.#cell = cell;
    this.#isRestoring = isRestoring;
    this.#asker = asker;
    this.#watch = watch;
    this.#callsOfCell = 0;
    this.#refused.clear();
    this.#hasCodeCalled = false;
    this.#toolCallsDone = 0;
    this.#startWaiting();
  }

  /** Tool calls of the running cell; calls that earlier cells left behind count as running. */
  counts(): CallCounts {
    const waiting = [...this.#queue.waiting()].filter(({ frame }) => isToolCall(frame)).length;
    return { done: this.#toolCallsDone, running: this.#toolCallsRunning + waiting };
  }

  isCalling(): boolean {
    return this.#running.size > 0;
  }

  /** See `CallsOfCell`. */
  codeOfRefused(call: number): ErrorCode | undefined {
    return this.#refused.get(call);
  }

  /** See `CallsOfCell`. */
  get hasCodeCalled(): boolean {
    return this.#hasCodeCalled;
  }

  /** Ends the cell. With `cancel`, the calls that began in it are cancelled at their servers. */
  endCell(cancel: boolean): void {
    const ended = this.#cell;
    this.#cell = 0;
    this.#isRestoring = false;
    this.#asker = undefined;
    this.#watch = undefined;
    if (!cancel) {
      return;
    }
    const waiting = [...this.#queue.waiting()].filter(({ cell }) => cell === ended);
    for (const { frame } of waiting) {
      const { call } = frame;
      this.#queue.remove(call);
      this.#refuse(call, new BridgeError('CALL_CANCELLED', 'the cell that made this call was ended'), ended);
    }
    for (const { cell, controller } of this.#running.values()) {
      if (cell === ended) {
        controller.abort();
      }
    }
  }

  /** The sandbox has read answers: waiting calls may start. */
  noteRoom(): void {
    this.#startWaiting();
  }

  /**
   * Takes a call, with about the memory it needs; its answer goes to the outbox, now or later. Returns false if its number is in
   * use: the answer would reach the other call.
   */
  receive(frame: CallFrame, bytes: number): boolean {
    if (this.#isInUse(frame.call)) {
      return false;
    }
    this.#hasCodeCalled ||= frame.job === undefined && !CALLS_OF_CHECK.has(frame.method);
    const reason = this.#reasonToRefuse(frame, bytes);
    const cell = frame.job === undefined ? this.#cell : 0;
    if (reason !== undefined) {
      this.#refuse(frame.call, reason, cell);
    } else {
      this.#queue.add({ frame, bytes, cell });
      this.#startWaiting();
    }
    return true;
  }

  /** Answers a call that is too large to be read; `start` is the start of its line, as the kernel writes it. */
  refuseUnread(start: string, reason: string): void {
    const call = Number(CALL_START.exec(start)?.[1]);
    if (Number.isSafeInteger(call) && !this.#isInUse(call)) {
      this.#refuse(
        call,
        new BridgeError('LIMIT_FRAME', `the call was not read: its line is ${reason}`, {
          hint: 'Send less at once, or send one string, for example from json.dumps.',
        }),
        this.#cell,
      );
    }
  }

  /** See `RunForEgress`. Counts as a call of a tool. */
  async runForEgress<Result>(action: (context: CallContext) => Promise<Result>): Promise<Result> {
    const cell = this.#cell;
    const job = cell === 0 ? this.#jobs.first() : undefined;
    const reason = this.#isClosed
      ? new BridgeError('CALL_REFUSED', 'the sandbox has ended')
      : this.#reasonToRefuse({ method: 'egress', job }, 0);
    if (reason !== undefined) {
      throw reason;
    }
    this.#hasCodeCalled ||= job === undefined;
    const number = this.#nextNumber();
    const controller = new CancelSource();
    // Numbers of the sandbox are never negative.
    this.#running.set(-number, { cell, controller, progress: undefined });
    this.#toolCallsRunning += 1;
    try {
      return await action(this.#contextOf({ job }, { cell, signal: controller, asker: this.#asker }, number));
    } finally {
      this.#running.delete(-number);
      this.#toolCallsRunning -= 1;
      this.#toolCallsDone += 1;
    }
  }

  /** Cancels a call that the sandbox gave up. */
  cancel(call: number): void {
    this.#queue.remove(call);
    this.#running.get(call)?.controller.abort();
  }

  /** Ends a job; its running calls continue. */
  endJob(name: string): void {
    this.#jobs.end(name);
  }

  /** Cancels everything and answers nothing from now on. */
  close(): void {
    this.#isClosed = true;
    this.#queue.clear();
    for (const { controller } of this.#running.values()) {
      controller.abort();
    }
  }

  #isInUse(call: number): boolean {
    return this.#running.has(call) || this.#queue.isWaiting(call);
  }

  async #run(queued: QueuedCall): Promise<void> {
    const { cell, frame } = queued;
    const { call } = frame;
    // The cell that runs by now may be another one: what it shows and asks is about its own calls.
    const isOfRunning = cell !== 0 && cell === this.#cell;
    const weight = isToolCall(frame) ? 1 : 0;
    this.#toolCallsRunning += weight;
    const controller = new CancelSource();
    const running: Running = { cell, controller, progress: undefined };
    this.#running.set(call, running);
    const onProgress = (report: CallProgress): void => {
      running.progress ??= createCallProgressReporter((due) => this.#sendProgress(call, due));
      running.progress.report(report);
    };
    const watch = isOfRunning ? this.#watch : undefined;
    const asker = isOfRunning ? this.#asker : undefined;
    const onToolProgress = watch && ((report: ToolProgress): void => watch.noteCall(call, report));
    try {
      const value = await this.#handle(frame, { cell, signal: controller, asker, onProgress, onToolProgress });
      endProgress(call, running, watch);
      this.#answer(call, value);
    } catch (error) {
      endProgress(call, running, watch);
      this.#refuse(call, toBridgeError(error), cell);
    } finally {
      this.#running.delete(call);
      this.#queue.end(queued);
      this.#toolCallsRunning -= weight;
      this.#toolCallsDone += weight;
      this.#startWaiting();
    }
  }

  #handle(frame: CallFrame, ofCall: ContextOfCall): unknown {
    const { method, params } = frame;
    if (method === 'start_job') {
      return this.#jobs.start(params['name']);
    }
    if (isStateMethod(method)) {
      return this.#options.onStateCall?.(method, params);
    }
    return this.#options.handleCall(frame, this.#contextOf(frame, ofCall, this.#nextNumber()));
  }

  #contextOf({ job, step }: Pick<CallFrame, 'job' | 'step'>, ofCall: ContextOfCall, call: number): CallContext {
    const { session, generation, loaded, load, attach } = this.#options;
    const { asker, cell, signal, onProgress, onToolProgress } = ofCall;
    // Written out: spreading costs 3 KB for each call (measured), and one gather makes 1,000 calls at once.
    return {
      session,
      generation,
      cell,
      call,
      nextNumber: this.#nextNumber,
      loaded,
      load,
      signal,
      job,
      step,
      isOver: this.#isOver,
      asker,
      sandbox: this,
      python: this.python,
      attach,
      takesBytes: true,
      onProgress,
      onToolProgress,
    };
  }

  #sendProgress(call: number, report: CallProgress): void {
    if (!this.#isClosed) {
      this.#outbox.send({ type: 'call_progress', call, ...report });
    }
  }

  #answer(call: number, value: unknown): void {
    if (this.#isClosed) {
      return;
    }
    let sent: string | readonly Buffer[];
    if (value instanceof ResultBytes) {
      sent = value.pieces;
    } else {
      sent = stringifyExact(value ?? null);
      collectSoonAfter(sent.length);
    }
    if (!this.#outbox.sendValue(call, sent)) {
      throw new BridgeError('LIMIT_RESULT', 'too many results wait for the code in the sandbox to read them', {
        hint: 'Await fewer large results at once.',
      });
    }
  }

  /** `cell` is the cell in which the call began; 0 for a call of a job. */
  #refuse(call: number, error: BridgeError, cell: number): void {
    if (cell !== 0 && cell === this.#cell && this.#refused.size < MAX_CALLS_PER_CELL) {
      this.#refused.set(call, error.code);
    }
    if (!this.#isClosed) {
      this.#outbox.send({ type: 'answer', call, ok: false, error: toFrameError(error) });
    }
  }

  /** Starts waiting calls. Between cells only calls of jobs start. While the sandbox does not read its answers, none does. */
  #startWaiting(): void {
    while (!this.#isClosed && !this.#outbox.isBehind) {
      const call = this.#queue.next('servers', this.#isAllowed) ?? this.#nextForHost();
      if (call === undefined) {
        return;
      }
      void this.#run(call);
    }
  }

  /** One call at a turn: each may keep the host busy for as long as the largest request takes. */
  #nextForHost(): QueuedCall | undefined {
    const call = this.#isYielding ? undefined : this.#queue.next('host', this.#isAllowed);
    if (call !== undefined) {
      this.#isYielding = true;
      pauseAfter(performance.now(), () => {
        this.#isYielding = false;
        this.#startWaiting();
      });
    }
    return call;
  }

  /** For calls of a cell, which alone may start a job. */
  #reasonToRefuseCell(): BridgeError | undefined {
    if (this.#cell === 0) {
      return new BridgeError('CALL_REFUSED', 'calls are possible only while a cell runs');
    }
    this.#callsOfCell += 1;
    if (this.#callsOfCell > MAX_CALLS_PER_CELL) {
      return new BridgeError(
        'LIMIT_CALLS',
        `one cell may make at most ${MAX_CALLS_PER_CELL.toLocaleString('en-US')} calls`,
        {
          hint: 'Split the work over several cells.',
        },
      );
    }
    return undefined;
  }

  #reasonToRefuse({ job, method }: Pick<CallFrame, 'job' | 'method'>, bytes: number): BridgeError | undefined {
    if (this.#isRestoring && !CALLS_OF_RESTORE.has(method)) {
      return new BridgeError('CALL_REFUSED', `${method} was called while the session was being restored`, {
        hint: 'Call servers in a cell, not while objects are unpickled.',
      });
    }
    const isAllowed = job !== undefined && method !== 'start_job';
    const reason = isAllowed ? this.#jobs.reasonToRefuse(job) : this.#reasonToRefuseCell();
    if (reason !== undefined) {
      return reason;
    }
    const full = this.#queue.whyFull(bytes);
    return full === undefined
      ? undefined
      : new BridgeError('LIMIT_CALLS', full, { hint: 'Await results before starting further calls.' });
  }
}

function endProgress(call: number, { progress }: Running, watch: CallWatch | undefined): void {
  progress?.end();
  watch?.endCall(call);
}

function isToolCall({ method }: CallFrame): boolean {
  return method === 'call_tool';
}

function toFrameError(error: BridgeError): FrameError {
  const { code, data } = error;
  const message = withoutMarker(error.message);
  const hint = error.hint === undefined ? undefined : withoutMarker(error.hint);
  return {
    code,
    message: message.length > MAX_ERROR_CHARS ? `${message.slice(0, MAX_ERROR_CHARS).toWellFormed()}…` : message,
    ...(hint === undefined ? {} : { hint }),
    ...(Object.keys(data).length === 0 ? {} : { data: { ...data } }),
  };
}
