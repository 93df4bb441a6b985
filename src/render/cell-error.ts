/** The error of a cell as text: what models and people read, on every way out. */
import type { CellError } from '../base/cell.ts';
import type { ErrorReport } from '../base/errors.ts';

/** A traceback, or `CODE: message`, `Hint: …` on its own line, and where an interrupt struck. */
export function renderCellError(error: CellError): string {
  const { code, message, hint, exception, traceback } = error;
  if (exception !== undefined) {
    // Python's text ends with the class and the message, and with the hint where there is one.
    return traceback || ownWords(error);
  }
  const first = code === undefined ? message : `${code}: ${message}`;
  return joinLines(first, hint && `Hint: ${hint}`, traceback);
}

/** What failed in one line: `CODE: message`, or the last line of what Python says; undefined when nothing is said. */
export function summarizeCellError(error: CellError): string | undefined {
  const { code, message } = error;
  if (code !== undefined) {
    return `${code}: ${message}`.split('\n', 1)[0];
  }
  return renderCellError(error)
    .split('\n')
    .findLast((line) => line.trim() !== '');
}

/** The error with the fields of every command's `--json`; of an exception the message is the traceback. */
export function reportCellError(error: CellError): ErrorReport {
  const { code, message, hint, exception, traceback } = error;
  return {
    ...(code !== undefined && { code }),
    message: exception === undefined ? joinLines(message, traceback) : renderCellError(error),
    ...(hint !== undefined && { hint }),
  };
}

/** An exception without a traceback, such as SystemExit. */
function ownWords({ message, hint, exception }: CellError): string {
  return joinLines(message === '' ? exception : `${exception}: ${message}`, hint && `Hint: ${hint}`);
}

function joinLines(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join('\n');
}
