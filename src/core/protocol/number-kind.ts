/**
 * What a number in JSON is, as far as its bytes tell. A result can have a million numbers, and most of them need no text and no
 * regular expression.
 */

const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/** Numbers with up to so many digits are exact in JavaScript, which writes them with the same digits. */
export const MAX_SHORT_DIGITS = 15;
/** JavaScript writes 0.000001 as it is, and smaller ones with an exponent. One zero less is safe. */
const MAX_LEADING_ZEROS = 4;

/** Anything else: with an exponent, an integer of more digits, `-0`, or no number. */
export const OTHER = 0;
/** An integer that JavaScript writes as it is here. */
export const INTEGER = 1;
/** One with a point that JavaScript writes as it is here. */
export const FRACTION = 2;
/** Like `7.00`: JavaScript writes only the integer. */
export const WHOLE_FRACTION = 3;
/** A valid number with a point, without exponent, that JavaScript may write in another way. */
export const LONG_FRACTION = 4;

/** The kind of the number from `start` up to but not including `end`. */
export function kindOfNumber(bytes: Buffer, start: number, end: number): number {
  const first = bytes[start] === MINUS ? start + 1 : start;
  let point = first;
  while (point < end && isDigit(bytes[point] as number)) {
    point += 1;
  }
  const startsWithZero = bytes[first] === ZERO;
  if (point === first || (startsWithZero && point > first + 1)) {
    return OTHER;
  }
  if (point === end) {
    const isMinusZero = startsWithZero && first > start;
    return end - first > MAX_SHORT_DIGITS || isMinusZero ? OTHER : INTEGER;
  }
  return bytes[point] === POINT ? kindOfFraction(bytes, first, point, end) : OTHER;
}

function kindOfFraction(bytes: Buffer, first: number, point: number, end: number): number {
  let nonZero = end;
  let lastNonZero = point;
  for (let at = point + 1; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (!isDigit(byte)) {
      return OTHER;
    }
    if (byte !== ZERO) {
      nonZero = Math.min(nonZero, at);
      lastNonZero = at;
    }
  }
  const isShort = end - first <= MAX_SHORT_DIGITS + 1;
  if (end === point + 1) {
    return OTHER;
  }
  if (!isShort) {
    return LONG_FRACTION;
  }
  const startsWithZero = bytes[first] === ZERO;
  if (nonZero === end) {
    return startsWithZero ? LONG_FRACTION : WHOLE_FRACTION;
  }
  const isSmall = startsWithZero && nonZero > point + 1 + MAX_LEADING_ZEROS;
  return lastNonZero === end - 1 && !isSmall ? FRACTION : LONG_FRACTION;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}
