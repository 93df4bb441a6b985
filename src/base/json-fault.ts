/**
 * Finds the place at which a text stops being JSON (RFC 8259), for the faults that `JSON.parse` gives no place for: those at which
 * a token cannot stand after the one before it, or is none. How brackets are nested is not looked at.
 */

const SCALAR = /-?\d[\d.eE+-]*|true|false|null/y;
const BLANKS = /[ \t\n\r]*/y;

/** The index of the first character at fault; the length of `text` when it ends too early. */
export function findFault(text: string): number {
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

/** Whether a token may stand after another, both told by their first characters; the start of the text is empty. */
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
  return first === '"' ? endOfText(text, at) : match(SCALAR, text, at);
}

function endOfText(text: string, start: number): number {
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
