/** One call of `run_python`: arguments checked, the cell run, the answer rendered. Never rejects. */

import { type CellAnswer, type CellProgress, DEFAULT_SESSION, NO_OUTPUT, type Person } from '../base/cell.ts';
import { BridgeError, type ErrorCode, reportError, toBridgeError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { type OutputMode, type RenderedAnswer, renderAnswer } from '../render/render.ts';
import { type CellArguments, checkRunArguments } from './arguments.ts';
import type { CellRunner } from './cell-runner.ts';

export interface RunPythonOptions {
  readonly runner: CellRunner;
  readonly outputMode: OutputMode;
  /** Characters of output, value and error in one answer. */
  readonly maxOutputChars: number;
  readonly defaultTimeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  readonly logger: Logger;
  /** See `CellRequest`. */
  readonly untilRoom?: (() => Promise<void>) | undefined;
}

export interface RunPythonCall {
  /** `params.arguments` as the client sent it; not checked yet. */
  readonly given: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CellProgress) => void) | undefined;
  /** Who can be asked; undefined when the client cannot ask anybody. */
  readonly person?: Person | undefined;
}

/** The answer to one call; refused arguments and failures of the bridge are answers too. */
export async function answerCell(options: RunPythonOptions, call: RunPythonCall): Promise<CellAnswer> {
  let cell: Pick<CellArguments, 'servers' | 'session' | 'timeoutSeconds'> = {
    servers: [],
    session: DEFAULT_SESSION,
    timeoutSeconds: options.defaultTimeoutSeconds,
  };
  try {
    const { code, ...rest } = await checkRunArguments(call.given, {
      defaultTimeoutSeconds: options.defaultTimeoutSeconds,
      maxTimeoutSeconds: options.maxTimeoutSeconds,
      knownServers: () => options.runner.knownServers(),
      whyDisabled: async (name) => options.runner.whyDisabled?.(name),
      serverFileProblems: async () => (await options.runner.serverFileProblems?.()) ?? [],
    });
    cell = rest;
    const { signal, onProgress, person } = call;
    const timeoutMs = cell.timeoutSeconds * 1000;
    return await options.runner.runCell({
      code,
      servers: cell.servers,
      session: cell.session,
      timeoutMs,
      signal,
      onProgress,
      untilRoom: options.untilRoom,
      person,
    });
  } catch (thrown) {
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

/** An answer as the settings want it shown. */
export function render(options: RunPythonOptions, answer: CellAnswer): Promise<RenderedAnswer> {
  return renderAnswer(answer, options.outputMode, options.maxOutputChars);
}

/** Codes of what `checkRunArguments` refuses. */
const REFUSED_ARGUMENTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['ARGUMENT_INVALID', 'SERVER_NOT_AVAILABLE']);

function failureOf(error: BridgeError) {
  const status = REFUSED_ARGUMENTS.has(error.code) ? 'validation_error' : 'error';
  return { status, stdout: NO_OUTPUT, stderr: NO_OUTPUT, error: reportError(error), notices: [] } as const;
}
