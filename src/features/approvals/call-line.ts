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

/** Longer code is not searched, because the bridge does nothing else meanwhile. Chosen: 64 KiB take up to 0.1 s. */
const MAX_CODE_CHARS = 65_536;

/** The lines of one cell. They are prepared once, because a cell may make thousands of calls. */
export class CellLines {
  readonly #code: string;
  #lines: readonly string[] = [];
  /** Without text in strings and comments. */
  #bare: readonly string[] | undefined;
  /** How many lines call a tool with these names. */
  readonly #candidates = new Map<string, number>();

  constructor(code: string) {
    this.#code = code;
  }

  /** Undefined if the line does not call a tool with one of these names. */
  lineOfCall(number: number, names: readonly string[]): CallLine | undefined {
    const words = names.filter((name) => IDENTIFIER.test(name)).join('|');
    if (words === '' || this.#code.length > MAX_CODE_CHARS) {
      return undefined;
    }
    const calls = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${words})(?:\\.sync)?\\s*\\(`, 'u');
    const bare = this.#prepare();
    const line = bare[number - 1];
    if (line === undefined || !calls.test(line)) {
      return undefined;
    }
    const comment = line.indexOf('#');
    const text = this.#lines[number - 1]?.slice(0, comment < 0 ? undefined : comment) ?? '';
    const candidates = this.#candidates.get(words) ?? bare.filter((other) => calls.test(other)).length;
    this.#candidates.set(words, candidates);
    return { number, text: text.trim(), candidates };
  }

  #prepare(): readonly string[] {
    if (this.#bare === undefined) {
      this.#lines = this.#code.split(LINE_END);
      this.#bare = this.#code.replaceAll(NOT_CODE, blank).split(LINE_END);
    }
    return this.#bare;
  }
}

/** The same length and lines, without text in which names could be found. */
function blank(found: string): string {
  return found.replaceAll(/[^\r\n]/g, found.startsWith('#') ? '#' : '"');
}
