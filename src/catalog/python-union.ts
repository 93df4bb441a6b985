/** Alternatives of a type in Python: values inside `Literal[…]`, types, and how they are written as one. */
import { listOf, type Schema } from './json-schema.ts';
import { pythonLiteral } from './python-literal.ts';

const MAX_LITERALS = 30;
const MAX_LITERAL_CHARS = 300;
const MAX_BRIEF_LITERAL_CHARS = 60;
/** Members of a union. Chosen: a longer one is no help to a reader. */
const MAX_UNION = 6;

/** The Python type of each type of JSON Schema. */
export const PYTHON_TYPES: ReadonlyMap<string, string> = new Map([
  ['string', 'str'],
  ['integer', 'int'],
  ['number', 'float'],
  ['boolean', 'bool'],
  ['null', 'None'],
  ['array', 'list'],
  ['object', 'dict'],
]);

/** One alternative of a union: the text of a type, or of a value inside `Literal[…]`. */
export interface Part {
  readonly text: string;
  readonly isLiteral: boolean;
}

export const ANY: readonly Part[] = [{ text: 'Any', isLiteral: false }];

export function simple(text: string): Part {
  return { text, isLiteral: false };
}

/** The alternatives of `enum` and `const`; undefined without them. */
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

/** The union of the alternatives: each once, literals together, `None` last, `Any` when there are too many. Long literals become their type. */
export function joinParts(parts: readonly Part[], isBrief: boolean): string {
  const maxLiteralChars = isBrief ? MAX_BRIEF_LITERAL_CHARS : MAX_LITERAL_CHARS;
  const literals = [...new Set(parts.filter((part) => part.isLiteral).map((part) => part.text))];
  const literal = literals.join(', ');
  const isShort = literals.length <= MAX_LITERALS && literal.length <= maxLiteralChars;
  const types = parts.map((part) => {
    if (!part.isLiteral) {
      return part.text;
    }
    return isShort ? `Literal[${literal}]` : typeOfLiteral(part.text);
  });
  const unique = new Set(types);
  if (unique.has('Any')) {
    return 'Any';
  }
  if (unique.has('float')) {
    unique.delete('int'); // Where Python says float, an int will do (PEP 484).
  }
  const isNullable = unique.delete('None');
  if (unique.size > MAX_UNION) {
    return 'Any';
  }
  return [...unique, ...(isNullable ? ['None'] : [])].join(' | ');
}

function typeOfLiteral(text: string): string {
  if (text === 'True' || text === 'False') {
    return 'bool';
  }
  return /^-?\d/.test(text) ? 'int' : 'str';
}
