/**
 * One named session: its cells run one after the other in one kernel, which is started when first needed and again
 * after it was lost. State is never lost silently: the first answer after a loss says why, and which names are gone.
 */

import type { CellAnswer, CellRequest, EngineReport } from '../base/cell.ts';
import { BridgeError } from '../base/errors.ts';
import { MAX_REPORTED_NAMES, START_GRACE_MS, START_TIMEOUT_MS } from '../base/limits.ts';
import type { ServerReference } from '../protocol/frames.ts';
import { standInNotice } from './engine-report.ts';
import { type Kernel, type KernelOptions, startKernel } from './kernel.ts';
import { isPythonName } from './python-name.ts';
import type { RecordedCell, SessionRecorder } from './recorder.ts';
import { type CellOutcome, runInKernel } from './run-cell.ts';

/** What a session needs besides its own name and state. */
export interface SessionOptions
  extends Omit<
    KernelOptions,
    'session' | 'generation' | 'loaded' | 'load' | 'onProgress' | 'hello' | 'startTimeoutMs'
  > {
  readonly capabilitySummary: string;
  /** Whether `handleCall` may load servers that no cell asked for; the sandbox is told. */
  readonly autoload: boolean;
  readonly idleTimeoutMs: number;
  /** How long a question to the person waits for its reply. */
  readonly questionTimeoutMs: number;
  /** Every configured server as of now; called for each cell, so it must be cheap. */
  readonly discoverServers: () => Promise<readonly ServerReference[]>;
  /** Names of the servers that are being started now. */
  readonly startingServers: () => readonly string[];
  readonly savedTools: () => Promise<readonly { readonly name: string; readonly source: string }[]>;
  /** Told of everything that runs. */
  readonly recorder?: SessionRecorder | undefined;
}

type Names = NonNullable<CellOutcome['names']>;

/** A kernel that is gone, until an answer has told of it. */
interface Loss {
  readonly reason: string;
  readonly names: Names | undefined;
}

export class Session {
  readonly name: string;
  readonly #options: SessionOptions;
  readonly #loaded = new Set<string>();
  /** Of these, the ones that code has loaded since the last answer. */
  #loadedByCode: string[] = [];
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #cells = 0;
  #generation = 0;
  #kernel: Kernel | undefined;
  #starting: Promise<Kernel> | undefined;
  /** The end of a kernel that was given up: by a reset, or because nothing used it. */
  #ending: Promise<void> | undefined;
  #names: Names | undefined;
  #loss: Loss | undefined;
  #toldOfEngine: string | undefined;
  #sentDiscovered = '';
  #resetWanted = false;
  #idleTimer: NodeJS.Timeout | undefined;
  #lastUsed = 0;

  constructor(name: string, options: SessionOptions) {
    this.name = name;
    this.#options = options;
  }

  /** Whether a cell runs or waits. */
  get isBusy(): boolean {
    return this.#waiting > 0;
  }

  get isLive(): boolean {
    return this.#kernel !== undefined;
  }

  /** When the last cell ended, in ms of `performance.now()`. */
  get lastUsed(): number {
    return this.#lastUsed;
  }

  /** Runs a cell after those that came before it. Rejects when no kernel can be started. */
  run(request: CellRequest): Promise<CellAnswer> {
    clearTimeout(this.#idleTimer);
    this.#waiting += 1;
    const answer = this.#queue.then(() => this.#runNow(request));
    this.#queue = answer.catch(() => undefined).then(() => this.#rest());
    return answer;
  }

  /** Ends the kernel, one that is just starting too. What was in it is reported with the next answer. */
  async end(reason: string): Promise<void> {
    clearTimeout(this.#idleTimer);
    const starting = await this.#starting?.catch(() => undefined);
    await Promise.all([starting?.kill(reason), this.#kernel?.kill(reason), this.#ending]);
  }

  /**
   * Ends the kernel of a session that is not busy. The record of the loss is made before the kernel ends, so that a cell
   * that comes meanwhile gets a new kernel.
   */
  async endIdle(reason: string): Promise<void> {
    clearTimeout(this.#idleTimer);
    const kernel = this.#kernel;
    if (kernel !== undefined) {
      this.#noteEnd(kernel, reason);
      this.#ending = kernel.kill(reason);
      await this.#ending;
    }
  }

  async #runNow(request: CellRequest): Promise<CellAnswer> {
    await request.untilRoom?.();
    throwIfCancelled(request);
    request.servers.forEach((server) => this.#loaded.add(server));
    const kernel = this.#kernel ?? (await this.#start(request));
    throwIfCancelled(request);
    this.#cells += 1;
    const run = { session: this.name, generation: this.#generation, cell: this.#cells };
    await this.#options.recorder?.cellStarted(run, request, [...this.#loaded]);
    const engine = this.#takeEngineReport(kernel);
    const loss = this.#loss;
    const notices = [...this.#takeLossNotice(), ...standInNotices(engine)];
    const { names, ...outcome } = await this.#runRecorded(kernel, run, request);
    this.#names = names ?? this.#names;
    const servers = [...this.#loaded].toSorted();
    if (this.#resetWanted) {
      this.#reset();
    }
    const isSeen = outcome.status !== 'cancelled';
    if (!isSeen) {
      this.#tellAgain(loss);
    }
    return {
      ...outcome,
      cell: run.cell,
      servers,
      session: this.name,
      timeoutSeconds: request.timeoutMs / 1000,
      notices: [...notices, ...(isSeen ? this.#takeLoadedNotice() : [])],
      engine,
    };
  }

  async #runRecorded(kernel: Kernel, run: RecordedCell, request: CellRequest): Promise<CellOutcome> {
    const start = performance.now();
    const outcome = await runInKernel(kernel, {
      frame: { cell: run.cell, code: request.code, ...(await this.#serversForFrame()) },
      timeoutMs: request.timeoutMs,
      signal: request.signal,
      onProgress: request.onProgress,
      person: request.person,
      questionTimeoutMs: this.#options.questionTimeoutMs,
      startingServers: () => this.#options.startingServers().filter((name) => this.#loaded.has(name)),
    });
    this.#options.recorder?.cellEnded(run, outcome, performance.now() - start);
    return outcome;
  }

  async #start(request: CellRequest): Promise<Kernel> {
    this.#generation += 1;
    this.#sentDiscovered = '';
    request.onProgress?.({ message: 'starting the sandbox' });
    const { capabilitySummary, autoload, savedTools, recorder, ...options } = this.#options;
    const run = { session: this.name, generation: this.#generation };
    this.#starting = startKernel({
      ...options,
      ...run,
      startTimeoutMs: Math.min(START_TIMEOUT_MS, request.timeoutMs + START_GRACE_MS),
      hello: {
        capability_summary: capabilitySummary,
        saved_tools: [...(await savedTools())],
        ...(autoload ? { autoload } : {}),
      },
      loaded: this.#loaded,
      load: (server) => this.#load(server),
      handleCall: (call, context) => this.#handleCall(call, context),
      onProgress: (progress) => request.onProgress?.(progress),
    });
    const kernel = await this.#starting.finally(() => {
      this.#starting = undefined;
    });
    this.#kernel = kernel;
    recorder?.sessionStarted(run, kernel.engine);
    void kernel.ended.then(({ reason }) => {
      recorder?.sessionEnded(run, reason);
      this.#noteEnd(kernel, reason);
    });
    // Else code that says nothing would seem to be a sandbox that does not start.
    request.onProgress?.({ message: 'running the code', isRunning: true });
    return kernel;
  }

  #load(server: string): void {
    if (!this.#loaded.has(server)) {
      this.#loaded.add(server);
      this.#loadedByCode.push(server);
    }
  }

  /** Nobody gets the answer of a cancelled cell: what it would have told stands in the next one. */
  #tellAgain(loss: Loss | undefined): void {
    this.#loss ??= loss;
    this.#toldOfEngine = undefined;
  }

  /** Whoever approved the cell did not see these names: the answer says them. */
  #takeLoadedNotice(): string[] {
    const names = this.#loadedByCode;
    this.#loadedByCode = [];
    return names.length === 0 ? [] : [`Servers loaded by the code: ${names.join(', ')}.`];
  }

  #handleCall: SessionOptions['handleCall'] = (call, context) => {
    if (call.method !== 'reset') {
      return this.#options.handleCall(call, context);
    }
    this.#resetWanted = true;
    return Promise.resolve('The session starts afresh with the next cell.');
  };

  #noteEnd(kernel: Kernel, reason: string): void {
    if (this.#kernel !== kernel) {
      return;
    }
    this.#kernel = undefined;
    this.#loss = { reason, names: this.#names };
    this.#names = undefined;
  }

  /** Forgets the kernel at once; its end is not waited for. */
  #reset(): void {
    const kernel = this.#kernel;
    this.#resetWanted = false;
    this.#kernel = undefined;
    this.#names = undefined;
    this.#loss = undefined;
    this.#loaded.clear();
    this.#ending = kernel?.kill('runtime.reset() was called');
  }

  /** Loaded servers always; the configured ones when they changed since the kernel was last told. */
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

  /** Once, and again when there is something else to tell. */
  #takeEngineReport({ engine }: Kernel): EngineReport | undefined {
    const text = JSON.stringify(engine);
    if (text === this.#toldOfEngine) {
      return undefined;
    }
    this.#toldOfEngine = text;
    return engine;
  }

  #takeLossNotice(): string[] {
    const loss = this.#loss;
    this.#loss = undefined;
    return loss === undefined ? [] : [describeLoss(loss)];
  }

  /** After each cell: when none waits, the idle clock runs. */
  #rest(): void {
    this.#waiting -= 1;
    this.#lastUsed = performance.now();
    if (this.#waiting === 0 && this.#kernel !== undefined) {
      const { idleTimeoutMs } = this.#options;
      const reason = `it was idle for ${idleTimeoutMs / 1000} s (MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT)`;
      this.#idleTimer = setTimeout(() => void this.endIdle(reason), idleTimeoutMs).unref();
    }
  }
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

/** A list of names from the sandbox as it may stand in our own sentence: identifiers alone, few, and short. */
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
  const gone = parts.length === 0 ? 'files and background tasks, if there were any' : parts.join('; ');
  return `State was lost: the earlier sandbox of this session ended because ${reason}. Gone: ${gone}.`;
}
