/// <reference lib="es2024.string" />
/**
 * The fields of an answer, cut to what an agent can read; empty fields are left out. Output is shown as the code wrote it,
 * except that blank lines at its start and end are removed.
 */

import {
  type CellAnswer,
  DEFAULT_SESSION,
  type EngineReport,
  type OutputText,
  type ShownAnswer,
} from '../base/cell.ts';
import type { ErrorCode, ErrorReport } from '../base/errors.ts';
import { renderCellError, reportCellError, summarizeCellError } from './cell-error.ts';
import { asShown } from './terminal-text.ts';
import { cutEnd, cutMiddle, describeGap, shareOut, splitAtGap } from './truncate.ts';

const MAX_SUMMARY_CHARS = 200;

/** Every field of an answer. The compact mode leaves out `status` when it is `success`. */
export interface Payload {
  status?: string;
  summary: string;
  notices?: readonly string[];
  /** Left out if 0. */
  exitCode?: number;
  /** Lines, without line feeds. */
  stdout?: readonly string[];
  stderr?: readonly string[];
  /** The last expression as text. */
  result?: string;
  error?: string;
  /** Left out if the code itself failed. */
  errorCode?: ErrorCode;
  servers?: readonly string[];
  timeoutSeconds: number;
  /** Left out for the default session. */
  session?: string;
  /** In the first answer of a session, and if it has changed. `refused` is left out if empty. */
  engine?: Omit<EngineReport, 'refused'> & Partial<Pick<EngineReport, 'refused'>>;
}

/** The payload of an answer. All text is well-formed Unicode; output, value and error together have at most `maxChars` characters. */
export function buildPayload(answer: ShownAnswer, maxChars: number): Payload {
  return payloadOf(answer, answer.error && renderCellError(answer.error), maxChars);
}

/** The same with the error in the format of every command's `--json`. */
export function buildReport(answer: CellAnswer, maxChars: number): object {
  const report = answer.error && reportCellError(answer.error);
  const { error = '', errorCode: _code, ...payload } = payloadOf(answer, report?.message, maxChars);
  return report === undefined ? payload : { ...payload, error: { ...report, message: error } satisfies ErrorReport };
}

function payloadOf(answer: ShownAnswer, failure: string | undefined, maxChars: number): Payload {
  const { notices, value } = answer;
  const [written, warned] = [outputAsShown(answer.stdout), outputAsShown(answer.stderr)];
  const lengths = [lengthOf(written), lengthOf(warned), value?.length ?? 0, failure?.length ?? 0];
  const [stdoutChars = 0, stderrChars = 0, valueChars = 0, errorChars = 0] = shareOut(maxChars, lengths);
  const stdout = toLines(written, stdoutChars, answer.cell && `runtime.output(${answer.cell})`);
  const stderr = toLines(warned, stderrChars, answer.cell && `runtime.output(${answer.cell}, "stderr")`);
  const result = value === undefined ? undefined : cutText(value, valueChars, answer.cell && '_');
  const error = failure === undefined ? undefined : cutText(failure, errorChars);
  const hasOutput = stdout.length > 0 || stderr.length > 0 || result !== undefined;
  return {
    status: answer.status,
    summary: summarize(answer, hasOutput),
    ...(notices.length > 0 && { notices: notices.map((notice) => notice.toWellFormed()) }),
    ...(answer.exitCode !== undefined && answer.exitCode !== 0 && { exitCode: answer.exitCode }),
    ...(stdout.length > 0 && { stdout }),
    ...(stderr.length > 0 && { stderr }),
    ...(result !== undefined && { result }),
    ...(error !== undefined && error !== '' && { error }),
    ...(answer.error?.code !== undefined && { errorCode: answer.error.code }),
    ...(answer.servers.length > 0 && { servers: answer.servers }),
    timeoutSeconds: answer.timeoutSeconds,
    ...(answer.session !== DEFAULT_SESSION && { session: answer.session }),
    ...(answer.engine !== undefined && { engine: describeEngine(answer.engine) }),
  };
}

function describeEngine({ refused, ...engine }: EngineReport): NonNullable<Payload['engine']> {
  return refused.length === 0 ? engine : { ...engine, refused };
}

function summarize(answer: ShownAnswer, hasOutput: boolean): string {
  switch (answer.status) {
    case 'success':
      return hasOutput ? 'Success' : 'Success (no output)';
    case 'timeout':
      return `Timeout after ${answer.timeoutSeconds} s`;
    case 'cancelled':
      return 'Cancelled';
    case 'running':
      return 'Running';
    default:
      return summarizeError(answer);
  }
}

function summarizeError({ error, exitCode }: Pick<CellAnswer, 'error' | 'exitCode'>): string {
  const line = error && summarizeCellError(error);
  if (line === undefined) {
    return exitCode === undefined ? 'Error' : `Exited with code ${exitCode}`;
  }
  return cutEnd(line, MAX_SUMMARY_CHARS).toWellFormed();
}

/** What a terminal would show of it. */
export function outputAsShown(output: OutputText): OutputText {
  return { ...output, head: asShown(output.head), tail: asShown(output.tail) };
}

function lengthOf({ head, tail }: OutputText): number {
  return head.length + tail.length;
}

/** The lines of a stream, cut in the middle; a separate line says what is missing. */
function toLines(output: OutputText, maxChars: number, whole: string | 0 | undefined): string[] {
  const dropped = { bytes: output.droppedBytes, lines: output.droppedLines };
  const { first, gap, last } = cutMiddle(output.head, output.tail, dropped, maxChars);
  if (gap === undefined) {
    return trimBlankEnds(splitLines(first));
  }
  return trimBlankEnds([...splitLines(first), describeGap(gap, whole || undefined), ...splitLines(last)]);
}

function cutText(text: string, maxChars: number, whole?: string | 0): string {
  const { head, dropped, tail } = splitAtGap(text);
  const output = { head: asShown(head), droppedBytes: dropped.bytes, droppedLines: dropped.lines, tail: asShown(tail) };
  return toLines(output, maxChars, whole).join('\n');
}

/** A final line feed does not start another line. */
function splitLines(text: string): string[] {
  if (text === '') {
    return [];
  }
  const lines = text.toWellFormed().split('\n');
  if (lines.at(-1) === '') {
    lines.pop();
  }
  return lines;
}

function trimBlankEnds(lines: string[]): string[] {
  const isWritten = (line: string): boolean => line !== '' && line !== '\r';
  const start = lines.findIndex(isWritten);
  return start === -1 ? [] : lines.slice(start, lines.findLastIndex(isWritten) + 1);
}
