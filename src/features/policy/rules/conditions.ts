/**
 * Conditions on the arguments of a call. A verdict is `yes` or `no` only if it holds however a server may interpret the
 * argument. A list meets a condition if all its items do, and fails it if none does.
 */
import { parametersOf } from '../../../core/catalog/parameters.ts';
import { matchesGlob } from './globs.ts';
import { isUnder } from './paths.ts';
import type { PolicyCall } from './policy-call.ts';
import type { Condition } from './schema.ts';
import { all, any, NO, unsure, type Verdict, YES } from './verdict.ts';

/** Longer strings are not matched against patterns, which would take milliseconds. */
const MAX_JUDGED_CHARS = 8_192;
/** Items of a list that are checked, including those of nested lists. Chosen. */
const MAX_ITEMS = 1_000;
/** All texts of one argument. Chosen: judging them takes about 10 ms, in which the bridge does nothing else. */
const MAX_CHARS_OF_ALL = 65_536;

const MISSING = unsure('is missing or empty');
const OTHER_TYPE = unsure('has a different type');
const NEARLY = unsure('differs only in case, spacing, invisible characters or the form of its characters');
const MIXED = unsure('is a list of which only some items match');
const NUL = unsure('contains a NUL character, where some programs cut a string off');
const TOO_LONG = unsure(`has more than ${MAX_JUDGED_CHARS} characters`);
const TOO_MANY = unsure(`has more than ${MAX_ITEMS} items`);
const TOO_MUCH = unsure(`has more than ${MAX_CHARS_OF_ALL} characters in all its items`);
const ASCII = /^[ -~]*$/;
/** Characters that show nothing, which some servers remove: controls, zero-width characters, joiners, selectors, tags. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;

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
  if (
    values.reduce((sum: number, value) => sum + (typeof value === 'string' ? value.length : 0), 0) > MAX_CHARS_OF_ALL
  ) {
    return TOO_MUCH;
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
  const exact = bothNames(first, tool.inputSchema);
  const declared = parametersOf(tool.inputSchema).names;
  const present = exact.filter((name) => Object.hasOwn(given, name));
  const alike = namesLike(exact, given).filter((name) => !declared.has(name));
  const found: unknown[] = [];
  [...present, ...alike].forEach((name) => collect(given[name], rest, found, present.length + alike.length > 1));
  return alike.length > 0 && present.length === 0 ? [...found, null] : found;
}

/** The argument's names, in the schema and in Python. If a call has both, only the server knows which one it reads. */
function bothNames(word: string, inputSchema: PolicyCall['tool']['inputSchema']): readonly string[] {
  const { names, list } = parametersOf(inputSchema);
  const found = list.find(({ name, alias }) => (names.has(word) ? name === word : alias === word));
  return found === undefined ? [word] : [...new Set([found.name, found.alias])];
}

/**
 * Other names that some servers read as one of these: the JSON parsers of Go and .NET can ignore case, and if an object has
 * `path` and `Path`, either may count.
 */
function namesLike(wanted: readonly string[], object: object): string[] {
  const folded = wanted.map((name) => foldName(name));
  const maxChars = Math.max(...wanted.map(({ length }) => length)) * MAX_GROWTH;
  return Object.keys(object).filter(
    (key) => key.length <= maxChars && !wanted.includes(key) && folded.includes(foldName(key)),
  );
}

/** How many characters may become one when a name is folded; longer names are not compared. */
const MAX_GROWTH = 4;

function foldName(name: string): string {
  return ASCII.test(name) ? name.toLowerCase() : fold(name);
}

/**
 * Adds null, which no condition can judge, for an empty list, for a list item without such a value, and for a value that
 * should be an object but is not: a server may parse a text as JSON.
 */
function collect(value: unknown, names: readonly string[], found: unknown[], isItem = false): void {
  if (found.length > MAX_ITEMS) {
    return;
  }
  if (Array.isArray(value) && value.length > 0) {
    value.forEach((item) => collect(item, names, found, true));
    return;
  }
  if (value === undefined) {
    found.push(...(isItem ? [null] : []));
  } else if (value === null || Array.isArray(value)) {
    found.push(null);
  } else if (names.length === 0) {
    found.push(value);
  } else {
    collectMember(value, names, found, isItem);
  }
}

function collectMember(
  value: unknown,
  [name = '', ...rest]: readonly string[],
  found: unknown[],
  isItem: boolean,
): void {
  if (typeof value !== 'object' || value === null) {
    found.push(null);
    return;
  }
  const members = value as Record<string, unknown>;
  const alike = namesLike([name], members);
  const isPresent = Object.hasOwn(members, name);
  collect(isPresent ? members[name] : undefined, rest, found, isItem || alike.length > 0);
  alike.forEach((other) => collect(members[other], rest, found, true));
}

/** The name of the argument that a JSON pointer begins with. */
export function argumentIn(pointer: string): string {
  return unescapePointer(pointer.split('/')[1] ?? '');
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

/** The text without the differences that some servers do not see. White space in it stays, though line ends are controls. */
function fold(text: string): string {
  const visible = ASCII.test(text) ? text : text.replace(INVISIBLE, (found) => (found.trim() === '' ? found : ''));
  return visible.normalize('NFKC').trim().toLowerCase();
}
