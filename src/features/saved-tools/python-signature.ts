/**
 * Reads the head of a function from its source: signature, types of its parameters, first line of its docstring, imports. Only
 * text is read, never run. It comes from the source itself, because whatever saved the function could claim another signature.
 */
import type { Schema } from '../../core/catalog/json-schema.ts';
import { makeVisible, visibleText } from '../../core/catalog/visible.ts';

/** What callers need to know about a function. All texts are safe to show. */
export interface FunctionHead {
  /** For example `total(prices: list[float], tax: float = 0.2) -> float`. */
  readonly signature: string;
  readonly isAsync: boolean;
  /** First line of the docstring; empty without one. */
  readonly summary: string;
  /** The parameters that can be named in a call. */
  readonly inputSchema: Schema;
  /** Parameters that can be given by position only, in order. */
  readonly positional: readonly string[];
  /** Its import lines, which stand before the `def`. */
  readonly imports: readonly string[];
  /** Servers that it names, as written: aliases, or names in quotes. */
  readonly servers: readonly string[];
}

const MAX_SIGNATURE_CHARS = 500;
const MAX_SUMMARY_CHARS = 200;
const MAX_PARAMETERS = 100;
const MAX_SERVERS = 50;
/** Types nest in annotations; deeper ones mean nothing to a caller. */
const MAX_DEPTH = 8;

/** Undefined if the text does not begin as a function of that name. */
export function readFunctionHead(name: string, source: string): FunctionHead | undefined {
  const start = new RegExp(`^(async[ \\t]+)?def[ \\t]+${name}\\b\\s*\\(`, 'm').exec(source);
  if (start === null) {
    return undefined;
  }
  const open = start.index + start[0].length;
  const close = endOf(source, open, ')');
  const colon = endOf(source, close + 1, ':');
  if (close >= source.length || colon >= source.length) {
    return undefined;
  }
  const all = splitAt(source.slice(open, close), ',').map(oneLine);
  const shown = all.filter((text) => text !== '');
  const returns = /^->(.+)$/s.exec(source.slice(close + 1, colon).trim())?.[1];
  const signature = `${name}(${shown.join(', ')})${returns === undefined ? '' : ` -> ${oneLine(returns)}`}`;
  return {
    signature: visibleText(signature, MAX_SIGNATURE_CHARS),
    isAsync: start[1] !== undefined,
    summary: visibleText(docstringLine(source.slice(colon + 1)), MAX_SUMMARY_CHARS),
    ...parametersFrom(shown.slice(0, MAX_PARAMETERS)),
    imports: source
      .slice(0, start.index)
      .split(/\r\n?|\n/)
      .filter((line) => /^(?:import|from)[ \t]/.test(line)),
    servers: serversIn(source.slice(start.index)),
  };
}

interface Parameters {
  readonly inputSchema: Schema;
  readonly positional: readonly string[];
}

function parametersFrom(texts: readonly string[]): Parameters {
  const slash = texts.indexOf('/');
  const properties: [string, Schema][] = [];
  const required: string[] = [];
  let isOpen = false;
  for (const text of texts) {
    const [declared = '', value] = splitAt(text, '=');
    const [word = '', ...annotation] = splitAt(declared, ':');
    const name = word.trim();
    isOpen ||= name.startsWith('**');
    if (/^[A-Za-z_]\w*$/.test(name)) {
      properties.push([name, { ...typeOf(annotation.join(':').trim()), ...defaultOf(value) }]);
      if (value === undefined) {
        required.push(name);
      }
    }
  }
  return {
    // fromEntries defines members, so a parameter `__proto__` is one like any other.
    inputSchema: { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: isOpen },
    positional: slash < 0 ? [] : properties.slice(0, slash).map(([name]) => name),
  };
}

const SIMPLE_TYPES: Readonly<Record<string, string>> = {
  str: 'string',
  int: 'integer',
  float: 'number',
  bool: 'boolean',
  None: 'null',
  list: 'array',
  List: 'array',
  Sequence: 'array',
  Iterable: 'array',
  dict: 'object',
  Dict: 'object',
  Mapping: 'object',
};

/** A schema for an annotation; empty, which allows everything, for one that is not known. */
function typeOf(annotation: string, depth = 0): Schema {
  const text = annotation
    .trim()
    .replace(/^(['"])(.*)\1$/s, '$2')
    .replace(/^(?:typing|t|collections\.abc)\./, '');
  if (depth > MAX_DEPTH) {
    return {};
  }
  const members = splitAt(text, '|');
  if (members.length > 1) {
    return anyOf(members.map((member) => typeOf(member, depth + 1)));
  }
  const [, outer = text, inner] = /^(\w+)\s*\[(.*)\]$/s.exec(text) ?? [];
  const arguments_ = inner === undefined ? [] : splitAt(inner, ',');
  switch (outer) {
    case 'Optional':
      return anyOf([...arguments_.map((one) => typeOf(one, depth + 1)), { type: 'null' }]);
    case 'Union':
      return anyOf(arguments_.map((one) => typeOf(one, depth + 1)));
    case 'Literal': {
      const values = arguments_.map(literalOf);
      return values.includes(undefined) ? {} : { enum: values };
    }
    default: {
      const type = Object.hasOwn(SIMPLE_TYPES, outer) ? SIMPLE_TYPES[outer] : undefined;
      const items = type === 'array' && arguments_.length === 1 ? typeOf(arguments_[0] ?? '', depth + 1) : undefined;
      return type === undefined ? {} : { type, ...(items === undefined ? {} : { items }) };
    }
  }
}

function anyOf(schemas: readonly Schema[]): Schema {
  return schemas.some((schema) => Object.keys(schema).length === 0) ? {} : { anyOf: schemas };
}

function defaultOf(text: string | undefined): Schema {
  const value = text === undefined ? undefined : literalOf(text);
  return value === undefined ? {} : { default: value };
}

/** The value of a simple literal; undefined for any other text. */
function literalOf(text: string): unknown {
  const literal = text.trim();
  const named = new Map<string, unknown>([
    ['None', null],
    ['True', true],
    ['False', false],
  ]).get(literal);
  if (named !== undefined) {
    return named;
  }
  if (/^-?\d{1,15}(\.\d{1,15})?$/.test(literal)) {
    return Number(literal);
  }
  const [, , content] = /^(['"])([^'"\\]*)\1$/.exec(literal) ?? [];
  return content;
}

/** Where `end` stands outside brackets, strings and comments; the length of the text if nowhere. */
function endOf(text: string, from: number, end: string): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (depth === 0 && char === end) {
      return at;
    }
    if (char === '"' || char === "'") {
      at = endOfString(text, at) - 1;
    } else if (char === '#') {
      const line = text.indexOf('\n', at);
      at = line < 0 ? text.length : line;
    } else if ('([{'.includes(char)) {
      depth += 1;
    } else if (')]}'.includes(char)) {
      depth -= 1;
    }
  }
  return text.length;
}

/** The position after the string that begins at `from`. */
function endOfString(text: string, from: number): number {
  const quote = text[from] ?? '';
  const mark = text.startsWith(quote.repeat(3), from) ? quote.repeat(3) : quote;
  for (let at = from + mark.length; at < text.length; at += 1) {
    if (text[at] === '\\') {
      at += 1;
    } else if (text.startsWith(mark, at)) {
      return at + mark.length;
    }
  }
  return text.length;
}

/** The parts between separators that stand outside brackets and strings. */
function splitAt(text: string, separator: string): string[] {
  const parts: string[] = [];
  let from = 0;
  while (from <= text.length) {
    const end = endOf(text, from, separator);
    parts.push(text.slice(from, end));
    from = end + 1;
  }
  return parts;
}

/** Without comments and line breaks. Strings with a `#` in them are kept whole. */
function oneLine(text: string): string {
  let kept = '';
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (char === '"' || char === "'") {
      const end = endOfString(text, at);
      kept += text.slice(at, end);
      at = end - 1;
    } else if (char === '#') {
      const line = text.indexOf('\n', at);
      at = line < 0 ? text.length : line;
      kept += ' ';
    } else {
      kept += /\s|\\/.test(char) ? ' ' : char;
    }
  }
  return makeVisible(kept).replaceAll(/\s+/g, ' ').trim();
}

function docstringLine(body: string): string {
  const start = /^(?:\s|#[^\n]*\n)*[rRuU]?(?=["'])/.exec(body);
  if (start === null) {
    return '';
  }
  const from = start[0].length;
  const end = endOfString(body, from);
  const marks = body.startsWith(body[from]?.repeat(3) ?? '', from) ? 3 : 1;
  const lines = body.slice(from + marks, end - marks).split(/\r\n?|\n/);
  return lines.map((line) => line.trim()).find((line) => line !== '') ?? '';
}

const SERVER_WORDS = [
  /\bmcp_(?!servers\b)(\w+)\s*[.[]/g,
  /\bmcp_servers\s*\[\s*["']([^"'\n]{1,200})["']\s*\]/g,
  /\bmcp\.servers\.(\w+)/g,
  /\bcall_tool(?:_raw)?\(\s*["']([^"'\n]{1,200})["']/g,
];

function serversIn(text: string): string[] {
  const found = SERVER_WORDS.flatMap((pattern) => [...text.matchAll(pattern)].map(([, word = '']) => word));
  return [...new Set(found)].slice(0, MAX_SERVERS);
}
