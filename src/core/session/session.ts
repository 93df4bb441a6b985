/**
 * One named session: its cells run one after the other in one kernel, which is started when first needed and again after
 * a loss. State is never lost silently: the first answer after a loss says why it happened and which names are gone.
 */

import { unlessAborted } from '../base/cancel.ts';
import type { CellAnswer, CellRequest } from '../base/cell.ts';
import { createDeferred } from '../base/deferred.ts';
import { BridgeError, messageOf } from '../base/errors.ts';
import { INTERRUPT_GRACE_MS, RESTORE_TIMEOUT_MS, START_GRACE_MS, START_TIMEOUT_MS } from '../base/limits.ts';
import { escapeControls } from '../base/log.ts';
import type { ServerReference } from '../protocol/frames.ts';
import type { StartingServer } from './cell-progress.ts';
import type { OpenCell } from './cell-watch.ts';
import type { CheckpointFacts, StoredCheckpoint } from './checkpoint-store.ts';
import type { KernelConnection } from './connection.ts';
import type { StateMethod } from './dispatch.ts';
import type { BegunCell, EmitSessionEvent, SessionRun, TraceStart } from './events.ts';
import { JOB_NAME } from './jobs.ts';
import { Keeper, type KeeperOptions, NOT_RESTORED } from './keeper.ts';
import { type Kernel, type KernelOptions, startKernel } from './kernel.ts';
import { SessionNotices } from './notices.ts';
import { describeNeverSaved, describeNotRestored, describeSaved, STILL_SAVING } from './restored.ts';
import { type CellOutcome, isAwaited, outcomeOfError, runCell } from './run-cell.ts';

/** What a session needs besides its own name and state. */
export interface SessionOptions
  extends Omit<
    KernelOptions,
    | 'session'
    | 'generation'
    | 'loaded'
    | 'load'
    | 'onStateCall'
    | 'onProgress'
    | 'onSandbox'
    | 'signal'
    | 'hello'
    | 'manual'
    | 'startTimeoutMs'
  > {
  /** Called for each start of a sandbox. Never rejects. */
  readonly readManual: () => Promise<KernelOptions['manual']>;
  /** Whether `handleCall` may load servers that no cell asked for; the `hello` frame says so. */
  readonly autoload: boolean;
  readonly idleTimeoutMs: number;
  /** How long a question to the person waits for its reply. */
  readonly questionTimeoutMs: number;
  /** Every configured server as of now. Called for each cell, so it must be cheap. */
  readonly discoverServers: () => readonly ServerReference[];
  /** The servers that are starting now. */
  readonly startingServers: () => readonly StartingServer[];
  readonly savedTools: () => Promise<readonly { readonly name: string; readonly source: string }[]>;
  readonly emit?: EmitSessionEvent | undefined;
  readonly traceStart?: TraceStart | undefined;
  /** Undefined if no checkpoints are taken. */
  readonly checkpoints?: CheckpointOptions | undefined;
  /** Whether a notice about the machine was not said today. Never rejects. By default, each session says it. */
  readonly isDue?: ((notice: string) => Promise<boolean>) | undefined;
  /** Undefined if a sandbox may start now; otherwise resolves when it is time to ask again. */
  readonly untilStart?: (() => Promise<void> | undefined) | undefined;
  /** Called when nothing is left of a sandbox. */
  readonly onSandboxGone?: (() => void) | undefined;
  /** Called when a sandbox of the session has ended. Must not throw. */
  readonly onSandboxEnd?: ((session: string) => void) | undefined;
}

interface CheckpointOptions extends Omit<KeeperOptions, 'lasting' | 'logger' | 'isBusy' | 'names' | 'openCell'> {
  /** The store of sessions that last. Called with the first cell of a session. */
  readonly lasting: () => KeeperOptions['lasting'];
}

type Names = NonNullable<CellOutcome['names']>;

/** A session that has a sandbox, or is about to. */
export interface SessionFacts {
  readonly name: string;
  /** Undefined while its sandbox starts. */
  readonly engine: string | undefined;
  /** Whether a cell runs or waits. */
  readonly isBusy: boolean;
  /** Number of its last cell. */
  readonly cells: number;
  /** Names of the loaded servers, sorted. */
  readonly servers: readonly string[];
  /** Since its sandbox was ready; undefined while it starts. */
  readonly ageMs: number | undefined;
  /** Since its last cell ended; undefined if it is busy. */
  readonly idleMs: number | undefined;
}

/** A session for whoever watches the bridge; one that is only saved, too. */
export interface SessionView {
  readonly name: string;
  readonly state: 'starting' | 'running' | 'idle' | 'hibernated';
  readonly engine: string | undefined;
  /** Which sandbox of the session. */
  readonly generation: number;
  readonly cells: number;
  /** Cells that wait for the running one. */
  readonly waiting: number;
  readonly servers: readonly string[];
  readonly ageMs: number | undefined;
  readonly idleMs: number | undefined;
  /** Top-level names after the last cell, according to the sandbox: at most a hundred of each kind. */
  readonly names: CellOutcome['names'];
  /** What its process used after the last cell, according to the sandbox. */
  readonly memoryBytes: number | undefined;
  /** Its newest checkpoint. */
  readonly saved: CheckpointFacts | undefined;
}

export class Session {
  readonly name: string;
  readonly #options: SessionOptions;
  readonly #loaded = new Set<string>();
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #open: Omit<OpenCell, 'waiting'> | undefined;
  #cells = 0;
  #generation: number;
  #kernel: Kernel | undefined;
  /** When the kernel was ready, in ms of `performance.now()`. */
  #readyAt = 0;
  /** Continues for the next cell if the one that began it is cancelled. */
  #starting: Promise<Kernel> | undefined;
  /** Of the cell that waits for the start. */
  #onStartProgress: CellRequest['onProgress'];
  /** Every sandbox that is not gone yet: starting, in use or ending. */
  readonly #sandboxes = new Set<KernelConnection>();
  /** Whether there will soon be one more. */
  #isStarting = false;
  readonly #closing = new AbortController();
  #names: Names | undefined;
  #memoryBytes: number | undefined;
  #sentDiscovered: readonly ServerReference[] | undefined;
  #isResetPending = false;
  /** What the running cell has asked for. */
  #wanted: { readonly method: 'checkpoint' | 'restore'; readonly name: string | undefined } | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #lastUsed = 0;
  readonly #keeper: Keeper | undefined;
  /** Resolved once the sandbox that starts restores the session. */
  #restoring = createDeferred<void>();
  /** Set while it is saved before its sandbox ends. A cell that arrives takes that back. */
  #ending: symbol | undefined;
  readonly #notices: SessionNotices;

  /** @param generation of its last sandbox, if it had one before. */
  constructor(name: string, options: SessionOptions, generation = 0) {
    this.name = name;
    this.#generation = generation;
    this.#options = options;
    this.#keeper =
      options.checkpoints &&
      new Keeper(name, {
        ...options.checkpoints,
        lasting: options.checkpoints.lasting(),
        logger: options.logger,
        isBusy: () => this.isBusy,
        names: () => userNames(this.#names),
        openCell: () => this.#open && { ...this.#open, waiting: this.#waiting - 1 },
      });
    this.#notices = new SessionNotices(name, this.#keeper, options.isDue);
  }

  /** Whether a cell runs or waits, or a sandbox starts. */
  get isBusy(): boolean {
    return this.#waiting > 0 || this.#starting !== undefined;
  }

  /** Whether it has a sandbox that is not about to be ended. */
  get isLive(): boolean {
    return this.#kernel !== undefined && this.#ending === undefined;
  }

  /** Number of its last sandbox. */
  get generation(): number {
    return this.#generation;
  }

  /** Its sandboxes that are not gone, also those that are being saved or ended. */
  get sandboxes(): number {
    return this.#sandboxes.size + Number(this.#isStarting);
  }

  /** When the last cell ended, in ms of `performance.now()`. */
  get lastUsed(): number {
    return this.#lastUsed;
  }

  /** What it is now; undefined if it has no sandbox and no cell. */
  facts(): SessionFacts | undefined {
    const kernel = this.#kernel;
    const { isBusy } = this;
    if (!isBusy && !this.isLive) {
      return undefined;
    }
    const now = performance.now();
    return {
      name: this.name,
      engine: kernel?.engine.name,
      isBusy,
      cells: this.#cells,
      servers: [...this.#loaded].toSorted(),
      ageMs: kernel === undefined ? undefined : now - this.#readyAt,
      idleMs: isBusy ? undefined : now - this.#lastUsed,
    };
  }

  /** Undefined if it has neither a sandbox nor a cell, and nothing of it is saved. */
  view(): SessionView | undefined {
    const facts = this.facts();
    const saved = this.#keeper?.saved;
    if (facts === undefined && saved === undefined) {
      return undefined;
    }
    const live = facts?.engine === undefined ? 'starting' : facts.isBusy ? 'running' : 'idle';
    return {
      name: this.name,
      state: facts === undefined ? 'hibernated' : live,
      engine: facts?.engine,
      generation: this.#generation,
      cells: this.#cells,
      waiting: Math.max(0, this.#waiting - 1),
      servers: facts?.servers ?? saved?.servers ?? [],
      ageMs: facts?.ageMs,
      idleMs: facts?.idleMs,
      names: this.#names,
      memoryBytes: this.#memoryBytes,
      saved,
    };
  }

  /** Drops its variables and files, saved ones too, and ends a cell that runs. The next cell begins without state. */
  async reset(): Promise<void> {
    await this.#starting?.catch(() => undefined);
    // Only then does it know what an earlier bridge has saved of it.
    await (await this.#openCheckpoint())?.close();
    this.#notices.notRestored(undefined);
    this.#loaded.clear();
    const forgotten = this.#keeper?.forget();
    this.#leave('it was reset');
    await forgotten;
  }

  /**
   * Runs a cell after the cells that came before it. Rejects if no kernel can be started, and with `CELL_CANCELLED` if the
   * cell is cancelled or the session ended before the cell begins.
   */
  run(request: CellRequest): Promise<CellAnswer> {
    clearTimeout(this.#idleTimer);
    this.#ending = undefined;
    this.#waiting += 1;
    this.#keeper?.cellComes();
    const runNow = (): Promise<CellAnswer> => {
      this.#noteOpen(request, undefined);
      return this.#runNow(request);
    };
    const answer = this.#waiting === 1 ? runNow() : this.#queue.then(runNow);
    const rest = (): void => this.#rest();
    this.#queue = answer.then(rest, rest);
    return answer;
  }

  /** Ends the session for good: no further cell begins, and no sandbox remains, not even one that is starting. */
  async end(reason: string): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#closing.abort();
    if (this.#keeper !== undefined) {
      await this.#keeper.close(this.isBusy ? undefined : this.#kernel);
    }
    await Promise.all([this.#killAll(reason), this.#starting?.catch(() => undefined)]);
    // The engine may have started one meanwhile.
    await this.#killAll(reason);
  }

  /** Keeps its answers that no client has taken for a later bridge, instead of those before. Never rejects. */
  async keepAnswers(texts: readonly string[]): Promise<void> {
    await this.#keeper?.keepAnswers(texts);
  }

  /** Lets other bridges have a session that this one no longer keeps. */
  async release(): Promise<void> {
    await this.#keeper?.release();
  }

  /**
   * Saves the state of a session that is not busy, and ends its kernel. A cell that arrives while it is saved keeps the
   * kernel, even if it has ended by then. The loss is noted before the kernel ends, so a cell that arrives meanwhile gets a new kernel.
   */
  async endIdle(reason: string): Promise<void> {
    await this.#endIdle(reason, () => true);
  }

  /** The same, but a session that cannot be saved keeps its sandbox. Resolves with whether the sandbox was ended. */
  async hibernate(reason: string): Promise<boolean> {
    const keeper = this.#keeper;
    return keeper !== undefined && (await this.#endIdle(reason, () => keeper.isSaved));
  }

  /** Ends its sandbox, and with it a cell that runs. The next answer says so. False if it has none. */
  async kill(reason: string): Promise<boolean> {
    const count = this.#sandboxes.size;
    await this.#killAll(reason);
    return count > 0;
  }

  async #endIdle(reason: string, mayEnd: () => boolean): Promise<boolean> {
    clearTimeout(this.#idleTimer);
    const kernel = this.#kernel;
    if (kernel === undefined || this.#ending !== undefined) {
      return false;
    }
    const ending = Symbol('ending');
    this.#ending = ending;
    if (this.#keeper !== undefined) {
      await this.#keeper.saveLast(kernel);
    }
    if (this.#ending !== ending) {
      // What a cell has done meanwhile is not in the checkpoint.
      return false;
    }
    this.#ending = undefined;
    if (this.isBusy || this.#kernel !== kernel) {
      return false;
    }
    if (!mayEnd()) {
      this.#startIdleTimer();
      return false;
    }
    const isSaved = this.#keeper?.isSaved === true;
    this.#noteEnd(kernel, reason, true);
    await Promise.all([kernel.connection.kill(reason), isSaved ? this.#keeper?.letGo() : undefined]);
    return true;
  }

  async #runNow(request: CellRequest): Promise<CellAnswer> {
    // Nothing is awaited here that is no promise: a trivial cell would wait for each of them.
    const room = request.untilRoom?.();
    if (room !== undefined) {
      await room;
    }
    this.#throwIfOver(request);
    if (request.isFresh === true) {
      await this.reset();
    }
    request.servers.forEach((server) => this.#loaded.add(server));
    const kernel = this.#kernel ?? (await this.#awaitStart(request));
    this.#throwIfOver(request);
    if (request.timeoutMs >= LONG_CELL_MS) {
      this.#keeper?.saveBefore(kernel);
    }
    this.#cells += 1;
    this.#noteOpen(request, this.#cells);
    const startedAt = performance.now();
    const cell = this.#begunCell(request);
    const recorded = this.#tellOfStart(cell);
    if (recorded !== undefined) {
      await recorded;
    }
    const first = this.#notices.takeFirst(kernel.engine, userNames(this.#names));
    const { imported: _, memoryBytes, names, ...outcome } = await this.#runWatched(kernel, cell);
    this.#names = names ?? this.#names;
    this.#memoryBytes = memoryBytes ?? this.#memoryBytes;
    const servers = [...this.#loaded].toSorted();
    const saved =
      this.#wanted === undefined
        ? []
        : await this.#carryOut(kernel, request.timeoutMs - (performance.now() - startedAt));
    if (this.#isResetPending) {
      this.#reset();
    }
    const isSeen = outcome.status !== 'cancelled' || isAwaited(request.signal);
    if (!isSeen) {
      first.repeat();
    }
    const last = isSeen ? this.#notices.takeLast() : [];
    return {
      ...outcome,
      cell: cell.cell,
      servers,
      session: this.name,
      timeoutSeconds: request.timeoutMs / 1000,
      notices: [...first.notices, ...saved, ...(last instanceof Promise ? await last : last)],
      engine: first.engine,
    };
  }

  /** @param cell undefined if it has not begun. */
  #noteOpen({ code }: CellRequest, cell: number | undefined): void {
    this.#open = { cell, code, beganAt: Date.now() };
    this.#keeper?.cellIsNext();
    if (cell !== undefined) {
      this.#keeper?.cellRuns(cell);
    }
  }

  #begunCell(request: CellRequest): BegunCell {
    const run = { session: this.name, generation: this.#generation, cell: this.#cells };
    return { ...run, request, servers: [...this.#loaded] };
  }

  #tellOfStart(cell: BegunCell): Promise<void> | undefined {
    const { emit } = this.#options;
    return emit?.({ type: 'cell_started', cell })?.catch((error: unknown) => {
      void emit({ type: 'cell_ended', cell, outcome: outcomeOfError(error), durationMs: 0 });
      throw error;
    });
  }

  #runWatched(kernel: Kernel, cell: BegunCell): Promise<CellOutcome> {
    const start = performance.now();
    const { emit, logger } = this.#options;
    const { request } = cell;
    const name = `session ${cell.session}: cell ${cell.cell}`;
    logger.debug(`${name} begins in ${kernel.connection.sandbox.id}`);
    const ended = runCell(kernel.connection, {
      frame: { cell: cell.cell, code: request.code, ...this.#serversForFrame() },
      timeoutMs: request.timeoutMs,
      signal: request.signal,
      onProgress: request.onProgress,
      onOutput(stream, text, droppedBytes) {
        void emit?.({ type: 'cell_output', cell, stream, text });
        request.onOutput?.(stream, text, droppedBytes);
      },
      onClock: request.onClock,
      person: request.person,
      questionTimeoutMs: this.#options.questionTimeoutMs,
      startingServers: () => this.#startingServers(),
      whatRemains: () => this.#whatRemains(),
    });
    return ended.then((outcome) => {
      const durationMs = performance.now() - start;
      logger.debug(`${name} ended after ${Math.round(durationMs)} ms: ${outcome.status}`);
      void emit?.({ type: 'cell_ended', cell, outcome, durationMs });
      return outcome;
    });
  }

  /** What the code of a cell asks of its session is done when the cell has ended. */
  async #onStateCall(method: StateMethod, params: Readonly<Record<string, unknown>>): Promise<unknown> {
    if (method === 'reset') {
      this.#isResetPending = true;
      return null;
    }
    if (this.#keeper === undefined) {
      throw new BridgeError('CALL_REFUSED', 'checkpoints are off', {
        hint: 'The user can allow them: MCP_BRIDGE_CHECKPOINT=auto.',
      });
    }
    if (method === 'checkpoints') {
      return this.#keeper.list();
    }
    const name = checkpointName(params['name'], method === 'checkpoint');
    await this.#keeper.check(method, name);
    this.#wanted = { method, name };
    return null;
  }

  /** Returns the notices. A checkpoint that takes longer than `leftMs` goes on without the cell. */
  async #carryOut(kernel: Kernel, leftMs: number): Promise<string[]> {
    const wanted = this.#wanted;
    this.#wanted = undefined;
    if (wanted === undefined || this.#keeper === undefined || this.#kernel !== kernel) {
      return [];
    }
    const { method, name } = wanted;
    const what = name === undefined ? 'the checkpoint' : `the checkpoint '${name}'`;
    try {
      if (method === 'checkpoint') {
        const keeper = this.#keeper;
        const saving = keeper.saveAs(kernel, this.#cells, [...this.#loaded], name);
        return [
          await this.#inTime(
            saving.then((saved) => describeSaved(saved, name, keeper.isTemporary)),
            leftMs,
          ),
        ];
      }
      await this.#keeper.restoreFrom(name ?? '');
      this.#leave('runtime.restore() was called');
      return [`The next cell continues from ${what}.`];
    } catch (error) {
      const verb = method === 'checkpoint' ? 'write' : 'read';
      return [`Cannot ${verb} ${what}: ${escapeControls(messageOf(error))}.`];
    }
  }

  /** The sentence about a checkpoint; if it takes longer than its cell may, the next answer has it. */
  async #inTime(saved: Promise<string>, leftMs: number): Promise<string> {
    const late = createDeferred<undefined>();
    const timer = setTimeout(() => late.resolve(undefined), Math.max(leftMs, INTERRUPT_GRACE_MS));
    const sentence = await Promise.race([saved, late.promise]);
    clearTimeout(timer);
    if (sentence !== undefined) {
      return sentence;
    }
    void saved.then((text) => this.#notices.savedLate(text));
    return STILL_SAVING;
  }

  #startingServers(): StartingServer[] {
    return this.#options.startingServers().filter(({ name }) => this.#loaded.has(name));
  }

  #whatRemains(): string {
    const saved = this.#keeper?.saved;
    return saved === undefined
      ? 'Its variables and files are gone; the next cell runs in a new session.'
      : `The next cell continues with what the session had after cell ${saved.cell}.`;
  }

  /** Starts a kernel, or joins a start whose cell was cancelled. */
  async #awaitStart(request: CellRequest): Promise<Kernel> {
    const { onProgress, signal } = request;
    onProgress?.({ message: 'starting the sandbox' });
    this.#onStartProgress = onProgress;
    this.#starting ??= this.#start(request.timeoutMs).finally(() => {
      this.#starting = undefined;
      this.#restoring = createDeferred<void>();
    });
    try {
      const started = unlessAborted(unlessAborted(this.#starting, signal), this.#closing.signal);
      const kernel = await this.#unlessRestoreIsLate(started, request.timeoutMs);
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

  /** Rejects if restoring takes longer than the cell may: it goes on for a later cell. */
  async #unlessRestoreIsLate(started: Promise<Kernel>, timeoutMs: number): Promise<Kernel> {
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    const late = new Promise<never>((_, reject) => {
      void this.#restoring.promise.then(() => {
        timer = isOver ? undefined : setTimeout(() => reject(stillRestoring(timeoutMs)), timeoutMs + START_GRACE_MS);
      });
    });
    try {
      return await Promise.race([started, late]);
    } finally {
      isOver = true;
      clearTimeout(timer);
    }
  }

  /** A kernel with the state of the newest checkpoint. One that cannot be restored leaves nothing behind. */
  async #start(timeoutMs: number, mayTakeStandby = true): Promise<Kernel> {
    // Checking 100 MB takes a third of the time that a container needs to start.
    const opening = this.#openCheckpoint();
    const kernel = await this.#startKernel(timeoutMs, mayTakeStandby).catch(async (error: unknown) => {
      await (await opening)?.close();
      throw error;
    });
    const stored = await opening;
    const failure = stored && (await this.#restore(kernel, stored));
    if (failure === undefined) {
      this.#enter(kernel);
      return kernel;
    }
    void kernel.connection.kill('its state could not be restored');
    if (kernel.isAhead === true && failure !== RESTORE_TOO_SLOW) {
      // It may have loaded packages in other versions than the session had.
      return this.#start(timeoutMs, false);
    }
    await this.#keeper?.setAside();
    const again = `${failure}. To try again: runtime.restore("${NOT_RESTORED}")`;
    this.#notices.notRestored(describeNotRestored(again));
    const fresh = await this.#startKernel(timeoutMs, mayTakeStandby);
    this.#enter(fresh);
    return fresh;
  }

  #enter(kernel: Kernel): void {
    this.#kernel = kernel;
    this.#readyAt = performance.now();
    void kernel.connection.ended.then(({ reason }) => this.#noteEnd(kernel, reason));
    this.#startIdleTimer();
  }

  async #openCheckpoint(): Promise<StoredCheckpoint | undefined> {
    const keeper = this.#keeper;
    try {
      const stored = await keeper?.open();
      if (keeper !== undefined && stored === undefined && keeper.reached > this.#cells) {
        this.#notices.notRestored(describeNeverSaved(keeper.reached));
        this.#cells = keeper.reached;
      }
      return stored;
    } catch (error) {
      this.#notices.notRestored(describeNotRestored(messageOf(error)));
      return undefined;
    }
  }

  /** Undefined if it was restored, else the reason. */
  async #restore(kernel: Kernel, stored: StoredCheckpoint): Promise<string | undefined> {
    const { connection } = kernel;
    const { facts } = stored;
    this.#onStartProgress?.({ message: 'restoring the session' });
    this.#restoring.resolve();
    connection.checkpoints.offer(stored);
    try {
      const { error, memoryBytes, names, status } = await this.#runRestoringCell(kernel, facts.cell);
      const report = connection.checkpoints.takeRestored();
      if (status !== 'success' || report === undefined) {
        if (status === 'timeout') {
          return RESTORE_TOO_SLOW;
        }
        // The message of an exception is a text from the sandbox; its class is a checked name.
        return error?.exception === undefined ? (error?.message ?? 'it ended early') : `it raised ${error.exception}`;
      }
      this.#names = names;
      this.#memoryBytes = memoryBytes;
      const reached = this.#keeper?.reached ?? 0;
      // Cells of this bridge that are missing are those of a sandbox that it has lost.
      this.#notices.restored({ facts, report, reached: reached > this.#cells ? reached : undefined });
      this.#cells = Math.max(this.#cells, facts.cell, reached);
      facts.servers.forEach((server) => this.#loaded.add(server));
      return undefined;
    } finally {
      await stored.close();
    }
  }

  /** A cell without code, which calls may use to load packages; its output is dropped. */
  #runRestoringCell({ connection }: Kernel, cell: number): Promise<CellOutcome> {
    return runCell(connection, {
      frame: { cell, code: '', restore: true, ...this.#serversForFrame() },
      timeoutMs: RESTORE_TIMEOUT_MS,
      signal: this.#closing.signal,
      questionTimeoutMs: this.#options.questionTimeoutMs,
      startingServers: () => this.#startingServers(),
      whatRemains: () => '',
    });
  }

  async #startKernel(timeoutMs: number, mayTakeStandby: boolean): Promise<Kernel> {
    this.#generation += 1;
    this.#isResetPending = false;
    this.#sentDiscovered = undefined;
    const { signal } = this.#closing;
    const {
      readManual,
      autoload,
      savedTools,
      emit: _emit,
      traceStart: _trace,
      onSandboxEnd: _end,
      onSandboxGone: _gone,
      untilStart: _start,
      checkpoints: _,
      standby,
      ...options
    } = this.#options;
    const startTimeoutMs = Math.min(START_TIMEOUT_MS, timeoutMs + START_GRACE_MS);
    const run = { session: this.name, generation: this.#generation };
    const [saved, manual] = await unlessAborted(Promise.all([savedTools(), readManual()]), signal);
    this.#notices.defined(saved.map(({ name }) => name));
    await this.#untilStart(startTimeoutMs);
    const kernel = await this.#watched(run, {
      ...options,
      ...run,
      standby: mayTakeStandby ? standby : undefined,
      startTimeoutMs,
      hello: {
        saved_tools: [...saved],
        ...(autoload ? { autoload } : {}),
      },
      manual,
      loaded: this.#loaded,
      load: (server) => this.#load(server),
      onStateCall: (method, params) => this.#onStateCall(method, params),
      onProgress: (progress) => this.#onStartProgress?.(progress),
      onSandbox: (connection) => this.#keep(connection),
      signal,
    }).finally(() => {
      this.#isStarting = false;
    });
    this.#noteStart(run, kernel);
    return kernel;
  }

  #noteStart(run: { readonly session: string; readonly generation: number }, { connection, engine }: Kernel): void {
    const { emit, logger, onSandboxEnd } = this.#options;
    const where = `${connection.sandbox.id} on ${engine.name}`;
    logger.debug(`session ${this.name}: sandbox ${where} is ready`);
    void emit?.({ type: 'session_started', run, engine });
    void connection.ended.then(({ reason }) => {
      logger.debug(`session ${this.name}: sandbox ${where} ended, because ${reason}`);
      void emit?.({ type: 'session_ended', run, reason });
      onSandboxEnd?.(this.name);
    });
  }

  #watched(run: SessionRun, options: KernelOptions): Promise<Kernel> {
    const start = (): Promise<Kernel> => startKernel(options);
    return this.#options.traceStart?.(run, start) ?? start();
  }

  /** Waits until a sandbox may start. Rejects with `SESSION_LIMIT` if that takes too long. */
  async #untilStart(timeoutMs: number): Promise<void> {
    const until = performance.now() + timeoutMs;
    for (let wait = this.#options.untilStart?.(); wait !== undefined; wait = this.#options.untilStart?.()) {
      const late = createDeferred<void>();
      const timer = setTimeout(late.resolve, Math.max(0, until - performance.now()));
      this.#onStartProgress?.({ message: 'waiting until other sandboxes have ended' });
      const waited = unlessAborted(Promise.race([wait, late.promise]), this.#closing.signal);
      await waited.finally(() => clearTimeout(timer));
      if (performance.now() >= until) {
        throw new BridgeError('SESSION_LIMIT', 'too many sandboxes of other sessions are still being saved', {
          hint: 'Try again soon, or use a session that is live.',
        });
      }
    }
    this.#isStarting = true;
  }

  #keep(connection: KernelConnection): void {
    this.#isStarting = false;
    this.#sandboxes.add(connection);
    void connection.gone.then(() => {
      this.#sandboxes.delete(connection);
      this.#options.onSandboxGone?.();
    });
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
      this.#notices.loadedByCode(server);
    }
  }

  #noteEnd(kernel: Kernel, reason: string, isIdle = false): void {
    if (this.#kernel !== kernel) {
      return;
    }
    this.#kernel = undefined;
    this.#notices.lost({ reason, names: this.#names, cell: this.#cells, isIdle });
    this.#names = undefined;
    this.#memoryBytes = undefined;
    this.#keeper?.sandboxEnded();
  }

  /** Forgets the kernel at once, without waiting for its end. */
  #reset(): void {
    this.#isResetPending = false;
    this.#loaded.clear();
    void this.#keeper?.forget();
    this.#leave('runtime.reset() was called');
  }

  #leave(reason: string): void {
    const kernel = this.#kernel;
    this.#kernel = undefined;
    this.#names = undefined;
    this.#memoryBytes = undefined;
    this.#notices.lost(undefined);
    this.#keeper?.sandboxEnded();
    void kernel?.connection.kill(reason);
  }

  /** The loaded servers, and the configured ones if they changed since the kernel last got them. */
  #serversForFrame() {
    const discovered = this.#options.discoverServers();
    const servers = discovered.filter(({ name }) => this.#loaded.has(name)).map(({ name, alias }) => ({ name, alias }));
    if (discovered === this.#sentDiscovered) {
      return { servers };
    }
    const isSame = JSON.stringify(discovered) === JSON.stringify(this.#sentDiscovered);
    this.#sentDiscovered = discovered;
    return isSame ? { servers } : { servers, discovered: [...discovered] };
  }

  /** Called after each cell. */
  #rest(): void {
    this.#waiting -= 1;
    this.#open = undefined;
    this.#keeper?.cellIsOver();
    this.#lastUsed = performance.now();
    if (this.#kernel !== undefined) {
      this.#keeper?.cellEnded(this.#kernel, this.#cells, [...this.#loaded]);
    }
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

/** Before cells with this deadline or a longer one, what earlier ones have left is saved. Chosen: few cells have one. */
const LONG_CELL_MS = 60_000;

const RESTORE_TOO_SLOW = `it took longer than ${RESTORE_TIMEOUT_MS / 1000} s`;

function stillRestoring(timeoutMs: number): BridgeError {
  return new BridgeError(
    'CELL_DEADLINE',
    `the cell did not begin within its ${timeoutMs / 1000} s, because the state of the session is still being restored; that goes on for at most ${RESTORE_TIMEOUT_MS / 1000} s`,
    { hint: 'Run the cell again, or give it more time with the argument timeout.' },
  );
}

/** The answer to cells that have not begun when the bridge ends. */
export function shuttingDown(): BridgeError {
  return new BridgeError('CELL_CANCELLED', 'the bridge is shutting down');
}

function throwIfCancelled({ signal }: CellRequest): void {
  if (signal?.aborted === true) {
    throw new BridgeError('CELL_CANCELLED', 'the client cancelled the cell before it began');
  }
}

function checkpointName(name: unknown, isOptional: boolean): string | undefined {
  if (isOptional && (name === undefined || name === null)) {
    return undefined;
  }
  if (typeof name !== 'string' || !JOB_NAME.test(name)) {
    throw new BridgeError('CALL_REFUSED', 'the name of a checkpoint must have 1 to 64 letters, digits and "_.-"');
  }
  return name;
}

function userNames(names: Names | undefined): string[] {
  return [...(names?.variables ?? []), ...(names?.functions ?? [])];
}
