/**
 * Splits Python into pieces for highlighting, in linear time. It covers all of Python's tokens, but not the expressions inside
 * f-strings, which look like the rest of their string. Unfinished code is fine: a cell may be cut.
 */

export type TokenKind =
  | 'text'
  | 'comment'
  | 'string'
  | 'number'
  | 'keyword'
  | 'constant'
  | 'builtin'
  | 'call'
  | 'name'
  | 'decorator';

export interface CodeToken {
  readonly kind: TokenKind;
  readonly text: string;
}

const KEYWORDS = new Set(
  'and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
);
const CONSTANTS = new Set(['True', 'False', 'None', 'self', 'cls', '...']);
const BUILTINS = new Set(
  'abs all any bool bytes dict enumerate filter float format getattr hasattr int isinstance len list map max min next object open print range repr reversed round set sorted str sum super tuple type zip Exception KeyError RuntimeError TypeError ValueError runtime'.split(
    ' ',
  ),
);
/** Keywords that are names elsewhere, at the start of a line and before a subject. */
const SOFT = new Set(['match', 'case', 'type']);

/** Each alternative begins with other characters, and none can be matched in two ways, so that matching is linear. */
const PIECE =
  /(?<space>\s+)|(?<comment>#[^\n]*)|(?<open>(?:[rbuftRBUFT]{1,2})?(?:"""|'''|"|'))|(?<number>(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d[\d_]*)?|\.\d[\d_]*(?:[eE][+-]?\d[\d_]*)?)[jJ]?)|(?<name>[\p{L}_][\p{L}\p{N}_]*)|(?<other>[\s\S])/uy;

/** The end of a string: its quote, or for a string of one line the end of the line. */
const ENDS: Readonly<Record<string, RegExp>> = {
  '"': /(?:[^"\\\n]|\\[\s\S])*(?:"|(?=\n)|\\?$)/y,
  "'": /(?:[^'\\\n]|\\[\s\S])*(?:'|(?=\n)|\\?$)/y,
  '"""': /(?:[^"\\]|\\[\s\S]|"(?!""))*(?:"""|\\?$)/y,
  "'''": /(?:[^'\\]|\\[\s\S]|'(?!''))*(?:'''|\\?$)/y,
};
/** More is shown without colors: a person does not read it, and every piece is an element. */
const MAX_COLORED_CHARS = 200_000;

/** The pieces of each line, without line ends. */
export function tokenizePython(code: string): readonly (readonly CodeToken[])[] {
  const source = code.replaceAll('\r\n', '\n');
  if (source.length > MAX_COLORED_CHARS) {
    return source.split('\n').map((text) => (text === '' ? [] : [{ kind: 'text', text }]));
  }
  const lines: CodeToken[][] = [[]];
  for (const { kind, text } of pieces(source)) {
    for (const [index, part] of text.split('\n').entries()) {
      if (index > 0) {
        lines.push([]);
      }
      addTo(lines.at(-1) ?? [], kind, part);
    }
  }
  return lines;
}

function addTo(line: CodeToken[], kind: TokenKind, text: string): void {
  const last = line.at(-1);
  if (last?.kind === kind) {
    line[line.length - 1] = { kind, text: last.text + text };
  } else if (text !== '') {
    line.push({ kind, text });
  }
}

function* pieces(source: string): Generator<CodeToken> {
  let at = 0;
  let before = '';
  while (at < source.length) {
    PIECE.lastIndex = at;
    const found = PIECE.exec(source);
    const groups = found?.groups ?? {};
    const open = groups['open'];
    const text = found?.[0] ?? source.slice(at, at + 1);
    if (open !== undefined) {
      const end = ENDS[open.replace(/^[a-zA-Z]+/, '')] ?? /$/y;
      end.lastIndex = at + open.length;
      const rest = end.exec(source)?.[0] ?? '';
      yield { kind: 'string', text: open + rest };
      at += open.length + rest.length;
    } else {
      yield { kind: kindOf(groups, { source, at, before, text }), text };
      at += text.length;
    }
    before = groups['space'] !== undefined && !text.includes('\n') ? before : text;
  }
}

interface Place {
  readonly source: string;
  readonly at: number;
  /** The piece before, without spaces. */
  readonly before: string;
  readonly text: string;
}

function kindOf(groups: Readonly<Record<string, string | undefined>>, place: Place): TokenKind {
  if (groups['comment'] !== undefined) {
    return 'comment';
  }
  if (groups['number'] !== undefined) {
    return 'number';
  }
  return groups['name'] === undefined ? 'text' : kindOfName(place);
}

function kindOfName({ source, at, before, text }: Place): TokenKind {
  const isAtStart = before === '' || before.includes('\n');
  if (before === 'def' || before === 'class') {
    return 'name';
  }
  if (before === '@') {
    return 'decorator';
  }
  if (before !== '.') {
    if (
      KEYWORDS.has(text) ||
      (SOFT.has(text) && isAtStart && /^[ ]+[\w"'([{*-]/.test(source.slice(at + text.length, at + text.length + 40)))
    ) {
      return 'keyword';
    }
    if (CONSTANTS.has(text)) {
      return 'constant';
    }
    if (BUILTINS.has(text)) {
      return 'builtin';
    }
  }
  return source[at + text.length] === '(' ? 'call' : 'text';
}
