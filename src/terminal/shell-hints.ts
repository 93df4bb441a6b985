/** Next steps for a person at a shell, in place of those that the same failure has for an agent. */

import type { CellError } from '../base/cell.ts';
import { quoteShellWord } from '../base/shell-words.ts';

const HINT_LINE = /^\s*Hint: .*$/gm;
const LOAD = /[Cc]all run_python again with servers=\['([^'\n]+)'\]/g;

/** The error of a cell with the options of `exec` in its hints, those that a check or a traceback repeats included. */
export function hintsForShell(error: CellError): CellError {
  const { message, hint, traceback } = error;
  return {
    ...error,
    message: inText(message),
    hint: hint && forShell(hint),
    traceback: traceback && inText(traceback),
  };
}

function inText(text: string): string {
  return text.replace(HINT_LINE, forShell);
}

function forShell(hint: string): string {
  return hint
    .replace(LOAD, (_whole, name: string) => `Add --server ${quoteShellWord(name)}`)
    .replace('with the argument timeout', 'with --timeout SECONDS');
}
