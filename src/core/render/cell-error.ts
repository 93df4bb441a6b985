/** The error of a cell as text for models and people, on every output path. */
import type { CellError } from '../base/cell.ts';
import type { ErrorReport } from '../base/errors.ts';

/** The traceback of an exception; otherwise `CODE: message`, a line `Hint: …`, and where an interrupt arrived. */
export function renderCellError(error: CellError): string {
  const { code, message, hint, exception, traceback } = error;
  if (exception !== undefined) {
    // A traceback ends with the class, the message and the hint, if there is one.
    return traceback || withoutTraceback(error);
  }
  const first = code === undefined ? message : `${code}: ${message}`;
  return joinLines(first, hint && `Hint: ${hint}`, traceback);
}

/** What failed, in one line: `CODE: message` or `Exception: message`; undefined if there is no text. */
export function summarizeCellError({ code, message, exception }: CellError): string | undefined {
  // The message of an exception may contain its hint, after the first line.
  const first = message.split('\n').find((line) => line.trim() !== '');
  const parts = [code ?? exception, first?.trim()].filter((part) => part !== undefined && part !== '');
  return parts.length === 0 ? undefined : parts.join(': ');
}

/** The error in the format of every command's `--json`. The message of an exception is its traceback. */
export function reportCellError(error: CellError): ErrorReport {
  const { code, message, hint, exception, traceback } = error;
  return {
    ...(code !== undefined && { code }),
    message: exception === undefined ? joinLines(message, traceback) : renderCellError(error),
    ...(hint !== undefined && { hint }),
  };
}

/** For an exception that has no traceback, such as SystemExit. */
function withoutTraceback({ message, hint, exception }: CellError): string {
  return joinLines(message === '' ? exception : `${exception}: ${message}`, hint && `Hint: ${hint}`);
}

function joinLines(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join('\n');
}
