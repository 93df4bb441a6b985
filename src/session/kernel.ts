/**
 * Starts a sandbox and, once its kernel is ready, offers it as something that runs cells. Knows nothing of queues,
 * deadlines or what a session means to people; `session.ts` does.
 */

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
  STORED_OUTPUT_SHARE,
} from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { Engine, PrepareProgress, SandboxLimits } from '../engines/engine.ts';
import { type ExecuteFrame, type HelloFrame, PROTOCOL_VERSION, type ReadyFrame } from '../protocol/frames.ts';
import type { Asker } from './asker.ts';
import { bootBlob, type KernelSources, kernelCommand } from './boot.ts';
import type { CellEnd } from './cell-end.ts';
import type { CodePackStore } from './code-packs.ts';
import { type CellListener, type FailedStart, KernelConnection, type KernelEnd } from './connection.ts';
import type { HandleCall } from './dispatch.ts';
import { reportEngine, withMissing } from './engine-report.ts';
import { prepareInTime } from './prepare.ts';
import type { CallCounts } from './progress.ts';
import { describeSandboxEnd, type StartedReport } from './supervisor.ts';

/** Starts may be repeated when the engine learned something (another flag set, an image pulled), but not for ever. */
const MAX_START_ROUNDS = 8;

export interface KernelOptions {
  readonly engine: Engine;
  readonly limits: SandboxLimits;
  readonly sources: KernelSources;
  readonly packs: CodePackStore;
  /** Tells images apart for code packs, for example `python:3.14-slim`. */
  readonly packKey: string;
  /** Bounds one start of a sandbox; what `prepare` does is not counted. */
  readonly startTimeoutMs: number;
  readonly session: string;
  readonly generation: number;
  readonly hello: Pick<HelloFrame, 'saved_tools' | 'capability_summary' | 'autoload'>;
  readonly loaded: ReadonlySet<string>;
  readonly load: (server: string) => void;
  readonly handleCall: HandleCall;
  readonly logger: Logger;
  readonly onProgress: (progress: PrepareProgress) => void;
}

export interface Kernel {
  /** The engine as it was when the sandbox started. */
  readonly engine: EngineReport;
  readonly ready: ReadyFrame;
  /** What the supervisor measured from inside, as soon as it has said so. */
  measured(): StartedReport | undefined;
  /** Resolves when the kernel has ended, whoever ended it. Never rejects. */
  readonly ended: Promise<KernelEnd>;
  /** Runs a cell, whose calls may use `asker`. Resolves with its result, or with the end of the kernel when there is none. */
  execute(
    frame: Omit<ExecuteFrame, 'type'>,
    listener: CellListener,
    asker: Asker | undefined,
  ): Promise<CellEnd | KernelEnd>;
  /** Calls of the cell that runs. */
  calls(): CallCounts;
  interrupt(cell: number, reason: 'deadline' | 'cancelled'): void;
  /** Ends the sandbox; `reason` is what `ended` then says. */
  kill(reason: string): Promise<void>;
}

/** Starts a sandbox and waits until its kernel is ready. Rejects with the engine's reason, or `SESSION_START_TIMEOUT`. */
export async function startKernel(options: KernelOptions): Promise<Kernel> {
  const { engine, limits, logger, packs, sources } = options;
  for (let round = 1; ; round += 1) {
    await prepareInTime(engine, options.onProgress);
    // Which engine it is may change from round to round.
    const packKey = `${engine.name} ${options.packKey}`;
    const pack = await packs.load(packKey);
    const sandbox = await engine.start({ command: kernelCommand(sources), session: options.session });
    const connection = new KernelConnection(sandbox, { ...options, packKey });
    if (sandbox.isPreloaded !== true) {
      connection.outbox.sendRaw(bootBlob(sources, { memoryBytes: limits.memoryBytes, pids: limits.pids, pack }));
    }
    connection.outbox.send(helloFrame(options));
    const outcome = await connection.ready;
    if ('python_version' in outcome) {
      return toKernel(connection, outcome, engine);
    }
    const error = explainStart(outcome, connection, options);
    if (error.data['retryNow'] !== true || round === MAX_START_ROUNDS) {
      throw error;
    }
    logger.info(`starting the sandbox again: ${error.message}`);
  }
}

function helloFrame({ engine, session, generation, hello, limits }: KernelOptions): HelloFrame {
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
    ...hello,
    capability_summary: withMissing(hello.capability_summary, engine),
  };
}

function toKernel(connection: KernelConnection, ready: ReadyFrame, engine: Engine): Kernel {
  return {
    engine: reportEngine(engine),
    ready,
    measured: () => connection.measured,
    ended: connection.ended,
    execute: (frame, listener, asker) => connection.execute(frame, listener, asker),
    calls: () => connection.calls(),
    interrupt: (cell, reason) => connection.outbox.sendInterrupt({ cell, reason }),
    kill: (reason) => connection.kill(reason),
  };
}

function explainStart(failure: FailedStart, connection: KernelConnection, options: KernelOptions): BridgeError {
  const stderr = connection.stderrTail;
  void connection.kill('it did not start');
  // An engine that brings the kernel knows best why it cannot be set up.
  const isEnginesFault = connection.sandbox.isPreloaded === true && failure.report?.cause === 'failed';
  if (failure.report !== undefined && !isEnginesFault) {
    const { memoryBytes, pids } = options.limits;
    const last = stderr === '' ? '' : `: ${stderr.split('\n').at(-1)}`;
    const why = describeSandboxEnd(failure.report, memoryBytes, pids);
    return new BridgeError('ENGINE_FAILED', `the sandbox ended while starting: ${why}${last}`, {
      hint: 'Check MCP_BRIDGE_IMAGE and MCP_BRIDGE_MEMORY; the log on stderr has what the sandbox said.',
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
  const exit = failure.exit ?? { exitCode: undefined, signal: undefined };
  return options.engine.explainStartFailure(connection.sandbox, exit, failure.report?.detail ?? stderr);
}
