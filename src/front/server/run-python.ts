/** `run_python`: its arguments are checked, the cell is run, and the answer is rendered. */

import {
  type CellAnswer,
  type CellRequest,
  DEFAULT_SESSION,
  NO_OUTPUT,
  type ShownAnswer,
} from '../../core/base/cell.ts';
import { BridgeError, type ErrorCode, reportError, toBridgeError } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { useWhenThere } from '../../core/base/maybe-promise.ts';
import { type OutputMode, type RenderedAnswer, renderAnswer } from '../../core/render/render.ts';
import type { LazyBridge } from '../../core/session/lazy-bridge.ts';
import { type CellArguments, checkRunArguments } from './arguments.ts';
import type { FrontTool, RunPythonCall } from './front-tool.ts';
import type { LongCells, RunCell } from './long-cells.ts';
import { showRunPython } from './tool-definition.ts';
import { CELL_VIEW_KEY } from './views.ts';

export interface RunPythonOptions {
  readonly bridge: LazyBridge;
  readonly outputMode: OutputMode;
  /** Limits output, value and error of one answer together. */
  readonly maxOutputChars: number;
  readonly defaultTimeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  readonly logger: Logger;
  /** See `CellRequest`. */
  readonly untilRoom?: ((request?: Request) => Promise<void> | undefined) | undefined;
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

/** The answer to one call, when its cell has ended. Refused arguments and failures of the bridge are answers, too. */
export function answerCell(options: RunPythonOptions, call: RunPythonCall): Promise<CellAnswer> {
  return answerThrough(options, call, (request, run) => run(request));
}

/** The same, but before the client gives up. */
export function answerInTime(options: RunPythonOptions, call: RunPythonCall, long: LongCells): Promise<ShownAnswer> {
  return answerThrough(options, call, (request, run, { isBackground }) =>
    long.answer(request, isBackground ? 0 : call.patienceMs, run),
  );
}

async function answerThrough<Answer>(
  options: RunPythonOptions,
  call: RunPythonCall,
  answer: (request: CellRequest, run: RunCell, given: CellArguments) => Promise<Answer>,
): Promise<Answer | CellAnswer> {
  const { bridge, defaultTimeoutSeconds, maxTimeoutSeconds, observer, untilRoom } = options;
  let cell: Pick<CellArguments, 'servers' | 'session' | 'timeoutSeconds'> = {
    servers: [],
    session: DEFAULT_SESSION,
    timeoutSeconds: defaultTimeoutSeconds,
  };
  const fail = (thrown: unknown): CellAnswer => {
    observer?.cellFailed(thrown);
    if (!(thrown instanceof BridgeError)) {
      options.logger.error(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
    }
    return { ...cell, ...failureOf(toBridgeError(thrown)) };
  };
  const run: RunCell = async (request) => {
    try {
      const found = bridge.get();
      const made = found instanceof Promise ? await found : found;
      const ended = await made.runCell(request);
      observer?.cellEnded();
      return ended;
    } catch (thrown) {
      return fail(thrown);
    }
  };
  try {
    const given = await checkRunArguments(call.given, {
      defaultTimeoutSeconds,
      maxTimeoutSeconds,
      listServers: () => useWhenThere(bridge.get(), (made) => made.listServers()),
    });
    const { code, servers, session, timeoutSeconds } = given;
    cell = { servers, session, timeoutSeconds };
    observer?.cellBegins();
    const { isFresh, signal, onOutput, onProgress, person, wantsView } = call;
    const timeoutMs = timeoutSeconds * 1000;
    const parts = { signal, onOutput, onProgress, untilRoom, person, isFresh, wantsView };
    return await answer({ code, servers, session, timeoutMs, ...parts }, run, given);
  } catch (thrown) {
    return fail(thrown);
  }
}

/** The tool `run_python`. */
export function createRunPython(
  options: Pick<RunPythonOptions, 'outputMode' | 'maxOutputChars' | 'defaultTimeoutSeconds' | 'maxTimeoutSeconds'> &
    Parameters<typeof showRunPython>[0],
): FrontTool {
  return {
    ...showRunPython(options),
    call: (given) => ({
      kind: 'cell',
      cell: { given },
      render(answer) {
        const rendered = renderAnswer(answer, options.outputMode, options.maxOutputChars);
        return useWhenThere(rendered, (made) => withView(answer, made));
      },
    }),
  };
}

/** What the model reads is the same with a view. */
function withView({ view }: ShownAnswer, rendered: RenderedAnswer): RenderedAnswer {
  return view === undefined ? rendered : { ...rendered, _meta: { [CELL_VIEW_KEY]: view } };
}

/** Codes with which `checkRunArguments` rejects. */
const REFUSED_ARGUMENTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['ARGUMENT_INVALID', 'SERVER_NOT_AVAILABLE']);

function failureOf(error: BridgeError) {
  const status = REFUSED_ARGUMENTS.has(error.code) ? 'validation_error' : 'error';
  return { status, stdout: NO_OUTPUT, stderr: NO_OUTPUT, error: reportError(error), notices: [] } as const;
}
