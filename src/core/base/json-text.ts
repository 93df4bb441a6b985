/**
 * JSON written by people: parses it and says where and why it is invalid (RFC 8259). The message never quotes the text, which
 * may hold secrets.
 */
import { messageOf } from './errors.ts';
import { isObject } from './is-object.ts';

/**
 * The value of a JSON text, which may begin with a byte order mark; or what is wrong with it, such as
 * `is not JSON (line 3, column 5): comments are not allowed`.
 */
export function parseJson(marked: string): { readonly value: unknown } | { readonly fault: string } {
  const text = marked.replace(/^\uFEFF/, '');
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: `is not JSON${explain(text, error)}` };
  }
}

/** `{ "effect": "allow" }`, as people write it. */
export function onOneLine(value: object): string {
  return JSON.stringify(value, undefined, 1).replaceAll(/\n\s*/g, ' ');
}

/** V8's message quotes the text around the fault, and gives the position only for some faults. */
function explain(text: string, error: unknown): string {
  if (text.trim() === '') {
    return ': it is empty';
  }
  if (text.includes('\0')) {
    return ': it looks like UTF-16; save it as UTF-8';
  }
  const position = Number(/^[^"]* at position (\d+)/.exec(messageOf(error))?.[1] ?? findFault(text));
  const why = commonMistake(text, position);
  return ` (${describePosition(text, position)})${why === undefined ? '' : `: ${why}`}`;
}

/** What is wrong, if it is a mistake that people often make; otherwise undefined. */
function commonMistake(text: string, position: number): string | undefined {
  const before = text.slice(0, position).trimEnd();
  const rest = text.slice(position, position + 2);
  if (rest === '') {
    return 'it ends too early';
  }
  if (rest === '//' || rest === '/*') {
    return 'comments are not allowed';
  }
  if (before.endsWith(',') && /^[\]}]/.test(rest)) {
    return 'trailing commas are not allowed';
  }
  return /^['\u2018\u2019\u201C\u201D\p{L}_$]/u.test(rest) && /[{[,:]$/.test(before)
    ? 'strings and keys must be in double quotes'
    : undefined;
}

function describePosition(text: string, position: number): string {
  const before = text.slice(0, position).split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

const SCALAR = /-?\d[\d.eE+-]*|true|false|null/y;
const BLANKS = /[ \t\n\r]*/y;

/**
 * The index of the first invalid character, or the length of `text` if it ends too early. For the faults to which `JSON.parse`
 * gives no position: something that is no token, or a token that cannot follow the previous one. Nesting is not checked.
 */
function findFault(text: string): number {
  let previous = '';
  let at = afterBlanks(text, 0);
  while (at < text.length) {
    const end = endOfToken(text, at);
    const first = text.charAt(at);
    if (end === undefined || !mayFollow(previous, first)) {
      return at;
    }
    previous = first;
    at = afterBlanks(text, end);
  }
  return text.length;
}

/** Whether one token may follow another. Each is given by its first character; the start of the text by an empty string. */
function mayFollow(previous: string, next: string): boolean {
  const isSeparator = ',:]}'.includes(next);
  if (previous === '{' || previous === '[') {
    return !isSeparator || next === (previous === '{' ? '}' : ']');
  }
  return isSeparator !== (previous === '' || previous === ',' || previous === ':');
}

function endOfToken(text: string, at: number): number | undefined {
  const first = text.charAt(at);
  if ('{}[],:'.includes(first)) {
    return at + 1;
  }
  return first === '"' ? endOfString(text, at) : match(SCALAR, text, at);
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charAt(at) !== '"') {
    at += text.charAt(at) === '\\' ? 2 : 1;
  }
  return at + 1;
}

function afterBlanks(text: string, at: number): number {
  return match(BLANKS, text, at) ?? at;
}

function match(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** A key that occurs twice in one object (JSON keeps the last value), or undefined. `text` is valid JSON and `value` its value. */
export function repeatedKey(text: string, value: unknown): string | undefined {
  const counts = new Map<string, number>();
  const count = (key: string, by: number): unknown => counts.set(key, (counts.get(key) ?? 0) + by);
  for (const [, word = '', colon] of text.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g)) {
    if (colon !== undefined) {
      count(String(JSON.parse(word)), 1);
    }
  }
  forEachKey(value, (key) => count(key, -1));
  return [...counts].find(([, left]) => left > 0)?.[0];
}

/** Without recursion: the file may be nested more deeply than the stack allows. */
function forEachKey(root: unknown, visit: (key: string) => void): void {
  const left: unknown[] = [root];
  while (left.length > 0) {
    const value = left.pop();
    if (Array.isArray(value)) {
      value.forEach((member) => left.push(member));
    } else if (isObject(value)) {
      for (const [key, member] of Object.entries(value)) {
        visit(key);
        left.push(member);
      }
    }
  }
}
