/** Next steps for a person at a shell, in place of those that the same failure has for an agent. */
import { quoteShellWord } from '../base/shell-word.ts';

const HINT_LINE = /^\s*Hint: .*$/gm;
const LOAD = /[Cc]all run_python again with servers=\['([^'\n]+)'\]/g;

/** The error of a cell with the options of `exec` in its hints. A cell fails with text, so the text is what is changed. */
export function hintsForShell(error: string): string {
  return error.replace(HINT_LINE, (line) =>
    line
      .replace(LOAD, (_whole, name: string) => `Add --server ${quoteShellWord(name)}`)
      .replace('with the argument timeout', 'with --timeout SECONDS'),
  );
}
