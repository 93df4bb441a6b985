/**
 * Values of parameters as text: the styles of OpenAPI 3.1 ("Style Values"), which are those of RFC 6570, and members in brackets.
 * Nothing that a value holds adds a parameter, an item or a member; what could is refused.
 */
import { isObject, type JsonObject } from '../../../core/base/is-object.ts';
import { isCarriedNumber, stringifyExact } from '../../../core/protocol/exact-json.ts';
import type { ApiParameter } from './compiled-api.ts';

/** Why a value cannot be sent. The message is a predicate whose subject is the argument. */
export class ValueFault extends Error {}

/** What each item or member costs besides its texts: separators, a part of a form. Chosen. */
const ITEM_CHARS = 64;

/**
 * How much a request may carry, in characters before they are encoded. A name is written again for each item and each member, so a small
 * argument could become gigabytes.
 */
export class Room {
  readonly #max: number;
  #left: number;

  constructor(max: number) {
    this.#max = max;
    this.#left = max;
  }

  /** Takes what a value needs whose name has so many characters. Throws a `ValueFault` if there is no room. */
  take(nameChars: number, value: unknown): void {
    if (isScalar(value)) {
      this.#left -= nameChars + ITEM_CHARS + (typeof value === 'string' ? value.length : 0);
    } else if (Array.isArray(value)) {
      value.forEach((item) => this.take(nameChars + 2, item));
    } else if (isObject(value)) {
      Object.entries(value).forEach(([key, member]) => this.take(nameChars + key.length + 2, member));
    }
    if (this.#left < 0) {
      throw new ValueFault(
        `is too large: with the others, it needs more than ${this.#max.toLocaleString('en-US')} characters here`,
      );
    }
  }
}

/** A name and a text, neither encoded. */
type Pair = readonly [name: string, text: string];

/** The parts of a value: one without a name for a scalar, one for each item of a list, and a named one for each member. */
type Parts = readonly (readonly [name: string | undefined, text: string])[];

type Encode = (text: string) => string;

/** What separates the items of a list that is one parameter, other than a comma. */
const SEPARATORS: Readonly<Record<string, string>> = { spaceDelimited: ' ', pipeDelimited: '|' };

/** The value as a query or the cookies of a request take it: pairs whose text is encoded with `encode`. Empty if there is none. */
export function pairsOf({ name, style, explode }: ApiParameter, value: unknown, encode: Encode): readonly Pair[] {
  if (style === 'json') {
    return value === undefined ? [] : [[name, encode(stringifyExact(value))]];
  }
  if (style === 'deepObject') {
    return bracketPairs(name, value).map(([path, text]) => [path, encode(text)]);
  }
  const parts = partsOf(value);
  if (parts.length === 0) {
    return [];
  }
  if (explode || isScalar(value)) {
    return parts.map(([key, text]) => [key ?? name, encode(text)]);
  }
  const separator = SEPARATORS[style];
  if (separator !== undefined && parts.some(([key, text]) => text.includes(separator) || key?.includes(separator))) {
    throw new ValueFault(`has an item with '${separator}', which separates the items of this parameter`);
  }
  // A comma inside an item stays encoded, also where reserved characters are allowed.
  const words = wordsOf(parts, false, (text) => encode(text).replaceAll(',', '%2C'));
  return [[name, words.join(separator === undefined ? ',' : percentEncode(separator))]];
}

/** The value as one text, as a path or a header takes it. Undefined if there is none. */
export function textOf({ name, style, explode }: ApiParameter, value: unknown, encode: Encode): string | undefined {
  if (style === 'json') {
    return value === undefined ? undefined : encode(stringifyExact(value));
  }
  const parts = partsOf(value);
  if (parts.length === 0) {
    return undefined;
  }
  const words = wordsOf(parts, explode, encode);
  switch (style) {
    case 'label':
      return `.${words.join(explode ? '.' : ',')}`;
    case 'matrix':
      return explode
        ? parts.map(([key, text]) => `;${encode(key ?? name)}=${encode(text)}`).join('')
        : `;${encode(name)}=${words.join(',')}`;
    default:
      return words.join(',');
  }
}

/**
 * Pairs such as `a[b][c]`, of a member at any depth. The specification defines one level of objects; the rest is what Stripe,
 * Rails, PHP and `qs` read: `a[]` for each item of a list of scalars, which Rails would take for an object if they were numbered,
 * and `a[0][b]` for others, because with `a[][b]` the servers disagree on where an item ends.
 */
export function bracketPairs(name: string, value: unknown): readonly Pair[] {
  if (isNothing(value)) {
    return [];
  }
  if (isScalar(value)) {
    return [[name, scalarText(value)]];
  }
  if (Array.isArray(value)) {
    const isFlat = value.every(isScalar);
    return value.flatMap((item: unknown, index) => bracketPairs(`${name}[${isFlat ? '' : index}]`, item));
  }
  return Object.entries(value).flatMap(([key, member]) => {
    if (key === '' || /[[\]]/.test(key)) {
      throw new ValueFault(
        'has a member whose name is empty or holds a bracket, which would be another member to the API',
      );
    }
    return bracketPairs(`${name}[${key}]`, member);
  });
}

/** Everything but the unreserved characters (RFC 3986, section 2.3) as percent-encoded UTF-8. */
export function percentEncode(text: string): string {
  if (!text.isWellFormed()) {
    throw new ValueFault('holds half of a character (a lone surrogate), which UTF-8 cannot express');
  }
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (character) => hex(character));
}

/**
 * The same for `allowReserved`. Of the reserved characters, these stay encoded: `#` would end the query, and brackets, `&`, `+` and
 * `;` have a meaning to servers (OpenAPI 3.1.1, "Parameter Object").
 */
export function encodeUnreserved(text: string): string {
  return percentEncode(text).replaceAll(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3D)/g, decodeURIComponent);
}

/** Whether a value is left out: RFC 6570, section 2.3, treats null like a variable without a value, as clients for OpenAPI do. */
export function isNothing(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** An argument of a call; undefined if it is not given. */
export function argumentOf(args: JsonObject, name: string): unknown {
  return Object.hasOwn(args, name) ? args[name] : undefined;
}

export function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null || isCarriedNumber(value);
}

/** Numbers and booleans as JSON writes them. */
export function scalarText(value: unknown): string {
  return typeof value === 'string' ? value : stringifyExact(value);
}

/** Empty for what is left out: nothing, and a list or object without members. A value inside a member has no style: it is JSON. */
function partsOf(value: unknown): Parts {
  if (isNothing(value)) {
    return [];
  }
  if (isScalar(value)) {
    return [[undefined, scalarText(value)]];
  }
  const members: [string | undefined, unknown][] = isObject(value)
    ? Object.entries(value)
    : (value as unknown[]).map((item) => [undefined, item]);
  return members.filter(([, member]) => !isNothing(member)).map(([key, member]) => [key, scalarText(member)]);
}

function wordsOf(parts: Parts, explode: boolean, encode: Encode): readonly string[] {
  return parts.flatMap(([key, text]) => {
    const encoded = encode(text);
    if (key === undefined) {
      return [encoded];
    }
    return explode ? [`${encode(key)}=${encoded}`] : [encode(key), encoded];
  });
}

function hex(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
