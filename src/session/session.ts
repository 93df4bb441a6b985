/**
 * One named session: its cells run one after the other in one kernel, which is started when first needed and again after
 * a loss. State is never lost silently: the first answer after a loss says why it happened and which names are gone.
 */

import { unlessAborted } from '../base/cancel.ts';
import type { CellAnswer, CellRequest, EngineReport } from '../base/cell.ts';
import { BridgeError } from '../base/errors.ts';
import { MAX_REPORTED_NAMES, START_GRACE_MS, START_TIMEOUT_MS } from '../base/limits.ts';
import type { ServerReference } from '../protocol/frames.ts';
import type { KernelConnection } from './connection.ts';
import { standInNotice } from './engine-report.ts';
import { type Kernel, type KernelOptions, startKernel } from './kernel.ts';
import type { RecordedCell, SessionRecorder } from './recorder.ts';
import { type CellOutcome, isPythonName, runCell } from './run-cell.ts';

/** What a session needs besides its own name and state. */
export interface SessionOptions
  extends Omit<
    KernelOptions,
    | 'session'
    | 'generation'
    | 'loaded'
    | 'load'
    | 'onReset'
    | 'onProgress'
    | 'onSandbox'
    | 'signal'
    | 'hello'
    | 'startTimeoutMs'
  > {
  readonly capabilitySummary: string;
  /** Whether `handleCall` may load servers that no cell asked for; the `hello` frame says so. */
  readonly autoload: boolean;
  readonly idleTimeoutMs: number;
  /** How long a question to the person waits for its reply. */
  readonly questionTimeoutMs: number;
  /** Every configured server as of now. Called for each cell, so it must be cheap. */
  readonly discoverServers: () => Promise<readonly ServerReference[]>;
  /** Names of the servers that are starting now. */
  readonly startingServers: () => readonly string[];
  readonly savedTools: () => Promise<readonly { readonly name: string; readonly source: string }[]>;
  readonly recorder?: SessionRecorder | undefined;
  /** Called when a sandbox of the session has ended. Must not throw. */
  readonly onSandboxEnd?: ((session: string) => void) | undefined;
}

type Names = NonNullable<CellOutcome['names']>;

/** A lost kernel, kept until an answer has reported it. */
interface Loss {
  readonly reason: string;
  readonly names: Names | undefined;
}

export class Session {
  readonly name: string;
  readonly #options: SessionOptions;
  readonly #loaded = new Set<string>();
  /** Those that code has loaded since the last answer. */
  #loadedByCode: string[] = [];
  /** Saved functions that no answer has named since the sandbox got them. */
  #defined: readonly string[] = [];
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #cells = 0;
  #generation = 0;
  #kernel: Kernel | undefined;
  /** Continues for the next cell if the one that began it is cancelled. */
  #starting: Promise<Kernel> | undefined;
  /** Of the cell that waits for the start. */
  #onStartProgress: CellRequest['onProgress'];
  /** Every sandbox that is not gone yet: starting, in use or ending. */
  readonly #sandboxes = new Set<KernelConnection>();
  readonly #closing = new AbortController();
  #names: Names | undefined;
  #loss: Loss | undefined;
  #reportedEngine: string | undefined;
  #sentDiscovered = '';
  #isResetPending = false;
  #idleTimer: NodeJS.Timeout | undefined;
  #lastUsed = 0;

  constructor(name: string, options: SessionOptions) {
    this.name = name;
    this.#options = options;
  }

  /** Whether a cell runs or waits, or a sandbox starts. */
  get isBusy(): boolean {
    return this.#waiting > 0 || this.#starting !== undefined;
  }

  get isLive(): boolean {
    return this.#kernel !== undefined;
  }

  /** When the last cell ended, in ms of `performance.now()`. */
  get lastUsed(): number {
    return this.#lastUsed;
  }

  /**
   * Runs a cell after the cells that came before it. Rejects if no kernel can be started, and with `CELL_CANCELLED` if the
   * cell is cancelled or the session ended before the cell begins.
   */
  run(request: CellRequest): Promise<CellAnswer> {
    clearTimeout(this.#idleTimer);
    this.#waiting += 1;
    const answer = this.#queue.then(() => this.#runNow(request));
    this.#queue = answer.catch(() => undefined).then(() => this.#rest());
    return answer;
  }

  /** Ends the session for good: no further cell begins, and no sandbox remains, not even one that is starting. */
  async end(reason: string): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#closing.abort();
    await Promise.all([this.#killAll(reason), this.#starting?.catch(() => undefined)]);
    // The engine may have started one meanwhile.
    await this.#killAll(reason);
  }

  /**
   * Ends the kernel of a session that is not busy. The loss is noted before the kernel ends, so a cell that arrives
   * meanwhile gets a new kernel.
   */
  async endIdle(reason: string): Promise<void> {
    clearTimeout(this.#idleTimer);
    const kernel = this.#kernel;
    if (kernel !== undefined) {
      this.#noteEnd(kernel, reason);
      await kernel.connection.kill(reason);
    }
  }

  async #runNow(request: CellRequest): Promise<CellAnswer> {
    await request.untilRoom?.();
    this.#throwIfOver(request);
    request.servers.forEach((server) => this.#loaded.add(server));
    const kernel = this.#kernel ?? (await this.#awaitStart(request));
    this.#throwIfOver(request);
    this.#cells += 1;
    const run = { session: this.name, generation: this.#generation, cell: this.#cells };
    await this.#options.recorder?.cellStarted(run, request, [...this.#loaded]);
    const engine = this.#takeEngineReport(kernel);
    const loss = this.#loss;
    const notices = [...this.#takeLossNotice(), ...standInNotices(engine)];
    const { names, ...outcome } = await this.#runRecorded(kernel, run, request);
    this.#names = names ?? this.#names;
    const servers = [...this.#loaded].toSorted();
    if (this.#isResetPending) {
      this.#reset();
    }
    const isSeen = outcome.status !== 'cancelled';
    if (!isSeen) {
      this.#reportAgain(loss);
    }
    return {
      ...outcome,
      cell: run.cell,
      servers,
      session: this.name,
      timeoutSeconds: request.timeoutMs / 1000,
      notices: [...notices, ...(isSeen ? [...this.#takeDefinedNotice(), ...this.#takeLoadedNotice()] : [])],
      engine,
    };
  }

  async #runRecorded(kernel: Kernel, run: RecordedCell, request: CellRequest): Promise<CellOutcome> {
    const start = performance.now();
    const { logger } = this.#options;
    logger.debug(`session ${run.session}: cell ${run.cell} begins in ${kernel.connection.sandbox.id}`);
    const outcome = await runCell(kernel.connection, {
      frame: { cell: run.cell, code: request.code, ...(await this.#serversForFrame()) },
      timeoutMs: request.timeoutMs,
      signal: request.signal,
      onProgress: request.onProgress,
      person: request.person,
      questionTimeoutMs: this.#options.questionTimeoutMs,
      startingServers: () => this.#options.startingServers().filter((name) => this.#loaded.has(name)),
    });
    const durationMs = performance.now() - start;
    logger.debug(
      `session ${run.session}: cell ${run.cell} ended after ${Math.round(durationMs)} ms: ${outcome.status}`,
    );
    this.#options.recorder?.cellEnded(run, outcome, durationMs);
    return outcome;
  }

  /** Starts a kernel, or joins a start whose cell was cancelled. */
  async #awaitStart(request: CellRequest): Promise<Kernel> {
    const { onProgress, signal } = request;
    onProgress?.({ message: 'starting the sandbox' });
    this.#onStartProgress = onProgress;
    this.#starting ??= this.#start(request.timeoutMs).finally(() => {
      this.#starting = undefined;
    });
    try {
      const kernel = await unlessAborted(unlessAborted(this.#starting, signal), this.#closing.signal);
      // Otherwise code that prints nothing looks like a sandbox that does not start.
      onProgress?.({ message: 'running the code', isRunning: true });
      return kernel;
    } catch (error) {
      this.#throwIfOver(request);
      throw error;
    } finally {
      this.#onStartProgress = undefined;
    }
  }

  async #start(timeoutMs: number): Promise<Kernel> {
    this.#generation += 1;
    this.#isResetPending = false;
    this.#sentDiscovered = '';
    const { signal } = this.#closing;
    const { capabilitySummary, autoload, savedTools, recorder, onSandboxEnd, ...options } = this.#options;
    const run = { session: this.name, generation: this.#generation };
    const saved = await unlessAborted(savedTools(), signal);
    this.#defined = saved.map(({ name }) => name);
    const kernel = await startKernel({
      ...options,
      ...run,
      startTimeoutMs: Math.min(START_TIMEOUT_MS, timeoutMs + START_GRACE_MS),
      hello: {
        capability_summary: capabilitySummary,
        saved_tools: [...saved],
        ...(autoload ? { autoload } : {}),
      },
      loaded: this.#loaded,
      load: (server) => this.#load(server),
      onReset: () => {
        this.#isResetPending = true;
      },
      onProgress: (progress) => this.#onStartProgress?.(progress),
      onSandbox: (connection) => this.#keep(connection),
      signal,
    });
    this.#kernel = kernel;
    const where = `${kernel.connection.sandbox.id} on ${kernel.engine.name}`;
    options.logger.debug(`session ${this.name}: sandbox ${where} is ready`);
    recorder?.sessionStarted(run, kernel.engine);
    void kernel.connection.ended.then(({ reason }) => {
      options.logger.debug(`session ${this.name}: sandbox ${where} ended, because ${reason}`);
      recorder?.sessionEnded(run, reason);
      onSandboxEnd?.(this.name);
      this.#noteEnd(kernel, reason);
    });
    this.#startIdleTimer();
    return kernel;
  }

  #keep(connection: KernelConnection): void {
    this.#sandboxes.add(connection);
    void connection.gone.then(() => this.#sandboxes.delete(connection));
    if (this.#closing.signal.aborted) {
      void connection.kill('the session was ended');
    }
  }

  async #killAll(reason: string): Promise<void> {
    await Promise.all([...this.#sandboxes].map((connection) => connection.kill(reason)));
  }

  /** Throws if the session has ended or the cell was cancelled. */
  #throwIfOver(request: CellRequest): void {
    if (this.#closing.signal.aborted) {
      throw shuttingDown();
    }
    throwIfCancelled(request);
  }

  #load(server: string): void {
    if (!this.#loaded.has(server)) {
      this.#loaded.add(server);
      this.#loadedByCode.push(server);
    }
  }

  /** No client reads the answer of a cancelled cell, so the next answer repeats its notices. */
  #reportAgain(loss: Loss | undefined): void {
    this.#loss ??= loss;
    this.#reportedEngine = undefined;
  }

  /** Names the servers that whoever approved the cell did not see. */
  #takeLoadedNotice(): string[] {
    const names = this.#loadedByCode;
    this.#loadedByCode = [];
    return names.length === 0 ? [] : [`Servers loaded by the code: ${names.join(', ')}.`];
  }

  /** Names functions from earlier sessions, because code of this one may call them unseen. */
  #takeDefinedNotice(): string[] {
    const names = this.#defined;
    this.#defined = [];
    const more = names.length > MAX_REPORTED_NAMES ? ` and ${names.length - MAX_REPORTED_NAMES} more` : '';
    return names.length === 0 ? [] : [`Functions saved by earlier sessions: ${reportable(names)}${more}.`];
  }

  #noteEnd(kernel: Kernel, reason: string): void {
    if (this.#kernel !== kernel) {
      return;
    }
    this.#kernel = undefined;
    this.#loss = { reason, names: this.#names };
    this.#names = undefined;
  }

  /** Forgets the kernel at once, without waiting for its end. */
  #reset(): void {
    const kernel = this.#kernel;
    this.#isResetPending = false;
    this.#kernel = undefined;
    this.#names = undefined;
    this.#loss = undefined;
    this.#loaded.clear();
    void kernel?.connection.kill('runtime.reset() was called');
  }

  /** The loaded servers, and the configured ones if they changed since the kernel last got them. */
  async #serversForFrame() {
    const discovered = [...(await this.#options.discoverServers())];
    const servers = discovered.filter(({ name }) => this.#loaded.has(name)).map(({ name, alias }) => ({ name, alias }));
    const text = JSON.stringify(discovered);
    if (text === this.#sentDiscovered) {
      return { servers };
    }
    this.#sentDiscovered = text;
    return { servers, discovered };
  }

  /** Undefined if an answer has reported the same engine already. */
  #takeEngineReport({ engine }: Kernel): EngineReport | undefined {
    const text = JSON.stringify(engine);
    if (text === this.#reportedEngine) {
      return undefined;
    }
    this.#reportedEngine = text;
    return engine;
  }

  #takeLossNotice(): string[] {
    const loss = this.#loss;
    this.#loss = undefined;
    return loss === undefined ? [] : [describeLoss(loss)];
  }

  /** Called after each cell. */
  #rest(): void {
    this.#waiting -= 1;
    this.#lastUsed = performance.now();
    this.#startIdleTimer();
  }

  /** Does nothing if a cell runs or waits. */
  #startIdleTimer(): void {
    if (this.#waiting === 0 && this.#kernel !== undefined) {
      const { idleTimeoutMs } = this.#options;
      const reason = `it was idle for ${idleTimeoutMs / 1000} s (MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT)`;
      this.#idleTimer = setTimeout(() => void this.endIdle(reason), idleTimeoutMs).unref();
    }
  }
}

/** The answer to cells that have not begun when the bridge ends. */
export function shuttingDown(): BridgeError {
  return new BridgeError('CELL_CANCELLED', 'the bridge is shutting down');
}

function standInNotices(engine: EngineReport | undefined): string[] {
  const notice = engine && standInNotice(engine);
  return notice === undefined ? [] : [notice];
}

function throwIfCancelled({ signal }: CellRequest): void {
  if (signal?.aborted === true) {
    throw new BridgeError('CELL_CANCELLED', 'the client cancelled the cell before it began');
  }
}

/** Names from the sandbox that may appear in a sentence of ours: only identifiers, few and short. */
function reportable(names: readonly string[]): string {
  return names.filter(isPythonName).slice(0, MAX_REPORTED_NAMES).join(', ');
}

function describeLoss({ reason, names }: Loss): string {
  const parts = (['variables', 'functions', 'imports'] as const)
    .map((kind) => ({ kind, list: reportable(names?.[kind] ?? []) }))
    .filter(({ list }) => list !== '')
    .map(({ kind, list }) => `${kind} ${list}`);
  if (names !== undefined && names.omitted > 0) {
    parts.push(`${names.omitted} more`);
  }
  const gone = parts.length === 0 ? 'variables, files and background jobs, if there were any' : parts.join('; ');
  return `State was lost: the earlier sandbox of this session ended because ${reason}. Gone: ${gone}.`;
}
