/**
 * Runs one cell in one kernel and keeps the first cause of its end. Only the host's clock counts. An interrupt ends the
 * cell and keeps the variables; a kernel that ignores it is ended, and the answer says so.
 */

import { afterAttentiveMs } from '../base/attentive-timer.ts';
import {
  type CellAnswer,
  type CellError,
  type CellProgress,
  type CellRequest,
  type CellStatus,
  NO_OUTPUT,
  type Person,
} from '../base/cell.ts';
import { Countdown } from '../base/countdown.ts';
import { BridgeError, type ErrorCode, reportError, toBridgeError } from '../base/errors.ts';
import { INTERRUPT_GRACE_MS, INTERRUPT_REPEAT_MS, MAX_REPORTED_NAMES, MAX_VALUE_CHARS } from '../base/limits.ts';
import { escapeControls } from '../base/log.ts';
import { COMMAND } from '../base/package.ts';
import { quoteShellWord } from '../base/shell-words.ts';
import type { ExecuteFrame, ResultFrame } from '../protocol/frames.ts';
import { CellAsker } from './asker.ts';
import { createAttachments } from './attachments.ts';
import type { CellEnd } from './cell-end.ts';
import {
  describePreparing,
  type ProgressSources,
  SAMPLE_INTERVAL_MS,
  type StartingServer,
  watchProgress,
} from './cell-progress.ts';
import type { CellListener, KernelConnection, KernelEnd } from './connection.ts';
import { createOutputBuffer } from './output.ts';

export interface CellRun {
  readonly frame: Omit<ExecuteFrame, 'type'>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CellProgress) => void) | undefined;
  readonly onOutput?: CellRequest['onOutput'];
  readonly onClock?: CellRequest['onClock'];
  /** Undefined if the client cannot ask the person. */
  readonly person?: Person | undefined;
  /** How long a question waits for its reply. */
  readonly questionTimeoutMs: number;
  /** The servers that are starting for this session. */
  readonly startingServers: ProgressSources['startingServers'];
  /** What the next cell finds if the sandbox ends: the hint of the error. */
  readonly whatRemains: () => string;
}

/** How a cell ended: the answer without the parts that the session adds. */
export type CellOutcome = Pick<
  CellAnswer,
  'status' | 'stdout' | 'stderr' | 'attachments' | 'value' | 'error' | 'exitCode'
> & {
  readonly names: ResultFrame['names'];
  /** Modules that the code has imported, as the sandbox says. */
  readonly imported?: readonly string[] | undefined;
  readonly memoryBytes?: number | undefined;
};

/** Of a cell whose code did not run, because of the error. */
export function outcomeOfError(error: unknown): CellOutcome {
  const report = reportError(toBridgeError(error));
  return { status: 'error', stdout: NO_OUTPUT, stderr: NO_OUTPUT, names: undefined, error: report };
}

type Cause = 'deadline' | 'cancelled';
type Raised = NonNullable<ResultFrame['error']>;

/** Runs a cell to its end. Never rejects: a lost kernel is an outcome, too. */
export async function runCell(kernel: KernelConnection, run: CellRun): Promise<CellOutcome> {
  const output = { stdout: createOutputBuffer(), stderr: createOutputBuffer() };
  const attachments = createAttachments();
  const guard = watchForEnd(kernel, run);
  run.onClock?.(guard.clock);
  const asker = createAskerFor(run, guard.clock);
  const { onProgress, startingServers } = run;
  const isAsking = (): boolean => asker?.isWaiting === true;
  const progress = onProgress && watchProgress(onProgress, { calls: () => kernel.calls(), startingServers, isAsking });
  const listener: CellListener = {
    onOutput({ stream, text, dropped_bytes, dropped_lines }) {
      output[stream].add(text, dropped_bytes, dropped_lines);
      progress?.addOutput(text);
      run.onOutput?.(stream, text, dropped_bytes ?? 0);
    },
    onDisplay: (frame) => attachments.add(frame),
    onAttachment: (link) => attachments.addLink(link),
    onProgress: (stated) => progress?.setStated(stated),
    callWatch: progress,
  };
  const end = await kernel.execute(run.frame, listener, asker);
  asker?.close();
  progress?.stop();
  guard.stop();
  const verdict = 'result' in end ? judgeResult(bounded(end), run, guard) : judgeLoss(end, run, guard.cause());
  return {
    ...verdict,
    stdout: output.stdout.take(),
    stderr: output.stderr.take(),
    attachments: attachments.take(),
    names: 'result' in end ? reportedNames(end.result.names) : undefined,
    ...('result' in end && { imported: end.result.imported, memoryBytes: end.result.memory_bytes }),
  };
}

/** The kernel cuts each text at `MAX_VALUE_CHARS` and adds a line that says so. Code can write a frame with longer ones. */
const MAX_TEXT_CHARS = MAX_VALUE_CHARS + 1_024;

function bounded({ result, code }: CellEnd): CellEnd {
  const { value, error } = result;
  const cut = (text: string): string => text.slice(0, MAX_TEXT_CHARS);
  return {
    code,
    result: {
      ...result,
      ...(value === undefined ? {} : { value: cut(value) }),
      ...(error === undefined ? {} : { error: boundedError(error, cut) }),
    },
  };
}

function boundedError(error: Raised, cut: (text: string) => string): Raised {
  const { name, message, hint, traceback } = error;
  return {
    ...error,
    name: cut(name),
    message: cut(message),
    traceback: cut(traceback),
    ...(hint === undefined ? {} : { hint: cut(hint) }),
  };
}

/** The names that may be reported when they are lost; they are kept as long as the session. */
function reportedNames(names: ResultFrame['names']): ResultFrame['names'] {
  const some = (list: readonly string[]): string[] => list.filter(isPythonName).slice(0, MAX_REPORTED_NAMES);
  return (
    names && {
      variables: some(names.variables),
      functions: some(names.functions),
      imports: some(names.imports),
      omitted: names.omitted,
    }
  );
}

function createAskerFor({ person, frame, questionTimeoutMs }: CellRun, clock: Countdown) {
  return person && new CellAsker({ person, code: frame.code, clock, timeoutMs: questionTimeoutMs });
}

/** Interrupts the cell at its deadline or when the client gives up, and ends the kernel if that does not help. */
function watchForEnd(kernel: KernelConnection, { frame, timeoutMs, signal, onProgress, startingServers }: CellRun) {
  let cause: Cause | undefined;
  let awaited: readonly StartingServer[] = [];
  let release: (() => void) | undefined;
  const timers: NodeJS.Timeout[] = [];
  let stopWaiting: (() => void) | undefined;

  function end(why: Cause): void {
    if (cause !== undefined) {
      return;
    }
    cause = why;
    awaited = awaitedServers();
    kernel.interrupt(frame.cell, why);
    timers.push(setTimeout(() => kernel.interrupt(frame.cell, why), INTERRUPT_REPEAT_MS));
    stopWaiting = afterAttentiveMs(INTERRUPT_GRACE_MS, () => void kernel.kill(NO_REACTION));
  }

  function awaitedServers(): readonly StartingServer[] {
    return kernel.isCalling() ? startingServers() : [];
  }

  /** A download does not use up the cell's time, if the client sees its progress and so keeps waiting. */
  function pauseWhilePreparing(): void {
    if (awaitedServers().some(({ preparing }) => preparing !== undefined)) {
      release ??= clock.hold();
    } else {
      release?.();
      release = undefined;
    }
  }

  const onAbort = () => end('cancelled');
  const clock = new Countdown(timeoutMs, () => end('deadline'));
  const preparing = onProgress && setInterval(pauseWhilePreparing, SAMPLE_INTERVAL_MS).unref();
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) {
    onAbort();
  }
  return {
    clock,
    cause: () => cause,
    /** The servers that were starting when the cell was interrupted, if it was waiting for calls. */
    awaited: () => awaited,
    stop(): void {
      clock.stop();
      clearInterval(preparing);
      timers.forEach(clearTimeout);
      stopWaiting?.();
      signal?.removeEventListener('abort', onAbort);
    },
  };
}

const NO_REACTION = `the code did not react to the interrupt within ${INTERRUPT_GRACE_MS / 1000} s`;

type Guard = Pick<ReturnType<typeof watchForEnd>, 'cause' | 'awaited'>;
type Verdict = Pick<CellOutcome, 'status' | 'value' | 'error' | 'exitCode'>;

function judgeResult({ result, code }: CellEnd, run: CellRun, guard: Guard): Verdict {
  const cause = guard.cause();
  const { outcome, error, value } = result;
  if (outcome === 'ok') {
    return { status: 'success', value };
  }
  if (outcome === 'exit') {
    return exited(result.exit_code ?? 0);
  }
  // Without a cause the host did not interrupt the cell, whatever the frame says.
  return cause === undefined
    ? { status: 'error', exitCode: 1, error: error && errorOf(error, code) }
    : interrupted(run, cause, guard.awaited(), error?.traceback);
}

/** An operating system keeps eight bits of a status. */
function exited(status: number): Verdict {
  const exitCode = status & 0xff;
  return exitCode === 0
    ? { status: 'success' }
    : { status: 'error', exitCode, error: { message: String(exitCode), exception: 'SystemExit' } };
}

/** Stands for a class whose name is not an identifier. */
const SOME_EXCEPTION = 'Exception';

/** The sandbox chose the texts; the host chose `code`. */
function errorOf(raised: Raised, code: ErrorCode | undefined): CellError {
  const { name, message, hint, traceback } = raised;
  if (code === 'CHECK_FAILED') {
    return { code, message, hint };
  }
  return { code, message, hint, exception: isPythonName(name) ? name : SOME_EXCEPTION, traceback };
}

function interrupted(
  run: CellRun,
  cause: Cause,
  awaited: readonly StartingServer[],
  traceback: string | undefined,
): Verdict {
  const error =
    cause === 'deadline'
      ? atDeadline(run, awaited)
      : new BridgeError('CELL_CANCELLED', `${whoCancelled(run)} the cell; variables are kept`);
  return { ...STATUS_OF[cause], error: { ...reportError(error), traceback } };
}

function atDeadline(run: CellRun, awaited: readonly StartingServer[]): BridgeError {
  const what = `the cell was interrupted at its deadline of ${seconds(run)} s`;
  const names = awaited.map(({ name }) => `'${escapeControls(name)}'`).join(', ');
  if (names === '') {
    return new BridgeError('CELL_DEADLINE', `${what}; variables are kept`, {
      hint: 'Do less in one cell, or ask for more time with the argument timeout.',
    });
  }
  const servers = awaited.length === 1 ? `server ${names} was` : `servers ${names} were`;
  const test = `${COMMAND} servers test ${awaited.map(({ name }) => quoteShellWord(escapeControls(name))).join(' ')}`;
  const prepared = awaited.flatMap((server) => describePreparing(server) ?? []);
  const how = prepared.length === 0 ? '' : ` (${prepared.join('; ')})`;
  const next =
    prepared.length === 0
      ? 'Ask for more time with the argument timeout'
      : 'The start goes on, and may be a download: run the cell again in a minute';
  return new BridgeError('CELL_DEADLINE', `${what}, while ${servers} still starting${how}; variables are kept`, {
    hint: `${next}, or check the server in a terminal: ${test}`,
  });
}

function judgeLoss(end: KernelEnd, run: CellRun, cause: Cause | undefined): Verdict {
  if (cause === undefined) {
    const error = new BridgeError('SESSION_LOST', `the session ended while the cell ran: ${end.reason}`, {
      hint: end.advice === undefined ? run.whatRemains() : `${end.advice} ${run.whatRemains()}`,
    });
    return { status: 'error', exitCode: 1, error: reportError(error) };
  }
  const what =
    cause === 'deadline' ? `the cell reached its deadline of ${seconds(run)} s` : `${whoCancelled(run)} the cell`;
  const error = new BridgeError(
    cause === 'deadline' ? 'CELL_DEADLINE' : 'CELL_CANCELLED',
    `${what} and its session was ended, because ${end.reason}`,
    { hint: run.whatRemains() },
  );
  return { ...STATUS_OF[cause], error: reportError(error) };
}

/** The reason with which the signal of a cell aborts if not its client cancels it, but the operator, who watches it. */
export const BY_OPERATOR = new Error('interrupted by the operator');

/** The code `# stop` of a later call. */
export const BY_CODE = new Error('interrupted by # stop');

/** Whether a client still waits for the answer of the cell. */
export function isAwaited(signal: AbortSignal | undefined): boolean {
  return signal?.reason === BY_OPERATOR || signal?.reason === BY_CODE;
}

/** Subject and verb of a clause. */
function whoCancelled({ signal }: CellRun): string {
  if (signal?.reason === BY_CODE) {
    return '`# stop` interrupted';
  }
  return isAwaited(signal) ? 'the operator interrupted' : 'the client cancelled';
}

/** 124 and 130 are the exit codes of timeout(1) and of an interrupted shell. */
const STATUS_OF: Readonly<Record<Cause, { readonly status: CellStatus; readonly exitCode: number }>> = {
  deadline: { status: 'timeout', exitCode: 124 },
  cancelled: { status: 'cancelled', exitCode: 130 },
};

function seconds({ timeoutMs }: CellRun): number {
  return timeoutMs / 1000;
}

/** No name that a person wrote is longer. Chosen. */
const MAX_NAME_CHARS = 64;
const IDENTIFIER = /^[\p{ID_Start}_]\p{ID_Continue}*$/u;

/** Whether a name from the sandbox is a short identifier, so that it cannot carry a sentence into a text of the host. */
export function isPythonName(text: string): boolean {
  return text.length <= MAX_NAME_CHARS && IDENTIFIER.test(text);
}
