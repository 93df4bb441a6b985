/**
 * Looks at GraphQL text that code wrote, without a parser for it: whether a selection stays within its braces, and what the
 * operations of a document are. Text that servers could read in different ways is refused. Tokens: GraphQL, October 2021,
 * section 2.1.
 */

const MAX_CHARS = 20_000;
const MAX_DOCUMENT_CHARS = 200_000;
/** Chosen: servers limit the depth of queries to far less. */
const MAX_DEPTH = 100;

const BLANKS = /[ \t\n\r,]+/y;
/** Only line breaks end it, so other characters that some program may take for one are refused in it. */
const COMMENT = /#[^\n\r\v\f\u0085\u2028\u2029]*(?=[\n\r]|$)/y;
const STRING = /"(?:[^"\\\n\r]|\\[^\n\r])*"/y;
const WORD = /[\w.+-]+/y;
const PUNCTUATOR = /[!$&(){}:=@[\]|]/y;
const CLOSING: ReadonlyMap<string, string> = new Map([
  ['{', '}'],
  ['(', ')'],
  ['[', ']'],
]);

interface Token {
  readonly text: string;
  readonly start: number;
  /** Brackets around it, without itself if it is one. */
  readonly depth: number;
}

/** The words and punctuators of a text whose brackets are in pairs. Throws an Error that says what is wrong with it. */
function tokensOf(text: string, maxChars: number): readonly Token[] {
  if (text.length > maxChars) {
    throw new Error(`has ${text.length} characters; the limit is ${maxChars}`);
  }
  const tokens: Token[] = [];
  const open: string[] = [];
  for (let at = 0; at < text.length; ) {
    const skipped = match(BLANKS, text, at) ?? match(COMMENT, text, at);
    const token =
      skipped ??
      (text.startsWith('"""', at)
        ? undefined
        : (match(STRING, text, at) ?? match(WORD, text, at) ?? match(PUNCTUATOR, text, at)));
    if (token === undefined) {
      throw new Error(
        `has something at character ${at + 1} that is not accepted: ${JSON.stringify(text.slice(at, at + 20))}`,
      );
    }
    if (skipped === undefined) {
      const isClosing = token === open.at(-1);
      if (isClosing) {
        open.pop();
      } else if ('})]'.includes(token)) {
        throw new Error(`has a "${token}" at character ${at + 1} that closes nothing`);
      }
      tokens.push({ text: token, start: at, depth: open.length });
      const closing = CLOSING.get(token);
      if (closing !== undefined) {
        open.push(closing);
      }
    }
    if (open.length > MAX_DEPTH) {
      throw new Error(`is nested deeper than ${MAX_DEPTH} levels`);
    }
    at += token.length;
  }
  if (open.length > 0) {
    throw new Error(`ends before "${open.at(-1)}"`);
  }
  return tokens;
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/**
 * A selection, with or without its braces, as text that can stand between braces. It cannot leave them. Throws an Error whose
 * message follows the name of the argument.
 */
export function checkSelection(selection: string): string {
  const tokens = tokensOf(selection, MAX_CHARS);
  if (tokens.length === 0) {
    throw new Error('is empty');
  }
  if (tokens[0]?.text !== '{') {
    // A comment at its end must not reach the brace.
    return `${selection}\n`;
  }
  const end = tokens.findIndex(({ text, depth }) => text === '}' && depth === 0);
  if (end !== tokens.length - 1 || end === 1) {
    throw new Error(end === 1 ? 'is empty' : 'has something after its closing brace');
  }
  return `${selection.slice(tokens[0].start + 1, tokens[end]?.start)}\n`;
}

/** The kinds of the operations in a document, such as `query`. Throws an Error whose message follows the name of the argument. */
export function operationsIn(document: string): readonly string[] {
  const kinds: string[] = [];
  let isNew = true;
  for (const { text, depth } of tokensOf(document, MAX_DOCUMENT_CHARS)) {
    if (depth > 0) {
      continue;
    }
    if (isNew) {
      kinds.push(text === '{' ? 'query' : text);
    }
    isNew = text === '}';
  }
  return kinds.filter((kind) => kind !== 'fragment');
}
