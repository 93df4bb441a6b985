/** Rewrites hints that are written for an agent into next steps for a person at a shell. */

import type { CellError } from '../../core/base/cell.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';

const HINT_LINE = /^\s*Hint: .*$/gm;
const LOAD = /[Cc]all run_python again with servers=\['([^'\n]+)'\]/g;

/** The cell's error with `exec` options in its hints, including hints repeated inside a check or a traceback. */
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
