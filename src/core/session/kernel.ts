/**
 * Starts a sandbox and waits until its kernel is ready to run cells. Knows nothing of queues, deadlines or what a session
 * means to people; `session.ts` does.
 */
import { unlessAborted } from '../base/cancel.ts';
import type { EngineReport } from '../base/cell.ts';
import { BridgeError } from '../base/errors.ts';
import {
  KEPT_OUTPUT_BYTES,
  MAX_DISPLAY_BYTES,
  MAX_DISPLAYS,
  MAX_REPORTED_NAMES,
  MAX_SANDBOX_LINE_BYTES,
  MAX_STORED_OUTPUT_BYTES,
  MAX_VALUE_CHARS,
  PULL_ANSWER_MS,
  STORED_OUTPUT_SHARE,
} from '../base/limits.ts';
import { COMMAND } from '../base/package.ts';
import { type HelloFrame, PROTOCOL_VERSION, type ReadyFrame } from '../protocol/frames.ts';
import { bootBlob, type KernelSources, kernelCommand, type PackageSet } from './boot.ts';
import { type ConnectionOptions, type FailedStart, KernelConnection } from './connection.ts';
import type { Engine, PrepareProgress, Sandbox } from './engine.ts';
import { reportEngine } from './engine-report.ts';
import { describeSandboxEnd, type SupervisorWatch, watchSupervisor } from './supervisor.ts';

/** A kernel that has been waiting answers within milliseconds, and after a second on a busy machine. Chosen. */
const GREETING_TIMEOUT_MS = 10_000;
/** A start is repeated when the engine has learned something (a flag to change, an image to pull), but not forever. */
export const MAX_START_ROUNDS = 8;

/** `startTimeoutMs` limits one start of a sandbox, without what `prepare` takes; `packKey` names the image. */
export interface KernelOptions extends Omit<ConnectionOptions, 'attach'> {
  readonly engine: Engine;
  readonly sources: KernelSources;
  readonly hello: Pick<HelloFrame, 'saved_tools' | 'autoload'>;
  /** The manual of the sandbox on the engine that has started. */
  readonly manual: (engine: Engine) => string;
  readonly onProgress: (progress: PrepareProgress) => void;
  /** Gets each sandbox of the start, before it is ready. */
  readonly onSandbox?: ((connection: KernelConnection) => void) | undefined;
  /** Sandboxes that were started ahead. */
  readonly standby?: StandbySource | undefined;
  /** Why no package can be installed, as far as that is known. */
  readonly whyNoPackages?: (() => string | undefined) | undefined;
  /** What the kernel needs so that programs can open streams to `onEgress`; undefined if they cannot. Never rejects. */
  readonly egress?: (() => Promise<HelloFrame['egress']>) | undefined;
  /** The packages that sessions have from their start; none by default. Never rejects. */
  readonly packages?: (() => Promise<PackageSet | undefined>) | undefined;
  /** Gives up the start. Whoever aborts it kills the sandbox that `onSandbox` got. */
  readonly signal?: AbortSignal | undefined;
}

/** A sandbox with the sources of the kernel, which waits for its greeting. */
export interface SilentSandbox {
  readonly sandbox: Sandbox;
  readonly supervisor: SupervisorWatch;
  /** Of the code pack that it got, or is going to make. */
  readonly packKey: string;
  readonly hasPack: boolean;
  /** Whether it imports more than the kernel. */
  readonly hasImported: boolean;
}

/** A sandbox that was started before a session needed it. */
export interface Standby {
  readonly silent: SilentSandbox;
  /** The engine as it was when the sandbox started. */
  readonly engine: EngineReport;
}

export interface StandbySource {
  /** How many are ready or start. */
  readonly size: number;
  /** One for a session, which now owns it; undefined if there is none. It may still be starting; if `signal` aborts first, it is ended. */
  take(signal?: AbortSignal): Promise<Standby | undefined> | undefined;
}

/** A sandbox whose kernel is ready. */
export interface Kernel {
  readonly connection: KernelConnection;
  /** The engine as it was when the sandbox started. */
  readonly engine: EngineReport;
  /** How the kernel introduced itself. */
  readonly ready: ReadyFrame;
  /** Whether its sandbox was started ahead. */
  readonly isAhead?: boolean | undefined;
}

/**
 * Starts a sandbox and waits until its kernel is ready. Rejects with the engine's reason, with `SESSION_START_TIMEOUT`, or
 * with an `AbortError` once `signal` aborts.
 */
export async function startKernel(options: KernelOptions): Promise<Kernel> {
  try {
    return await startRounds(options);
  } catch (error) {
    throw error instanceof BridgeError ? ((await options.engine.advise?.(error)) ?? error) : error;
  }
}

async function startRounds(options: KernelOptions): Promise<Kernel> {
  const { engine, logger, signal } = options;
  const standby = await unlessAborted(Promise.resolve(options.standby?.take(signal)), signal);
  const ahead = standby && (await takeOver(standby, options));
  if (ahead !== undefined) {
    return ahead;
  }
  for (let round = 1; ; round += 1) {
    await unlessAborted(prepareInTime(engine, options.onProgress), signal);
    signal?.throwIfAborted();
    const silent = await startSilent({ ...options, packages: await options.packages?.() });
    const { connection, outcome } = await greet(silent, options);
    if ('python_version' in outcome) {
      engine.noteReady?.(connection.sandbox);
      return { connection, engine: reportEngine(engine), ready: outcome };
    }
    signal?.throwIfAborted();
    const error = await explainStart(outcome, connection, options);
    if (error.data['retryNow'] !== true || round === MAX_START_ROUNDS) {
      throw error;
    }
    logger.info(`starting the sandbox again: ${error.message}`);
  }
}

/** Starts a sandbox on the engine as it is now, and sends it the kernel. Rejects as `start` of the engine does. */
export async function startSilent({
  engine,
  limits: { memoryBytes, pids },
  modules,
  packages,
  packKey: image,
  packs,
  session,
  sources,
}: Pick<KernelOptions, 'engine' | 'limits' | 'packKey' | 'packs' | 'session' | 'sources'> & {
  /** What the kernel imports until it is greeted. A kernel that the engine brings does not. */
  readonly modules?: readonly string[] | undefined;
  readonly packages?: PackageSet | undefined;
}): Promise<SilentSandbox> {
  const packKey = `${engine.name} ${image}`;
  const pack = await packs.load(packKey);
  const sandbox = await engine.start({ command: kernelCommand(sources), isSupervised: true, session });
  if (sandbox.isPreloaded !== true) {
    // One that makes the pack, which others then run, imports nothing but the kernel before.
    for (const piece of bootBlob(sources, { memoryBytes, pids, pack, modules: pack && modules, packages })) {
      sandbox.stdin.write(piece);
    }
  }
  const hasPack = sandbox.isPreloaded === true || pack !== undefined;
  const hasImported = pack !== undefined && (modules ?? []).length > 0;
  return { sandbox, supervisor: watchSupervisor(sandbox.stderr), packKey, hasPack, hasImported };
}

/** Tells the kernel about its session, and waits for its answer. */
async function greet(
  { hasImported, packKey, sandbox, supervisor }: SilentSandbox,
  options: KernelOptions,
): Promise<{ readonly connection: KernelConnection; readonly outcome: ReadyFrame | FailedStart }> {
  const connection = new KernelConnection(sandbox, { ...options, hasImported, packKey }, supervisor);
  options.onSandbox?.(connection);
  const egress = await options.egress?.();
  // A kernel that the engine brings has no sockets.
  const reached = sandbox.isPreloaded === true ? egress && { keys: egress.keys } : egress;
  connection.outbox.send(helloFrame(options, reached));
  return { connection, outcome: await connection.ready };
}

/** A kernel in a sandbox that was started ahead; undefined if it has ended unnoticed or does not answer. */
async function takeOver({ engine, silent }: Standby, options: KernelOptions): Promise<Kernel | undefined> {
  const startTimeoutMs = Math.min(options.startTimeoutMs, GREETING_TIMEOUT_MS);
  const { connection, outcome } = await greet(silent, { ...options, startTimeoutMs });
  if ('python_version' in outcome) {
    options.engine.noteReady?.(connection.sandbox);
    return { connection, engine, ready: outcome, isAhead: true };
  }
  options.signal?.throwIfAborted();
  options.logger.debug(`sandbox ${silent.sandbox.id}, which was started ahead, does not answer; starting another`);
  void connection.kill('it did not answer');
  return undefined;
}

/** Lets a sandbox compile what sandboxes of its image need, and ends it. The next one then starts from that. */
export async function recordCodePack(
  silent: SilentSandbox,
  options: Omit<KernelOptions, 'handleCall' | 'load' | 'loaded'>,
): Promise<void> {
  const { connection } = await greet(silent, {
    ...options,
    loaded: new Set(),
    load: () => undefined,
    handleCall: () => Promise.reject(new BridgeError('CALL_REFUSED', 'no cell runs')),
  });
  await connection.kill('it has compiled its modules');
}

/**
 * Resolves when the engine can start a sandbox. Rejects as `prepare` does, and with `IMAGE_PULLING` after `waitMs`, which
 * is how long a client waits for an answer; the preparation then continues, and the next cell joins it.
 */
export async function prepareInTime(
  engine: Engine,
  onProgress: (progress: PrepareProgress) => void,
  waitMs: number = PULL_ANSWER_MS,
): Promise<void> {
  let state = 'preparing the engine';
  const preparing = engine.prepare((progress) => {
    state = describeProgress(progress);
    onProgress(progress);
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      // If the preparation fails later, the next cell reports it.
      preparing.catch(() => undefined);
      reject(
        new BridgeError(
          'IMAGE_PULLING',
          `the sandbox is not ready after ${waitMs / 1000} s (${state}); the preparation continues`,
          {
            hint: 'Run the cell again in a minute.',
          },
        ),
      );
    }, waitMs);
  });
  await Promise.race([preparing, late]).finally(() => clearTimeout(timer));
}

function describeProgress({ message, percent }: PrepareProgress): string {
  return percent === undefined ? message : `${message}, ${Math.round(percent)} %`;
}

function helloFrame(
  { engine, session, generation, hello, limits, manual, whyNoPackages }: KernelOptions,
  egress: HelloFrame['egress'],
): HelloFrame {
  const noPackages = whyNoPackages?.();
  return {
    type: 'hello',
    protocol_version: PROTOCOL_VERSION,
    session,
    generation,
    kept_output_bytes: KEPT_OUTPUT_BYTES,
    stored_output_bytes: Math.min(MAX_STORED_OUTPUT_BYTES, Math.floor(limits.memoryBytes * STORED_OUTPUT_SHARE)),
    max_value_chars: MAX_VALUE_CHARS,
    max_line_bytes: MAX_SANDBOX_LINE_BYTES,
    max_display_bytes: MAX_DISPLAY_BYTES,
    max_displays: MAX_DISPLAYS,
    max_reported_names: MAX_REPORTED_NAMES,
    ...(noPackages !== undefined && { no_packages: noPackages }),
    command: COMMAND,
    ...(egress !== undefined && { egress }),
    ...hello,
    capability_summary: manual(engine),
  };
}

async function explainStart(
  failure: FailedStart,
  connection: KernelConnection,
  options: KernelOptions,
): Promise<BridgeError> {
  const stderr = connection.stderrTail;
  void connection.kill('it did not start');
  // An engine that brings the kernel itself gives the better reason.
  const isEnginesFault = connection.sandbox.isPreloaded === true && failure.report?.cause === 'failed';
  if (failure.report !== undefined && !isEnginesFault) {
    const { memoryBytes, pids } = options.limits;
    const last = stderr === '' ? '' : `: ${stderr.split('\n').at(-1)}`;
    const why = describeSandboxEnd(failure.report, memoryBytes, pids);
    return new BridgeError('ENGINE_FAILED', `the sandbox ended while starting: ${why}${last}`, {
      hint: 'Check MCP_BRIDGE_IMAGE and MCP_BRIDGE_MEMORY; the log on stderr has the output of the sandbox.',
      data: { stderr },
    });
  }
  if (failure.exit === undefined && !isEnginesFault) {
    return new BridgeError(
      'SESSION_START_TIMEOUT',
      `the sandbox was not ready within ${options.startTimeoutMs / 1000} s`,
      {
        hint: 'The machine may be overloaded; try again with a longer timeout, or look at the log on stderr.',
        data: { stderr },
      },
    );
  }
  // The report comes first; an engine that brings the kernel may know more when everything has ended.
  const exit =
    failure.exit ?? (isEnginesFault ? await connection.sandbox.exited : { exitCode: undefined, signal: undefined });
  return options.engine.explainStartFailure(connection.sandbox, exit, failure.report?.detail ?? stderr);
}
