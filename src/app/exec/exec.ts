/** `exec`: runs one cell from the shell, on the same code path as a client's call, and prints the answer. */
import type { CellAnswer, Person } from '../../core/base/cell.ts';
import { ERROR_CODES } from '../../core/base/errors.ts';
import { INTERRUPT_GRACE_MS } from '../../core/base/limits.ts';
import { escapeInLines, renderJson } from '../../core/base/log.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { renderCellError } from '../../core/render/cell-error.ts';
import { buildReport } from '../../core/render/payload.ts';
import { LazyBridge } from '../../core/session/lazy-bridge.ts';
import { readCode } from '../../edges/terminal/code-source.ts';
import type { CommandContext, OpenedReplay } from '../../edges/terminal/command.ts';
import { argumentsOfFunction, cellFor } from '../../edges/terminal/kept-function.ts';
import { closeInTime, watchProcess } from '../../edges/terminal/lifecycle.ts';
import { startProgress } from '../../edges/terminal/progress-line.ts';
import { createTerminalPerson, type Terminal } from '../../edges/terminal/terminal-person.ts';
import { answerCell } from '../../front/server/cell-answers.ts';
import { type ExecCommand, hasCode } from './command.ts';
import { LiveOutput } from './live-output.ts';
import { hintsForShell } from './shell-hints.ts';

const CELL_FAILED = 1;
/** Chosen: what the answer needs after the sandbox has reacted, or was ended. */
const ANSWER_MS = 1_000;

export interface ExecOptions extends CommandContext {
  /** Where the person can be asked for approval. */
  readonly terminal?: Terminal | undefined;
  readonly input: NodeJS.ReadableStream;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Whether stdout is a terminal. */
  readonly isShown: boolean;
  /** Whether stderr is a terminal. */
  readonly isErrorShown: boolean;
}

/** Runs the cell, or the cells of a recording, and prints the answers; resolves with the exit code once the sandbox is gone. */
export async function exec(command: ExecCommand, options: ExecOptions): Promise<number> {
  const { logger } = options;
  const replay = command.replay === undefined ? undefined : await options.openReplay(command.replay);
  const { isDryRun, resume } = command;
  const bridge = new LazyBridge(() =>
    replay === undefined ? options.createBridge({ isDryRun, resume }) : replay.createBridge(),
  );
  const cells = await cellsOf(command, options, { replay, bridge }).catch(async (error: unknown) => {
    await bridge.close();
    throw error;
  });
  const cancel = new AbortController();
  const lifecycle = watchProcess(logger);
  const answers: CellAnswer[] = [];
  let ended: number | undefined;
  for (const cell of cells) {
    const live = liveOutput(options);
    const running = runOne(cell, command, options, { bridge, live, signal: cancel.signal });
    const first = await Promise.race([running, lifecycle.ended]);
    if ('reason' in first) {
      cancel.abort(first.reason);
      ended = first.exitCode;
    }
    const answer = 'reason' in first ? await lastAnswer(running) : first;
    if (answer === undefined) {
      options.writeError('The cell was interrupted.\n');
      break;
    }
    answers.push(ended === undefined ? answer : forInterrupted(answer, command));
    if (!command.isJson) {
      printAnswer(answers.at(-1) ?? answer, live, options);
    }
    if (ended !== undefined) {
      break;
    }
    if (cell.isSame?.(answer) === false) {
      options.writeError(`Cell ${answers.length} of the recording has ended differently than recorded.\n`);
    }
  }
  if (command.isJson && (ended === undefined || answers.length > 0)) {
    printReports(answers, command, options);
  }
  await closeInTime(() => bridge.close(), logger);
  return ended ?? answers.map(exitCodeOf).find((code) => code !== 0) ?? 0;
}

interface Cell {
  /** As `run_python` takes it. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly isSame?: (answer: CellAnswer) => boolean;
}

async function cellsOf(
  command: ExecCommand,
  options: ExecOptions,
  { bridge, replay }: { readonly bridge: LazyBridge; readonly replay: OpenedReplay | undefined },
): Promise<Cell[]> {
  const { code, jsonArguments, servers, session, timeoutSeconds, tool, words } = command;
  if (tool !== undefined) {
    const kept = await options.findFunction(tool);
    const given = await argumentsOfFunction(words, jsonArguments, kept);
    const call = cellFor(kept, given, command.isJson);
    const all = [...new Set([...servers, ...(await configured(kept.servers, bridge))])];
    return [{ given: { code: call, servers: all, session, timeout: timeoutSeconds } }];
  }
  if (hasCode(command)) {
    const source = await readCode({ code, path: words[0] }, options.input);
    return [{ given: { code: source, servers, session, timeout: timeoutSeconds } }];
  }
  return (replay?.cells ?? []).map(({ isSame, status: _status, timeoutSeconds: timeout, ...given }) => ({
    given: { ...given, timeout },
    isSame,
  }));
}

/** Those of the names that are servers. The others are words in the source that look like names of servers. */
async function configured(names: readonly string[], bridge: LazyBridge): Promise<string[]> {
  if (names.length === 0) {
    return [];
  }
  const servers = (await bridge.get()).listServers();
  return names.map((name) => servers.resolve(name)).filter((name) => name !== undefined);
}

/** Never rejects. */
async function runOne(
  { given }: Cell,
  command: ExecCommand,
  { logger, settings, terminal }: ExecOptions,
  { bridge, live, signal }: { readonly bridge: LazyBridge; readonly live: Live; readonly signal: AbortSignal },
): Promise<CellAnswer> {
  const line = await startProgress({ isJson: command.isJson, writePlain: logger.info });
  const answer = await answerCell(
    {
      bridge,
      outputMode: settings.outputMode,
      maxOutputChars: settings.maxOutputChars,
      defaultTimeoutSeconds: settings.timeoutSeconds,
      maxTimeoutSeconds: settings.maxTimeoutSeconds,
      logger,
    },
    {
      given,
      signal,
      ...(!command.isJson && {
        onOutput(stream: keyof Live, text: string, droppedBytes: number) {
          line.pause();
          live[stream].add(text, droppedBytes);
        },
      }),
      // While the code runs, the line is gone: the terminal may be needed for output or a question.
      onProgress: ({ message, isRunning }) => (isRunning === true ? line.pause() : line.update(message)),
      person: personAt(command, terminal),
    },
  ).finally(line.stop);
  return { ...answer, error: answer.error && hintsForShell(answer.error) };
}

/** One report for code that was given, a list for the cells of a recording. */
function printReports(answers: readonly CellAnswer[], command: ExecCommand, options: ExecOptions): void {
  const reports = answers.map((answer) => ({
    ...buildReport(answer, options.settings.maxOutputChars),
    ...(command.tool === undefined ? {} : resultOf(answer)),
  }));
  const isList = command.tool === undefined && !hasCode(command);
  options.writeOut(renderJson(isList ? reports : reports[0]));
}

/** What the function returned, unless it is too long. */
function resultOf({ value }: CellAnswer): { readonly result?: unknown } {
  const read = readUntrusted(value ?? '', JSON_BOUNDS.frame);
  return read.ok ? { result: read.value } : {};
}

/** No one can answer on stdin if the code was read from it. */
function personAt(command: ExecCommand, terminal: Terminal | undefined): Person | undefined {
  const isStdinUsed = hasCode(command) && command.code === undefined && command.words[0] === '-';
  return terminal === undefined || isStdinUsed ? undefined : createTerminalPerson(terminal);
}

/**
 * stdout and the value to stdout; stderr, the error and notices to stderr. A terminal gets them escaped: code and servers could
 * otherwise forge what is on the screen. A pipe gets them as they are.
 */
function printAnswer(answer: CellAnswer, live: Live, options: ExecOptions): void {
  const { writeError, writeOut } = escaping(options);
  writeOut(live.stdout.rest(answer.stdout));
  if (answer.value !== undefined) {
    writeOut(endLine(answer.value));
  }
  writeError(live.stderr.rest(answer.stderr));
  if (answer.error !== undefined) {
    writeError(endLine(renderCellError(answer.error)));
  }
  for (const notice of answer.notices) {
    writeError(`${notice}\n`);
  }
}

interface Live {
  readonly stdout: LiveOutput;
  readonly stderr: LiveOutput;
}

function liveOutput(options: ExecOptions): Live {
  const { writeError, writeOut } = escaping(options);
  return {
    stdout: new LiveOutput(writeOut, options.isShown),
    stderr: new LiveOutput(writeError, options.isErrorShown),
  };
}

function escaping(options: ExecOptions): Pick<ExecOptions, 'writeOut' | 'writeError'> {
  return {
    writeOut: (text) => options.writeOut(options.isShown ? forTerminal(text) : text),
    writeError: (text) => options.writeError(options.isErrorShown ? forTerminal(text) : text),
  };
}

/** The answer of a cell that is being interrupted; undefined if it does not come soon, or Ctrl-C is pressed again. */
async function lastAnswer(running: Promise<CellAnswer>): Promise<CellAnswer | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    const giveUp = (): void => resolve(undefined);
    timer = setTimeout(giveUp, INTERRUPT_GRACE_MS + ANSWER_MS);
    process.once('SIGINT', giveUp);
  });
  return Promise.race([running, late]).finally(() => clearTimeout(timer));
}

/** A session without a name ends with the command. */
function forInterrupted(answer: CellAnswer, { session }: ExecCommand): CellAnswer {
  if (answer.status !== 'cancelled' || answer.error === undefined) {
    return answer;
  }
  const kept = session === undefined ? '' : `; the variables of the session '${session}' are kept`;
  const message = answer.error.message
    .replace(/^the client cancelled the cell/, 'the cell was interrupted')
    .replace('; variables are kept', kept);
  return { ...answer, error: { ...answer.error, message } };
}

/** A CR before a line feed is harmless, and usual in CSV and HTTP. */
function forTerminal(text: string): string {
  return escapeInLines(text.replaceAll('\r\n', '\n'));
}

/** 0 for success, 124 at the deadline, the exit code of an error code, otherwise the exit code of the cell, or 1. */
function exitCodeOf(answer: CellAnswer): number {
  switch (answer.status) {
    case 'success':
      return 0;
    case 'timeout':
      return ERROR_CODES.CELL_DEADLINE.exitCode;
    case 'cancelled':
      return ERROR_CODES.CELL_CANCELLED.exitCode;
    default: {
      const code = answer.error?.code;
      return code === undefined ? answer.exitCode || CELL_FAILED : ERROR_CODES[code].exitCode;
    }
  }
}

function endLine(line: string): string {
  return line === '' || line.endsWith('\n') ? line : `${line}\n`;
}
