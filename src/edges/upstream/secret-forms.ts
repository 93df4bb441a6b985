/**
 * The ways in which a secret is written: as it is, escaped as in JSON, percent-encoded as in an address, and in base64 as in a header.
 * Both masks use them: that of results (`result-mask.ts`) and that of bytes which pass through (`egress/stream-mask.ts`). Pure.
 */

/**
 * The texts that can stand at one place of a secret; none of them begins another. The digits of an escape (`isEscape`) are in lower
 * case and stand for both.
 */
export type Place = readonly string[];
export type SecretForm = readonly Place[];

/** Characters that every JSON encoder writes unescaped. Go's escapes `&` as a number, .NET's also `+`, and PHP's writes `\/`. */
const NEVER_ESCAPED = /[\w.-]+/g;
/** The start of a longer run is distinctive enough. Chosen. */
export const MAX_NEEDLE_CHARS = 64;
const MAY_BE_ESCAPED = /[^\w.-]/;
const ESCAPE = /^(?:%[\da-f]{2}|(?:\\u[\da-f]{4})+)$/;

export function formsOf(secret: string): SecretForm[] {
  return [plainForm(secret), jsonForm(secret), percentForm(secret), ...base64Texts(secret).map(base64Form)];
}

/** A text that contains none of them contains the secret in no form. */
export function needlesOf(secret: string): string[] {
  return [...new Set([secret, ...base64Texts(secret)].map(needleOf))];
}

/** Forms that no program writes by itself, but an API of someone who looks for the secret. Only streams of code's own requests have them. */
export function deliberateFormsOf(secret: string): SecretForm[] {
  const digits = Array.from(Buffer.from(secret).toString('hex'), (digit) => [...new Set([digit, digit.toUpperCase()])]);
  return [digits, Array.from(secret, (character) => [escapedWhole(character)])];
}

/** A text that contains none of these either contains it in none of those, nor with every character percent-encoded. */
export function deliberateNeedlesOf(secret: string): string[] {
  const bytes = Buffer.from(secret).toString('hex');
  const start = bytes.slice(0, DELIBERATE_BYTES * 2);
  const percent = start.replaceAll(/../g, '%$&');
  const escaped = Array.from(secret).slice(0, DELIBERATE_BYTES).map(escapedWhole).join('');
  // The digits of one text are all of one case.
  return [start, start.toUpperCase(), percent, upperDigits(percent), escaped, upperDigits(escaped)];
}

/** Enough to be rare. Chosen. */
const DELIBERATE_BYTES = 4;

function escapedWhole(character: string): string {
  return Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at), 4)}`).join('');
}

function upperDigits(text: string): string {
  return text.replaceAll(/(?<=%|\\u)[\da-f]+/g, (digits) => digits.toUpperCase());
}

/** Whether a text of a place is an escape with hexadecimal digits. */
export function isEscape(text: string): boolean {
  return ESCAPE.test(text);
}

/** The base64 of the secret inside a longer text, for each of the three offsets in a byte group where it may begin. */
export function base64Texts(secret: string): string[] {
  return [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    // The characters at both ends also encode bits of the surrounding text.
    return bytes.toString('base64').slice(before === 0 ? 0 : before + 1, Math.floor((bytes.length * 4) / 3));
  });
}

/** What to search for before masking: the longest run that no encoder escapes. If empty, any text may contain the secret. */
function needleOf(text: string): string {
  const runs = text.match(NEVER_ESCAPED) ?? [];
  return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), '').slice(0, MAX_NEEDLE_CHARS);
}

function plainForm(secret: string): SecretForm {
  return Array.from(secret, (character) => [character]);
}

/** The secret in JSON inside a string. PHP escapes `/`, Python all but ASCII, Go `<`, `>` and `&`, .NET `+`. */
function jsonForm(secret: string): SecretForm {
  return Array.from(secret, (character) => {
    if (!MAY_BE_ESCAPED.test(character)) {
      return [character];
    }
    const short = character === '/' ? '\\/' : JSON.stringify(character).slice(1, -1);
    const units = Array.from({ length: character.length }, (_, index) => hex(character.charCodeAt(index), 4));
    const long = units.map((digits) => `\\u${digits}`).join('');
    // A lone backslash is not among them: a row of them would be ambiguous.
    return [...new Set(character === '\\' ? [short, long] : [short, character, long])];
  });
}

/** `encodeURIComponent` escapes all but `A-Za-z0-9-_.!~*'()`. Others escape more, or in lower case; forms write a space as `+`. */
function percentForm(secret: string): SecretForm {
  return Array.from(Buffer.from(secret), (byte) => {
    const escape = `%${hex(byte, 2)}`;
    if (byte === 0x20) {
      return [escape, '+'];
    }
    // A lone `%` would be ambiguous, too, and an encoder leaves none.
    return byte > 0x20 && byte < 0x7f && byte !== 0x25 ? [String.fromCharCode(byte), escape] : [escape];
  });
}

/** In both alphabets. */
function base64Form(text: string): SecretForm {
  return Array.from(text, (character) =>
    character === '+' ? ['+', '-'] : character === '/' ? ['/', '_'] : [character],
  );
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
