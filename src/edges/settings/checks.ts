/**
 * The checks of settings: each converts the text of a variable or refuses it. They are plain functions, because settings are
 * read before the first answer, and a schema library takes longer to load than everything else that a start needs.
 */
import { messageOf } from '../../core/base/errors.ts';

/** Returns the value of a text. Throws a `RefusedText`. */
export type Check<Value> = (text: string) => Value;

/** The message is the reason; empty if it is enough to say what is allowed. */
export class RefusedText extends Error {}

/** Any text. */
export const anyText: Check<string> = (text) => text;

/** A text of this form. */
export function textLike(pattern: RegExp, maxChars = Number.POSITIVE_INFINITY): Check<string> {
  return (text) => (text.length <= maxChars && pattern.test(text) ? text : refuse());
}

/** How programs and people also write `off` and `on`. */
const SWITCH_WORDS = new Map([
  ['0', 'off'],
  ['false', 'off'],
  ['no', 'off'],
  ['1', 'on'],
  ['true', 'on'],
  ['yes', 'on'],
]);

/** One of `names`, whatever the case of the text. Where `off` or `on` is one of them, 0 and 1 are, too. */
export function oneOf<const Names extends readonly string[]>(names: Names): Check<Names[number]> {
  return (text) => {
    const word = text.toLowerCase();
    const meant = [word, SWITCH_WORDS.get(word)];
    return names.find((name) => meant.includes(name.toLowerCase())) ?? refuse();
  };
}

/** A switch. */
export const onOrOff: Check<boolean> = (text) => oneOf(['on', 'off'])(text) === 'on';

/** Bounds of a number, both of which are allowed. */
interface Bounds {
  readonly min: number;
  readonly max?: number;
}

/** A number that `parse` reads; it returns NaN for what it cannot read. */
export function numberWithin(parse: (text: string) => number, { min, max = Number.MAX_VALUE }: Bounds): Check<number> {
  return (text) => {
    const value = parse(text);
    return value >= min && value <= max ? value : refuse();
  };
}

/** The same for whole numbers that can be represented exactly. */
export function wholeNumberWithin(parse: (text: string) => number, bounds: Bounds): Check<number> {
  const check = numberWithin(parse, bounds);
  return (text) => {
    const value = check(text);
    return Number.isSafeInteger(value) ? value : refuse();
  };
}

/** NaN unless the text is of this form. */
export function readDigits(pattern: RegExp): (text: string) => number {
  return (text) => (pattern.test(text) ? Number(text) : Number.NaN);
}

/** What `parse` returns; the message of the error that it throws is the reason of the refusal. */
export function parsedBy<Value>(parse: (text: string) => Value): Check<Value> {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      throw new RefusedText(messageOf(error), { cause: error });
    }
  };
}

function refuse(): never {
  throw new RefusedText();
}
