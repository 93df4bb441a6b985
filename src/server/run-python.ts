/** One call of `run_python`: checks the arguments, runs the cell, renders the answer. Never rejects. */

import { type CellAnswer, type CellProgress, DEFAULT_SESSION, NO_OUTPUT, type Person } from '../base/cell.ts';
import { BridgeError, type ErrorCode, reportError, toBridgeError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { type OutputMode, type RenderedAnswer, renderAnswer } from '../render/render.ts';
import { type CellArguments, checkRunArguments } from './arguments.ts';
import type { LazyBridge } from './lazy-bridge.ts';

export interface RunPythonOptions {
  readonly bridge: LazyBridge;
  readonly outputMode: OutputMode;
  /** Limits output, value and error of one answer together. */
  readonly maxOutputChars: number;
  readonly defaultTimeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  readonly logger: Logger;
  /** See `CellRequest`. */
  readonly untilRoom?: (() => Promise<void>) | undefined;
  readonly observer?: CellObserver | undefined;
}

/** Learns whether cells can run. */
export interface CellObserver {
  /** A cell with valid arguments is about to run. */
  cellBegins(): void;
  cellEnded(): void;
  /** A cell did not run. */
  cellFailed(error: unknown): void;
}

export interface RunPythonCall {
  /** `params.arguments` as the client sent it; not checked yet. */
  readonly given: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CellProgress) => void) | undefined;
  /** Undefined if the client cannot ask the person. */
  readonly person?: Person | undefined;
}

/** The answer to one call. Refused arguments and failures of the bridge are answers, too. */
export async function answerCell(options: RunPythonOptions, call: RunPythonCall): Promise<CellAnswer> {
  const { bridge, defaultTimeoutSeconds, maxTimeoutSeconds, observer, untilRoom } = options;
  let cell: Pick<CellArguments, 'servers' | 'session' | 'timeoutSeconds'> = {
    servers: [],
    session: DEFAULT_SESSION,
    timeoutSeconds: defaultTimeoutSeconds,
  };
  try {
    const { code, ...rest } = await checkRunArguments(call.given, {
      defaultTimeoutSeconds,
      maxTimeoutSeconds,
      listServers: async () => (await bridge.get()).listServers(),
    });
    cell = rest;
    observer?.cellBegins();
    const { servers, session, timeoutSeconds } = rest;
    const { signal, onProgress, person } = call;
    const timeoutMs = timeoutSeconds * 1000;
    const made = await bridge.get();
    const answer = await made.runCell({ code, servers, session, timeoutMs, signal, onProgress, untilRoom, person });
    observer?.cellEnded();
    return answer;
  } catch (thrown) {
    observer?.cellFailed(thrown);
    if (!(thrown instanceof BridgeError)) {
      options.logger.error(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
    }
    return { ...cell, ...failureOf(toBridgeError(thrown)) };
  }
}

/** The same as a tool result. */
export async function callRunPython(options: RunPythonOptions, call: RunPythonCall): Promise<RenderedAnswer> {
  return render(options, await answerCell(options, call));
}

/** Renders an answer as the settings ask. */
export function render(options: RunPythonOptions, answer: CellAnswer): Promise<RenderedAnswer> {
  return renderAnswer(answer, options.outputMode, options.maxOutputChars);
}

/** Codes with which `checkRunArguments` rejects. */
const REFUSED_ARGUMENTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['ARGUMENT_INVALID', 'SERVER_NOT_AVAILABLE']);

function failureOf(error: BridgeError) {
  const status = REFUSED_ARGUMENTS.has(error.code) ? 'validation_error' : 'error';
  return { status, stdout: NO_OUTPUT, stderr: NO_OUTPUT, error: reportError(error), notices: [] } as const;
}
