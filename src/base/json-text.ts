/** JSON that people write: where it is at fault, without repeating what stands there, which may be a secret. */
import { messageOf } from './errors.ts';
import { findFault } from './json-fault.ts';

/** The value of a text, which may begin with a byte order mark; else `is not JSON (line 3, column 5): comments are not allowed`. */
export function parseJson(marked: string): { readonly value: unknown } | { readonly fault: string } {
  const text = marked.replace(/^\uFEFF/, '');
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: `is not JSON${explain(text, error)}` };
  }
}

/** V8 quotes the text around the fault, and says for some faults alone at which position it is. */
function explain(text: string, error: unknown): string {
  if (text.trim() === '') {
    return ': it is empty';
  }
  if (text.includes('\0')) {
    return ': it is not UTF-8 but perhaps UTF-16; save it as UTF-8';
  }
  const position = Number(/^[^"]* at position (\d+)/.exec(messageOf(error))?.[1] ?? findFault(text));
  const why = whatIsWrong(text, position);
  return ` (${describePosition(text, position)})${why === undefined ? '' : `: ${why}`}`;
}

/** What people often write who know other formats; undefined for anything else. */
function whatIsWrong(text: string, position: number): string | undefined {
  const before = text.slice(0, position).trimEnd();
  const rest = text.slice(position, position + 2);
  if (rest === '') {
    return 'it ends too early';
  }
  if (rest === '//' || rest === '/*') {
    return 'comments are not allowed';
  }
  if (before.endsWith(',') && /^[\]}]/.test(rest)) {
    return 'the comma before it is one too many';
  }
  return /^['‘’“”\p{L}_$]/u.test(rest) && /[{[,:]$/.test(before)
    ? 'strings and keys must be in double quotes'
    : undefined;
}

function describePosition(text: string, position: number): string {
  const before = text.slice(0, position).split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/** A key that stands in one object more than once, of which JSON takes the last; undefined when there is none. `text` is JSON and `value` what it says. */
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

function forEachKey(value: unknown, tell: (key: string) => void): void {
  if (typeof value !== 'object' || value === null) {
    return;
  }
  for (const [key, member] of Object.entries(value)) {
    if (!Array.isArray(value)) {
      tell(key);
    }
    forEachKey(member, tell);
  }
}
