/** The keywords of JSON Schema that speak of one value by itself, and the words for a value that does not fit: as `schema_values.py` of the kernel. */

import { isObject } from '../base/is-object.ts';
import { listOf, type Schema } from '../catalog/json-schema.ts';
import { pythonLiteral, pythonString } from '../catalog/python-literal.ts';
import type { Problem } from './schema-check.ts';

const MAX_SHOWN = 80;
const MAX_CHOICES = 20;
const MAX_UNIQUE = 1_000;
/** What Python's `reprlib` shows of a container. */
const MAX_SHOWN_MEMBERS = 6;
const MAX_SHOWN_KEYS = 4;
const MAX_SHOWN_LEVELS = 6;
const NO_BOUND = 100_000;

const TYPES: Readonly<Record<string, { readonly name: string; readonly fits: (value: unknown) => boolean }>> = {
  string: { name: 'str', fits: (value) => typeof value === 'string' },
  integer: { name: 'int', fits: (value) => Number.isInteger(value) },
  number: { name: 'float', fits: (value) => typeof value === 'number' },
  boolean: { name: 'bool', fits: (value) => typeof value === 'boolean' },
  array: { name: 'list', fits: Array.isArray },
  object: { name: 'dict', fits: isObject },
  null: { name: 'None', fits: (value) => value === null },
};

/** A value as messages show it: short, and with its type where that is not obvious. */
export function shownValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `${shownText(value)} (str)`;
    case 'number':
      return `${value} (${/[.e]/.test(String(value)) ? 'float' : 'int'})`;
    default:
      return shownMember(value, MAX_SHOWN_LEVELS);
  }
}

function shownMember(value: unknown, levels: number): string {
  if (typeof value === 'string') {
    return shownText(value);
  }
  if (Array.isArray(value)) {
    const members = value.slice(0, MAX_SHOWN_MEMBERS).map((member) => shownMember(member, levels - 1));
    return `[${levels === 0 && value.length > 0 ? '...' : withDots(members, value.length)}]`;
  }
  if (isObject(value)) {
    const keys = Object.keys(value).toSorted();
    const members = keys
      .slice(0, MAX_SHOWN_KEYS)
      .map((key) => `${shownText(key)}: ${shownMember(value[key], levels - 1)}`);
    return `{${levels === 0 && keys.length > 0 ? '...' : withDots(members, keys.length)}}`;
  }
  return pythonLiteral(value, NO_BOUND) ?? String(value);
}

function withDots(members: readonly string[], count: number): string {
  return [...members, ...(count > members.length ? ['...'] : [])].join(', ');
}

/** Both ends of a long text. */
function shownText(text: string): string {
  const whole = pythonString(text.slice(0, MAX_SHOWN));
  if (whole.length <= MAX_SHOWN) {
    return whole;
  }
  const headChars = Math.floor((MAX_SHOWN - 3) / 2);
  const tailChars = MAX_SHOWN - 3 - headChars;
  const ends = pythonString(text.slice(0, headChars) + text.slice(-tailChars));
  return `${ends.slice(0, headChars)}...${ends.slice(-tailChars)}`;
}

function short(value: unknown): string {
  const characters = Array.from(pythonLiteral(value, NO_BOUND) ?? String(value));
  return characters.length <= MAX_SHOWN ? characters.join('') : `${characters.slice(0, MAX_SHOWN).join('')}…`;
}

/** Of `const` and `enum`. */
export function literalProblem(value: unknown, schema: Schema): Problem | undefined {
  const choices = Object.hasOwn(schema, 'const') ? [schema['const']] : listOf(schema['enum']);
  if (choices.length === 0 || choices.some((choice) => isSame(value, choice))) {
    return undefined;
  }
  const listed = choices.slice(0, MAX_CHOICES).map(short).join(', ');
  const all = choices.length > MAX_CHOICES ? `${listed}, … (${choices.length} in all)` : listed;
  const expected = choices.length === 1 ? all : `one of ${all}`;
  const problem = { path: [], text: `must be ${expected}, not ${shownValue(value)}`, expected };
  const known = choices.filter((choice) => typeof choice === 'string');
  return typeof value === 'string' ? { ...problem, guess: { word: value, known } } : problem;
}

/** Of `type`. A type that is not known allows everything. */
export function typeProblem(value: unknown, { type }: Schema): Problem | undefined {
  const names = typeof type === 'string' ? [type] : listOf(type);
  const known = names.flatMap((name) => (typeof name === 'string' && Object.hasOwn(TYPES, name) ? [TYPES[name]] : []));
  if (names.length === 0 || known.length < names.length || known.some((one) => one?.fits(value))) {
    return undefined;
  }
  const expected = known.map((one) => one?.name).join(' or ');
  return { path: [], text: `must be ${expected}, not ${shownValue(value)}`, expected };
}

/** Of a text's length; patterns are left to the server. */
export function textProblem(value: unknown, schema: Schema): Problem | undefined {
  return typeof value === 'string'
    ? sizeProblem(Array.from(value).length, schema, ['minLength', 'maxLength', 'characters'])
    : undefined;
}

const BOUNDS: readonly (readonly [string, string, (value: number, bound: number) => boolean])[] = [
  ['minimum', 'at least', (value, bound) => value >= bound],
  ['maximum', 'at most', (value, bound) => value <= bound],
  ['exclusiveMinimum', 'above', (value, bound) => value > bound],
  ['exclusiveMaximum', 'below', (value, bound) => value < bound],
];

/** Of a number's bounds. */
export function numberProblem(value: unknown, schema: Schema): Problem | undefined {
  if (typeof value !== 'number') {
    return undefined;
  }
  for (const [keyword, words, isRight] of BOUNDS) {
    const bound = schema[keyword];
    if (typeof bound === 'number' && !isRight(value, bound)) {
      return { path: [], text: `must be ${words} ${bound}, not ${shownValue(value)}`, expected: `${words} ${bound}` };
    }
  }
  const step = schema['multipleOf'];
  // Fractions are left to the server: rounding decides there.
  const isCounted = typeof step === 'number' && Number.isInteger(step) && Number.isInteger(value) && step > 0;
  if (!isCounted || value % step === 0) {
    return undefined;
  }
  return {
    path: [],
    text: `must be a multiple of ${step}, not ${shownValue(value)}`,
    expected: `a multiple of ${step}`,
  };
}

/** Of a list by itself: how long it is, and whether it holds a value twice. */
export function listProblem(value: readonly unknown[], schema: Schema): Problem | undefined {
  const size = sizeProblem(value.length, schema, ['minItems', 'maxItems', 'members']);
  if (size !== undefined || schema['uniqueItems'] !== true) {
    return size;
  }
  // Only members that are no containers are compared, and only so many.
  const plain = value.slice(0, MAX_UNIQUE).filter((member) => member !== null && typeof member !== 'object');
  return new Set(plain).size < plain.length
    ? { path: [], text: 'must not hold the same value twice', expected: '' }
    : undefined;
}

/** Of bounds for how many `unit` there are, which the keywords `least` and `most` give. */
export function sizeProblem(
  size: number,
  schema: Schema,
  [least, most, unit]: readonly [least: string, most: string, unit: string],
): Problem | undefined {
  const [low, high] = [schema[least], schema[most]];
  if (typeof low === 'number' && size < low) {
    return { path: [], text: `must have at least ${low} ${unit}, not ${size}`, expected: `at least ${low} ${unit}` };
  }
  return typeof high === 'number' && size > high
    ? { path: [], text: `must have at most ${high} ${unit}, not ${size}`, expected: `at most ${high} ${unit}` }
    : undefined;
}

/** Equality of JSON. */
function isSame(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((member, index) => isSame(member, right[index]));
  }
  if (isObject(left) && isObject(right)) {
    const keys = Object.keys(left);
    return (
      keys.length === Object.keys(right).length &&
      keys.every((key) => Object.hasOwn(right, key) && isSame(left[key], right[key]))
    );
  }
  return left === right;
}
