/** Unions in Python annotations: types and `Literal[…]` values, joined with `|`. */
import { listOf, type Schema } from './json-schema.ts';
import { pythonLiteral } from './python-literal.ts';

const MAX_LITERALS = 30;
const MAX_LITERAL_CHARS = 300;
const MAX_BRIEF_LITERAL_CHARS = 60;
/** Of a longer list of literals, as many as fit into this are shown: enough to see what they are like. Chosen. */
const SAMPLE_CHARS = 40;
/** Members of a union. Chosen: a longer one does not help a reader. */
const MAX_UNION = 6;

/** The Python type for each type of JSON Schema. */
export const PYTHON_TYPES: ReadonlyMap<string, string> = new Map([
  ['string', 'str'],
  ['integer', 'int'],
  ['number', 'float'],
  ['boolean', 'bool'],
  ['null', 'None'],
  ['array', 'list'],
  ['object', 'dict'],
]);

/** One alternative of a union: a type, or a value for `Literal[…]`. */
export interface Part {
  readonly text: string;
  readonly isLiteral: boolean;
}

export const ANY: readonly Part[] = [{ text: 'Any', isLiteral: false }];

export function simple(text: string): Part {
  return { text, isLiteral: false };
}

/** The alternatives of `enum` or `const`; undefined if the schema has neither. */
export function literalParts(schema: Schema): readonly Part[] | undefined {
  const values = Object.hasOwn(schema, 'const') ? [schema['const']] : listOf(schema['enum']);
  if (values.length === 0) {
    return undefined;
  }
  return values.slice(0, MAX_LITERALS + 1).map((value) => {
    const isLiteral = typeof value === 'string' || typeof value === 'boolean' || Number.isInteger(value);
    const text = isLiteral ? pythonLiteral(value, MAX_LITERAL_CHARS) : undefined;
    return text === undefined ? simple(typeOfValue(value)) : { text, isLiteral };
  });
}

function typeOfValue(value: unknown): string {
  if (value === null) {
    return 'None';
  }
  const type = Array.isArray(value) ? 'array' : typeof value;
  return PYTHON_TYPES.get(type) ?? 'Any';
}

/** Joins alternatives: without duplicates, literals together, `None` last. Too many types become `Any`. */
export function joinParts(parts: readonly Part[], isBrief: boolean): string {
  const literals = [...new Set(parts.filter((part) => part.isLiteral).map((part) => part.text))];
  const literal = literalText(literals, isBrief ? MAX_BRIEF_LITERAL_CHARS : MAX_LITERAL_CHARS);
  const types = parts.map((part) => (part.isLiteral ? (literal ?? typeOfLiteral(part.text)) : part.text));
  const unique = new Set(types);
  if (unique.has('Any')) {
    return 'Any';
  }
  if (unique.has('float')) {
    unique.delete('int'); // `float` accepts an int as well (PEP 484).
  }
  const isNullable = unique.delete('None');
  if (unique.size > MAX_UNION) {
    return 'Any';
  }
  return [...unique, ...(isNullable ? ['None'] : [])].join(' | ');
}

/** `Literal['a', 'b']`; of a long list the start, as `Literal['a', 'b', ...]`. Undefined if not even the first one is short. */
function literalText(literals: readonly string[], maxChars: number): string | undefined {
  const all = literals.join(', ');
  if (literals.length <= MAX_LITERALS && all.length <= maxChars) {
    return `Literal[${all}]`;
  }
  let chars = 0;
  const sample = literals.filter((literal) => {
    chars += literal.length + 2;
    return chars <= SAMPLE_CHARS;
  });
  return sample.length === 0 ? undefined : `Literal[${sample.join(', ')}, ...]`;
}

function typeOfLiteral(text: string): string {
  if (text === 'True' || text === 'False') {
    return 'bool';
  }
  return /^-?\d/.test(text) ? 'int' : 'str';
}
