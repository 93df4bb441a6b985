/**
 * Conditions on the arguments of a call. A verdict is `yes` or `no` only when it is so for every way in which a server may
 * read the argument; a list fulfils a condition when all of its members do, and does not when none does.
 */
import { parametersOf } from '../../catalog/parameters.ts';
import type { PolicyCall } from './decision.ts';
import { matchesGlob } from './globs.ts';
import { isUnder } from './paths.ts';
import type { Condition } from './schema.ts';
import { all, any, NO, unsure, type Verdict, YES } from './verdict.ts';

/** Longer texts are not compared with patterns: that would take milliseconds. */
const MAX_JUDGED_CHARS = 8_192;
/** Members of a list that are looked at, those of lists in it included. Chosen. */
const MAX_MEMBERS = 1_000;

const MISSING = unsure('is missing or empty');
const OTHER_TYPE = unsure('is of another type');
const NEARLY = unsure('differs only in case, spaces or in how its characters are written');
const MIXED = unsure('is a list, of which a part fits');
const NUL = unsure('holds a NUL character, at which some programs end a text');
const TOO_LONG = unsure(`has more than ${MAX_JUDGED_CHARS} characters`);
const TOO_MANY = unsure(`has more than ${MAX_MEMBERS} members`);

/**
 * Whether the argument fulfils the condition.
 *
 * @param key its name, in the schema or in Python, or a JSON pointer to a value in it (RFC 6901) that begins with `/`.
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
  if (values.length > MAX_MEMBERS) {
    return TOO_MANY;
  }
  const verdicts = values.map((value) => judgeValue(condition, value));
  const [first = MISSING] = verdicts;
  const odd = verdicts.find(({ is }) => is === 'unsure');
  return odd ?? (verdicts.every(({ is }) => is === first.is) ? first : MIXED);
}

/** The values that the key names, with lists opened; none when it is missing, null or an empty list. */
function valuesAt(key: string, { arguments: given, tool }: Pick<PolicyCall, 'arguments' | 'tool'>): unknown[] {
  const names = key.startsWith('/') ? key.slice(1).split('/').map(unescapePointer) : [key];
  const [first = '', ...rest] = names;
  const present = bothNames(first, tool.inputSchema).filter((name) => Object.hasOwn(given, name));
  const found: unknown[] = [];
  present.forEach((name) => collect(given[name], rest, found, present.length > 1));
  return found;
}

/** The names of an argument, in the schema and in Python. Who gives both at once leaves it to the server which one it reads. */
function bothNames(word: string, inputSchema: PolicyCall['tool']['inputSchema']): readonly string[] {
  const { names, list } = parametersOf(inputSchema);
  const found = list.find(({ name, alias }) => (names.has(word) ? name === word : alias === word));
  return found === undefined ? [word] : [...new Set([found.name, found.alias])];
}

/** A member of a list that has no such value counts as one that cannot be judged. */
function collect(value: unknown, names: readonly string[], found: unknown[], isMember = false): void {
  if (found.length > MAX_MEMBERS) {
    return;
  }
  if (Array.isArray(value)) {
    value.forEach((member) => collect(member, names, found, true));
    return;
  }
  const [name, ...rest] = names;
  if (value === undefined || value === null) {
    found.push(...(isMember ? [undefined] : []));
  } else if (name === undefined) {
    found.push(value);
  } else {
    const isObject = typeof value === 'object' && Object.hasOwn(value, name);
    collect(isObject ? (value as Record<string, unknown>)[name] : undefined, rest, found, isMember);
  }
}

function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

function judgeValue({ under, equals, oneOf, matches, missing }: Condition, value: unknown): Verdict {
  if (typeof value === 'string' && value.includes('\0')) {
    return NUL;
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
  // Alone, `missing` is a condition on whether the argument is given at all.
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
