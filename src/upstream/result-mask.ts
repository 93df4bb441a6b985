/**
 * Masks secrets in what a server sends, wherever in a message they stand. Most messages hold none, and are only looked
 * at as bytes: 0.4 µs for a small one, 40 ms for 64 MiB (measured). A server that wants to give a secret away can write
 * it in ways that nobody recognises; this is for those that repeat it by accident.
 */
import { isObject, type JsonObject } from '../base/is-object.ts';
import { isCarriedNumber, stringifyExact } from '../protocol/exact-json.ts';

/** What stands in the place of a secret. */
export const MASK = '***';

/** A text of a line that is no longer is searched at once; of a longer one each needle is searched, which takes no copy. */
const SHORT_LINE_BYTES = 16 * 1024;
/** Characters that every JSON encoder writes as they are. Go's writes `&` as a number, .NET's also `+`, PHP's `\/`. */
const NEVER_ESCAPED = /[\w.-]+/g;
/** The start of a longer run tells as much. Chosen. */
const MAX_NEEDLE_CHARS = 64;
/** V8 takes no pattern of 30,000 characters of a secret, and repeats it in its complaint. */
const MAX_PATTERN_CHARS = 4_096;
const MAY_BE_ESCAPED = /[^\w.-]/;
/** A letter or digit written as a number all the same. */
const NEEDLESS_ESCAPE = /^(?:3\d|[46][1-9a-f]|[57][0-9a])$/i;
const ESCAPE = Buffer.from('\\u00');

export interface ResultMask {
  /** Whether a secret may stand in the JSON of `line`; false is certain. */
  mayHold(line: Buffer): boolean;
  /** The message with what it says masked; itself when there is nothing to mask. Nested as deep as the caller allows. */
  maskMessage(message: JsonObject): JsonObject;
  /** The same for any JSON value, all of it. */
  maskValue(value: unknown): unknown;
}

const NO_MASK: ResultMask = { mayHold: () => false, maskMessage: (message) => message, maskValue: (value) => value };

/** Masks each of `secrets`: as it is, as in JSON in a text, percent-encoded as in an address, in base64 as in a header. */
export function createResultMask(secrets: readonly string[]): ResultMask {
  if (secrets.length === 0) {
    return NO_MASK;
  }
  // Longest first, so that no part of a secret stays when one contains another.
  const finders = secrets.toSorted((a, b) => b.length - a.length).map(createFinder);
  const mayHold = createSearch([...new Set(finders.flatMap(({ needles }) => needles))]);
  const numbers = new Set(secrets.filter((text) => /^\d+$/.test(text)));

  const minChars = Math.min(...secrets.map((text) => text.length));

  const maskText = (text: string): string =>
    text.length < minChars ? text : finders.reduce((rest, { replaceIn }) => replaceIn(rest), text);
  const mask = (value: unknown): unknown => {
    if (typeof value === 'string') {
      return maskText(value);
    }
    if (typeof value === 'number') {
      return numbers.has(String(value)) ? MASK : value;
    }
    if (Array.isArray(value)) {
      return maskElements(value, mask);
    }
    if (!isObject(value)) {
      return value;
    }
    if (isCarriedNumber(value)) {
      return numbers.has(stringifyExact(value)) ? MASK : value;
    }
    return maskMembers(value, mask, maskText);
  };

  return {
    mayHold,
    maskValue: mask,
    maskMessage(message) {
      // The envelope is the protocol's own: a mask in it would make the message another one.
      const said = Object.entries(message).filter(([key]) => key === 'params' || key === 'result' || key === 'error');
      return { ...message, ...Object.fromEntries(said.map(([key, value]) => [key, mask(value)])) };
    },
  };
}

/** How one secret is found. */
interface Finder {
  /** A text that holds none of them does not hold it either. */
  readonly needles: readonly string[];
  replaceIn(text: string): string;
}

function createFinder(secret: string): Finder {
  const needles = [...new Set([secret, ...base64Texts(secret)].map(needleOf))];
  const replace = secret.length > MAX_PATTERN_CHARS ? replacerOfTexts(secret) : replacerOfPattern(secret);
  return {
    needles,
    replaceIn: (text) => (needles.some((needle) => text.includes(needle)) ? replace(text) : text),
  };
}

/** Made when it is first needed: that takes longer than a search. */
function replacerOfPattern(secret: string): (text: string) => string {
  let pattern: RegExp | undefined;
  return (text) => {
    pattern ??= longestFirst([plainForm(secret), jsonForm(secret), percentForm(secret), ...base64Forms(secret)]);
    return text.replace(pattern, MASK);
  };
}

function longestFirst(sources: readonly string[]): RegExp {
  return new RegExp([...new Set(sources)].toSorted((a, b) => b.length - a.length).join('|'), 'g');
}

/** As the most common encoder writes each form; its lines are secrets of their own. */
function replacerOfTexts(secret: string): (text: string) => string {
  const json = JSON.stringify(secret).slice(1, -1);
  const percent = encodeURIComponent(Buffer.from(secret).toString());
  const texts = [...new Set([json, percent, ...base64Texts(secret), secret])];
  return (text) => texts.reduce((rest, form) => rest.replaceAll(form, MASK), text);
}

/** The same for secrets that change; `secrets` gives the same array as long as they do not. */
export function createChangingMask(secrets: () => readonly string[]): ResultMask {
  let known: readonly string[] = [];
  let mask = NO_MASK;
  const current = (): ResultMask => {
    const now = secrets();
    if (now !== known) {
      known = now;
      mask = createResultMask(now);
    }
    return mask;
  };
  return {
    mayHold: (line) => current().mayHold(line),
    maskMessage: (message) => current().maskMessage(message),
    maskValue: (value) => current().maskValue(value),
  };
}

/** Whether any of `needles` stands in a line, or a letter or digit that is written as a number. */
function createSearch(needles: readonly string[]): (line: Buffer) => boolean {
  const any = new RegExp(needles.map(plainForm).join('|'));
  const bytes = needles.map((needle) => Buffer.from(needle));
  return (line) => {
    const isFound =
      line.length <= SHORT_LINE_BYTES
        ? any.test(line.toString('latin1'))
        : bytes.some((needle) => needle.length === 0 || line.includes(needle));
    return isFound || hasNeedlessEscape(line);
  };
}

function hasNeedlessEscape(line: Buffer): boolean {
  for (let at = line.indexOf(ESCAPE); at !== -1; at = line.indexOf(ESCAPE, at + ESCAPE.length)) {
    const digits = at + ESCAPE.length;
    if (NEEDLESS_ESCAPE.test(line.toString('latin1', digits, digits + 2))) {
      return true;
    }
  }
  return false;
}

/** The same array when there is nothing to mask: a copy of all of a large result takes seconds. */
function maskElements(elements: readonly unknown[], mask: (part: unknown) => unknown): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (const [index, element] of elements.entries()) {
    const masked = mask(element);
    if (masked !== element) {
      copy ??= [...elements];
      copy[index] = masked;
    }
  }
  return copy ?? elements;
}

/** The same object when there is nothing to mask. Keys are masked too; two that become alike are told apart. */
function maskMembers(
  value: JsonObject,
  mask: (part: unknown) => unknown,
  maskText: (text: string) => string,
): JsonObject {
  const keys = Object.keys(value);
  let copy: [string, unknown][] | undefined;
  for (const [index, key] of keys.entries()) {
    const name = maskText(key);
    const member = mask(value[key]);
    if (name !== key || member !== value[key]) {
      copy ??= keys.slice(0, index).map((before) => [before, value[before]]);
    }
    copy?.push([name, member]);
  }
  return copy === undefined ? value : Object.fromEntries(toldApart(copy));
}

function toldApart(members: readonly [string, unknown][]): Map<string, unknown> {
  const apart = new Map<string, unknown>();
  for (const [name, member] of members) {
    let free = name;
    for (let count = 2; apart.has(free); count += 1) {
      free = `${name} (${count})`;
    }
    apart.set(free, member);
  }
  return apart;
}

/** What texts and the bytes of a line are searched for; empty when any may hold the secret. */
function needleOf(text: string): string {
  const runs = text.match(NEVER_ESCAPED) ?? [];
  return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), '').slice(0, MAX_NEEDLE_CHARS);
}

function plainForm(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/** As in JSON that stands in a text: PHP escapes `/`, Python what is not ASCII, Go `<`, `>` and `&`, .NET `+`. */
function jsonForm(secret: string): string {
  return Array.from({ length: secret.length }, (_, index) => {
    const unit = secret.charAt(index);
    if (!MAY_BE_ESCAPED.test(unit)) {
      return plainForm(unit);
    }
    const short = unit === '/' ? '\\/' : JSON.stringify(unit).slice(1, -1);
    // No backslash as it is: a row of them could be read in too many ways.
    const forms = new Set(unit === '\\' ? [short] : [short, unit]);
    return `(?:${[...forms].map(plainForm).join('|')}|\\\\u${hexForm(unit.charCodeAt(0), 4)})`;
  }).join('');
}

/** In either case. */
function hexForm(code: number, digits: number): string {
  const hex = code.toString(16).padStart(digits, '0');
  return hex.replace(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

/** `encodeURIComponent` escapes all but `A-Za-z0-9-_.!~*'()`; others escape more, and in lower case; forms write a blank as `+`. */
function percentForm(secret: string): string {
  return Array.from(Buffer.from(secret), (byte) => {
    const escape = byte === 0x20 ? '(?:%20|\\+)' : `%${hexForm(byte, 2)}`;
    return byte > 0x20 && byte < 0x7f ? `(?:${plainForm(String.fromCharCode(byte))}|${escape})` : escape;
  }).join('');
}

/** Base64 of a text that the secret stands in, for the three places in a group of bytes where it may begin. */
function base64Texts(secret: string): string[] {
  return [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    // Characters at both ends hold bits of what stands around.
    return bytes.toString('base64').slice(before === 0 ? 0 : before + 1, Math.floor((bytes.length * 4) / 3));
  });
}

/** Both alphabets of base64. */
function base64Forms(secret: string): string[] {
  return base64Texts(secret).map((text) => text.replaceAll('+', '[+-]').replaceAll('/', '[/_]'));
}
