/**
 * The line of code that makes a call. The sandbox reports its number, so it may name any line: only one that certainly calls
 * the tool by name is shown, without its comment, which could say anything about the call.
 */

export interface CallLine {
  readonly number: number;
  readonly text: string;
  /** How many lines of the code call the tool; the sandbox may have chosen between them. */
  readonly candidates: number;
}

const IDENTIFIER = /^[A-Za-z_]\w*$/;
const LINE_END = /\r\n?|\n/;
/** Strings and comments of Python. A prefix changes nothing about where a string ends. */
const NOT_CODE = /("""|''')(?:\\[^]|[^\\])*?(?:\1|$)|"(?:\\[^]|[^"\\\r\n])*"?|'(?:\\[^]|[^'\\\r\n])*'?|#[^\r\n]*/g;

/** Undefined if the line does not call a tool with one of these names. */
export function lineOfCall(code: string, number: number, names: readonly string[]): CallLine | undefined {
  const words = names.filter((name) => IDENTIFIER.test(name)).join('|');
  const calls = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${words})(?:\\.sync)?\\s*\\(`, 'u');
  const bare = code.replaceAll(NOT_CODE, blank).split(LINE_END);
  const line = bare[number - 1];
  if (words === '' || line === undefined || !calls.test(line)) {
    return undefined;
  }
  const comment = line.indexOf('#');
  const text = code.split(LINE_END)[number - 1]?.slice(0, comment < 0 ? undefined : comment) ?? '';
  return { number, text: text.trim(), candidates: bare.filter((other) => calls.test(other)).length };
}

/** The same length and lines, without text in which names could be found. */
function blank(found: string): string {
  return found.replaceAll(/[^\r\n]/g, found.startsWith('#') ? '#' : '"');
}
