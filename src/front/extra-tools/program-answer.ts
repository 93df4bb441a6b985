/** The result of a program as a tool result. */
import type { ErrorReport } from '../../core/base/errors.ts';
import type { ProgramResult } from '../../core/base/program.ts';
import { counted } from '../../core/base/units.ts';
import type { RenderedAnswer } from '../../core/render/render.ts';
import { asShown } from '../../core/render/terminal-text.ts';
import { cutMiddle, describeGap, shareOut } from '../../core/render/truncate.ts';

/** Shows both streams, together with at most `maxChars` characters. A failure is named before them. */
export function renderProgram(result: ProgramResult, maxChars: number): RenderedAnswer {
  const { status, exitCode, durationMs, droppedBytes } = result;
  const streams = [asShown(result.stdout), asShown(result.stderr)];
  const shares = shareOut(
    maxChars,
    streams.map((text) => text.length),
  );
  const [stdout = '', stderr = ''] = streams.map((text, index) => cut(text, shares[index] ?? 0));
  const message = describeFailure(result);
  const lines = [
    ...(message === undefined ? [] : [`Execution Failed (${status}): ${message}`]),
    '--- stdout ---',
    ...linesOf(stdout),
    '--- stderr ---',
    ...linesOf(stderr),
    ...(droppedBytes === 0 ? [] : [`[${counted(droppedBytes, 'byte')} of output were not kept.]`]),
  ];
  return {
    content: [{ type: 'text', text: lines.join('\n') }],
    structuredContent: {
      status,
      exit_code: exitCode ?? null,
      stdout,
      stderr,
      duration_ms: Math.round(durationMs),
      ...(message !== undefined && { message }),
    },
    isError: status !== 'success',
  };
}

/** The answer to a program that did not run. */
export function renderNotRun({ code, message, hint }: ErrorReport): RenderedAnswer {
  const sentence = code === undefined ? message : `${code}: ${message}`;
  const lines = [`Execution Failed (error): ${sentence}`, ...(hint === undefined ? [] : [`Hint: ${hint}`])];
  const structuredContent = {
    status: 'error',
    exit_code: null,
    stdout: '',
    stderr: '',
    duration_ms: 0,
    message: hint === undefined ? sentence : `${sentence}\nHint: ${hint}`,
  };
  return { content: [{ type: 'text', text: lines.join('\n') }], structuredContent, isError: true };
}

function describeFailure({ status, exitCode, durationMs }: ProgramResult): string | undefined {
  switch (status) {
    case 'success':
      return undefined;
    case 'timeout':
      return `the program was ended at its deadline, after ${(durationMs / 1000).toFixed(1)} s`;
    case 'error':
      return exitCode === undefined ? 'the program was ended' : `the program exited with code ${exitCode}`;
  }
}

function cut(text: string, maxChars: number): string {
  const { first, gap, last } = cutMiddle(text, '', { bytes: 0, lines: 0 }, maxChars);
  return (gap === undefined ? first : [...linesOf(first), describeGap(gap), last].join('\n')).toWellFormed();
}

/** A final line feed does not start another line. */
function linesOf(text: string): string[] {
  return text === '' ? [] : [text.endsWith('\n') ? text.slice(0, -1) : text];
}
