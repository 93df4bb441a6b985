/**
 * Conditions on the arguments of a call. A verdict is `yes` or `no` only if it holds however a server may interpret the
 * argument. A list meets a condition if all its items do, and fails it if none does.
 */
import { parametersOf } from '../../catalog/parameters.ts';
import { matchesGlob } from './globs.ts';
import { isUnder } from './paths.ts';
import type { PolicyCall } from './policy-call.ts';
import type { Condition } from './schema.ts';
import { all, any, NO, unsure, type Verdict, YES } from './verdict.ts';

/** Longer strings are not matched against patterns, which would take milliseconds. */
const MAX_JUDGED_CHARS = 8_192;
/** Items of a list that are checked, including those of nested lists. Chosen. */
const MAX_ITEMS = 1_000;

const MISSING = unsure('is missing or empty');
const OTHER_TYPE = unsure('has a different type');
const NEARLY = unsure('differs only in case, spacing or the form of its characters');
const MIXED = unsure('is a list of which only some items match');
const NUL = unsure('contains a NUL character, where some programs cut a string off');
const TOO_LONG = unsure(`has more than ${MAX_JUDGED_CHARS} characters`);
const TOO_MANY = unsure(`has more than ${MAX_ITEMS} items`);

/**
 * Whether the argument meets the condition.
 *
 * @param key the argument's name, in the schema or in Python, or a JSON pointer (RFC 6901) to a value inside the arguments.
 */
export function judgeCondition(
  key: string,
  condition: Condition,
  call: Pick<PolicyCall, 'arguments' | 'tool'>,
): Verdict {
  const values = valuesAt(key, call);
  if (values.length === 0) {
    return condition.missing === undefined ? MISSING : condition.missing ? YES : NO;
  }
  if (values.length > MAX_ITEMS) {
    return TOO_MANY;
  }
  const verdicts = values.map((value) => judgeValue(condition, value));
  const [first = MISSING] = verdicts;
  const doubt = verdicts.find(({ is }) => is === 'unsure');
  return doubt ?? (verdicts.every(({ is }) => is === first.is) ? first : MIXED);
}

/** The values that the key names, with lists flattened and null for an empty one; none if the argument is missing. */
function valuesAt(key: string, { arguments: given, tool }: Pick<PolicyCall, 'arguments' | 'tool'>): unknown[] {
  const names = key.startsWith('/') ? key.slice(1).split('/').map(unescapePointer) : [key];
  const [first = '', ...rest] = names;
  const present = bothNames(first, tool.inputSchema).filter((name) => Object.hasOwn(given, name));
  const found: unknown[] = [];
  present.forEach((name) => collect(given[name], rest, found, present.length > 1));
  return found;
}

/** The argument's names, in the schema and in Python. If a call has both, only the server knows which one it reads. */
function bothNames(word: string, inputSchema: PolicyCall['tool']['inputSchema']): readonly string[] {
  const { names, list } = parametersOf(inputSchema);
  const found = list.find(({ name, alias }) => (names.has(word) ? name === word : alias === word));
  return found === undefined ? [word] : [...new Set([found.name, found.alias])];
}

/** Adds null, which no condition can judge, for an empty list and for a list item without such a value. */
function collect(value: unknown, names: readonly string[], found: unknown[], isItem = false): void {
  if (found.length > MAX_ITEMS) {
    return;
  }
  if (Array.isArray(value) && value.length > 0) {
    value.forEach((item) => collect(item, names, found, true));
    return;
  }
  const [name, ...rest] = names;
  if (value === undefined) {
    found.push(...(isItem ? [null] : []));
  } else if (value === null || Array.isArray(value)) {
    found.push(null);
  } else if (name === undefined) {
    found.push(value);
  } else {
    const isObject = typeof value === 'object' && Object.hasOwn(value, name);
    collect(isObject ? (value as Record<string, unknown>)[name] : undefined, rest, found, isItem);
  }
}

function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** A server may read an empty value as a missing argument or as one that is there, so both must lead to the same verdict. */
function judgeValue(condition: Condition, value: unknown): Verdict {
  const present = judgePresent(condition, value);
  if (condition.missing === undefined || !isEmpty(value)) {
    return present;
  }
  return present.is === (condition.missing ? YES : NO).is ? present : MISSING;
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'string') {
    return value.trim() === '';
  }
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

function judgePresent({ under, equals, oneOf, matches, missing }: Condition, value: unknown): Verdict {
  if (typeof value === 'string' && value.includes('\0')) {
    return NUL;
  }
  if (value === null) {
    return MISSING;
  }
  const verdicts: Verdict[] = [];
  if (under !== undefined) {
    verdicts.push(judgeText(value, (text) => isUnder(under, text)));
  }
  if (equals !== undefined) {
    verdicts.push(judgeEqual(equals, value));
  }
  if (oneOf !== undefined) {
    verdicts.push(any(oneOf.map((wanted) => judgeEqual(wanted, value))));
  }
  if (matches !== undefined) {
    verdicts.push(judgeText(value, (text) => any(matches.map((pattern) => judgeMatch(pattern, text)))));
  }
  // On its own, `missing: true` requires that the argument is absent, and `missing: false` that it is present.
  return verdicts.length === 0 ? (missing === true ? NO : YES) : all(verdicts);
}

function judgeText(value: unknown, judgeIt: (text: string) => Verdict): Verdict {
  if (typeof value !== 'string') {
    return OTHER_TYPE;
  }
  return value.length > MAX_JUDGED_CHARS ? TOO_LONG : judgeIt(value);
}

function judgeEqual(wanted: string | number | boolean, value: unknown): Verdict {
  if (typeof value !== typeof wanted) {
    return OTHER_TYPE;
  }
  if (value === wanted) {
    return YES;
  }
  return typeof value === 'string' && fold(value) === fold(String(wanted)) ? NEARLY : NO;
}

function judgeMatch(pattern: string, text: string): Verdict {
  if (matchesGlob(pattern, text)) {
    return YES;
  }
  return matchesGlob(fold(pattern), fold(text)) ? NEARLY : NO;
}

function fold(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}
