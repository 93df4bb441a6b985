/** `help CODE`: what docs/errors.md says of one error. */
import { errorFacts } from '../error-pages.ts';
import { BridgeError, ERROR_CODES, type ErrorCode } from '../errors.ts';
import { didYouMean } from '../suggest.ts';

const LINE_CHARS = 80;

/** The page of a code, which may be typed in any case. Rejects with `USAGE_INVALID` when there is no such code. */
export async function renderErrorHelp(word: string): Promise<string> {
  const code = word.toUpperCase();
  if (!isErrorCode(code)) {
    const guess = await didYouMean(code, Object.keys(ERROR_CODES));
    throw new BridgeError('USAGE_INVALID', `There is no error '${word.slice(0, LINE_CHARS)}'.${guess}`, {
      hint: 'Run with --help to see the commands; docs/errors.md lists the errors.',
    });
  }
  const facts = errorFacts(code).map(([name, text]) => `\n${name}\n${wrapped(text)}\n`);
  return `${code}\n${facts.join('')}`;
}

function isErrorCode(word: string): word is ErrorCode {
  return Object.hasOwn(ERROR_CODES, word);
}

/** Indented lines that fit a terminal; the marks of Markdown's code are left, because they say what to type. */
function wrapped(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line.length + word.length > LINE_CHARS - 3) {
      lines.push(word);
    } else {
      lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
    }
  }
  return lines.map((line) => `  ${line}`).join('\n');
}
