/**
 * Sandboxes that are started ahead, so that the first cell of a session does not wait for one. A standby has imported the kernel
 * and knows nothing of any session; a session takes it for good. It is not a session: no limit counts it, and it has no name.
 * It may have imported modules that sessions are likely to need.
 *
 * None is started until a client is likely to need one, while memory is short, or when no cell has run for a while.
 */
import { freemem } from 'node:os';
import { type BridgeError, messageOf } from '../base/errors.ts';
import { START_TIMEOUT_MS } from '../base/limits.ts';
import type { PackageSet } from './boot.ts';
import type { SandboxExit } from './engine.ts';
import { reportEngine } from './engine-report.ts';
import type { TraceStart } from './events.ts';
import {
  type KernelOptions,
  MAX_START_ROUNDS,
  recordCodePack,
  type SilentSandbox,
  type Standby,
  type StandbySource,
  startSilent,
} from './kernel.ts';

/** What engines and `sessions` call a sandbox that was started ahead. No session can have this name. */
export const STANDBY_SESSION = '(started ahead)';

/** So that the cell that took one is not slowed down by the start of the next. Chosen. */
const REFILL_DELAY_MS = 1_000;
/** After a failure, cells start their sandboxes themselves and report it. Chosen. */
const RETRY_MS = 60_000;
/** Without cells for this long, none is kept. Chosen: about the idle time of sessions. */
const IDLE_MS = 15 * 60_000;
const WATCH_MS = 30_000;
/** With less free memory, none is kept. Chosen: several times what one uses. */
const MIN_FREE_BYTES = 512 * 1024 ** 2;
/** With less free memory, none imports modules: each of them then occupies 100 MB more. Chosen. */
const MIN_FREE_FOR_MODULES_BYTES = 2 * MIN_FREE_BYTES;

export interface StandbyOptions
  extends Pick<KernelOptions, 'engine' | 'limits' | 'logger' | 'packages' | 'packKey' | 'packs' | 'sources'> {
  /** How many to keep ready. */
  readonly count: number;
  /** Watches each start. */
  readonly traceStart?: TraceStart | undefined;
  /** Bytes of memory that are free; by default those of the machine. */
  readonly freeBytes?: (() => number) | undefined;
  /** Whether another one may be started beside what the rest of the process has; by default it may. */
  readonly hasRoom?: (() => boolean) | undefined;
  /** What sessions are likely to import; by default nothing. Never rejects. */
  readonly modules?: (() => Promise<readonly string[]>) | undefined;
  /** By default 1 s. */
  readonly refillDelayMs?: number | undefined;
  /** By default 15 minutes. */
  readonly idleMs?: number | undefined;
}

/** What a sandbox has beyond the kernel. */
interface Contents {
  /** What it imports. */
  readonly modules: readonly string[];
  /** The set that it can import from. */
  readonly packages: PackageSet | undefined;
}

/** One that starts or is ready. */
interface Entry extends Contents {
  readonly silent: SilentSandbox;
  /** Undefined if it could not be started. */
  readonly ready: Promise<Standby | undefined>;
}

export class StandbyPool implements StandbySource {
  readonly #options: StandbyOptions;
  readonly #entries = new Set<Entry>();
  /** Those that are being killed, too. */
  readonly #sandboxes = new Set<SilentSandbox['sandbox']>();
  readonly #closing = new AbortController();
  #filling: Promise<void> | undefined;
  #isWanted = false;
  #retryAt = 0;
  #lastUsed = 0;
  #refillTimer: NodeJS.Timeout | undefined;
  #watchTimer: NodeJS.Timeout | undefined;
  #hasStarted = false;
  /** Whether one ended that nobody had taken, while or after it imported modules. */
  #hasFailedImport = false;

  constructor(options: StandbyOptions) {
    this.#options = options;
  }

  /** Whether any sandbox was ever started. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** Those that are ready or start. */
  get size(): number {
    return this.#entries.size;
  }

  /** Starts as many as there should be. Resolves when they are ready, or there is a reason to have fewer; never rejects. */
  async fill(): Promise<void> {
    this.#isWanted = true;
    this.#lastUsed = performance.now();
    this.#filling ??= this.#fill().finally(() => {
      this.#filling = undefined;
    });
    await this.#filling;
  }

  take(signal?: AbortSignal): Promise<Standby | undefined> | undefined {
    this.noteUse();
    const [entry] = this.#entries;
    if (entry === undefined) {
      return undefined;
    }
    this.#entries.delete(entry);
    return entry.ready.then(async (standby) => {
      if (standby === undefined) {
        return undefined;
      }
      const { sandbox } = standby.silent;
      const isOfOtherEngine = standby.engine.name !== this.#options.engine.name;
      if (isOfOtherEngine || (await this.#hasOldPackages(entry)) || signal?.aborted === true) {
        // Meanwhile the session has ended, or sessions have changed to another engine or other packages.
        void sandbox.kill();
        return undefined;
      }
      this.#sandboxes.delete(sandbox);
      return standby;
    });
  }

  /** A cell has begun or ended: starts again what was taken or dropped, shortly. */
  noteUse(): void {
    this.#lastUsed = performance.now();
    if (this.#isWanted && !this.#closing.signal.aborted) {
      clearTimeout(this.#refillTimer);
      this.#refillTimer = setTimeout(() => void this.fill(), this.#options.refillDelayMs ?? REFILL_DELAY_MS).unref();
    }
  }

  /** Ends all of them, also one that is starting. Resolves when they are gone. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#refillTimer);
    clearInterval(this.#watchTimer);
    await this.#drop();
    await this.#filling;
    await this.#drop();
  }

  async #fill(): Promise<void> {
    const { count, logger } = this.#options;
    this.#watchTimer ??= setInterval(() => this.#watch(), WATCH_MS).unref();
    const contents = { modules: await this.#modules(), packages: await this.#options.packages?.() };
    this.#dropThoseWithout(contents);
    while (this.#entries.size < count && this.#mayStart()) {
      try {
        await this.#startWatched(contents);
      } catch (error) {
        this.#retryAt = performance.now() + RETRY_MS;
        logger.debug(`no sandbox could be started ahead: ${messageOf(error)}`);
      }
    }
  }

  async #modules(): Promise<readonly string[]> {
    const { freeBytes = freeMemory, modules } = this.#options;
    const isOff = modules === undefined || this.#hasFailedImport || freeBytes() < MIN_FREE_FOR_MODULES_BYTES;
    return isOff ? [] : modules();
  }

  /** Whether sessions get other packages by now. One without packages asks for them as it imports them. */
  async #hasOldPackages({ packages }: Entry): Promise<boolean> {
    return packages !== undefined && (await this.#options.packages?.())?.path !== packages.path;
  }

  /** What was learned since they started is imported by others. */
  #dropThoseWithout({ modules, packages }: Contents): void {
    for (const entry of this.#entries) {
      if (entry.packages?.path !== packages?.path || !modules.every((name) => entry.modules.includes(name))) {
        this.#entries.delete(entry);
        void entry.silent.sandbox.kill();
      }
    }
  }

  #mayStart(): boolean {
    const { hasRoom } = this.#options;
    const isHindered = this.#closing.signal.aborted || this.#isMemoryShort() || performance.now() < this.#retryAt;
    return !isHindered && hasRoom?.() !== false;
  }

  #isMemoryShort(): boolean {
    return (this.#options.freeBytes ?? freeMemory)() < MIN_FREE_BYTES;
  }

  #watch(): void {
    const idleMs = this.#options.idleMs ?? IDLE_MS;
    if (this.#entries.size > 0 && (this.#isMemoryShort() || performance.now() - this.#lastUsed > idleMs)) {
      this.#options.logger.debug('the sandboxes that were started ahead are dropped');
      void this.#drop();
    }
  }

  async #drop(): Promise<void> {
    this.#entries.clear();
    await Promise.all([...this.#sandboxes].map((sandbox) => sandbox.kill()));
  }

  async #startWatched(contents: Contents): Promise<void> {
    const { engine, traceStart } = this.#options;
    const start = async () => {
      await this.#startOne(contents);
      return { engine: reportEngine(engine) };
    };
    await (traceStart?.(undefined, start) ?? start());
  }

  /** Repeats a start like that of a session, because the engine may learn from a failure. */
  async #startOne(contents: Contents): Promise<void> {
    const { engine, logger } = this.#options;
    for (let round = 1; ; round += 1) {
      await engine.prepare(() => undefined);
      this.#closing.signal.throwIfAborted();
      const silent = await this.#start(contents);
      const error = await this.#offer(silent, contents);
      if (error === undefined) {
        logger.debug(`sandbox ${silent.sandbox.id} on ${engine.name} was started ahead`);
        return;
      }
      if (error.data['retryNow'] !== true || round === MAX_START_ROUNDS) {
        throw error;
      }
    }
  }

  /** Starts a sandbox that has everything compiled. */
  async #start(contents: Contents): Promise<SilentSandbox> {
    const silent = await this.#startSilent(contents);
    if (silent.hasPack) {
      return silent;
    }
    await recordCodePack(silent, {
      ...this.#options,
      session: STANDBY_SESSION,
      generation: 1,
      hello: { saved_tools: [] },
      manual: () => '',
      startTimeoutMs: START_TIMEOUT_MS,
      onProgress: () => undefined,
    });
    this.#closing.signal.throwIfAborted();
    return this.#startSilent(contents);
  }

  async #startSilent(contents: Contents): Promise<SilentSandbox> {
    this.#hasStarted = true;
    const silent = await startSilent({ ...this.#options, ...contents, session: STANDBY_SESSION });
    const { sandbox } = silent;
    this.#sandboxes.add(sandbox);
    void sandbox.exited.then(() => sandbox.kill()).then(() => this.#sandboxes.delete(sandbox));
    if (this.#closing.signal.aborted) {
      await sandbox.kill();
      this.#closing.signal.throwIfAborted();
    }
    return silent;
  }

  /** Offers a sandbox to sessions from now on. Resolves when it runs, or with the reason if it does not. */
  async #offer(silent: SilentSandbox, contents: Contents): Promise<BridgeError | undefined> {
    const { engine } = this.#options;
    const { sandbox } = silent;
    let failure: BridgeError | undefined;
    const ready = untilRunning(silent).then((exit) => {
      if (exit === undefined) {
        return { silent, engine: reportEngine(engine) };
      }
      failure = engine.explainStartFailure(sandbox, exit, silent.supervisor.tail());
      return undefined;
    });
    const entry: Entry = { ready, silent, ...contents };
    this.#entries.add(entry);
    void sandbox.exited.then(() => this.#noteEnd(entry));
    await ready;
    return failure;
  }

  #noteEnd(entry: Entry): void {
    if (this.#entries.delete(entry) && entry.modules.length > 0 && !this.#hasFailedImport) {
      this.#hasFailedImport = true;
      this.#options.logger.debug(`a sandbox ended that had to import ${entry.modules.join(', ')} ahead; no more do`);
    }
  }
}

/** Resolves with undefined when the sandbox reports that it runs, and with its end if it does not. */
function untilRunning({ sandbox, supervisor }: SilentSandbox): Promise<SandboxExit | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => void sandbox.kill(), START_TIMEOUT_MS).unref();
    supervisor.follow((report) => {
      if (report.report === 'started') {
        clearTimeout(timer);
        resolve(undefined);
      }
    });
    void sandbox.exited.then((exit) => {
      clearTimeout(timer);
      resolve(exit);
    });
  });
}

/** Linux says how much programs can get; other systems count memory that they would give up as used. */
function freeMemory(): number {
  return process.platform === 'linux' ? freemem() : Number.POSITIVE_INFINITY;
}
