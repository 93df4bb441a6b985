/**
 * Puts the keys of an entry where code wrote their placeholders: in header values, in basic credentials and in the query. Nowhere else:
 * a body may be stored where code can read it again, and a path names things that others can see. Pure.
 */

export interface EgressKey {
  readonly name: string;
  /** What code sees instead of the value. */
  readonly placeholder: string;
  readonly value: string;
}

const BASIC = /^(basic +)([\w+/=-]+)$/i;

export interface Placeholders {
  /** A header value, whose characters are bytes. */
  inHeader(value: string): string;
  /** The query of an address, with its `?`. */
  inQuery(search: string): string;
  /** The other way round: the address that a server names, if it repeats the query. */
  outOfAddress(address: string): string;
}

export function createPlaceholders(keys: readonly EgressKey[]): Placeholders {
  const values = new Map(keys.map(({ placeholder, value }) => [placeholder, bytesOf(value)]));
  const encoded = new Map(
    keys.map(({ placeholder, value }) => [encodeURIComponent(placeholder), encodeURIComponent(value)]),
  );
  const back = new Map([...encoded].filter(([, value]) => value !== '').map(([name, value]) => [value, name]));
  const inText = replacer(values);
  return {
    inHeader(value) {
      const replaced = inText(value);
      const [, scheme, base64 = ''] = BASIC.exec(value) ?? [];
      if (replaced !== value || scheme === undefined) {
        return replaced;
      }
      const pair = Buffer.from(base64, 'base64').toString('latin1');
      const withValues = inText(pair);
      return withValues === pair ? value : scheme + Buffer.from(withValues, 'latin1').toString('base64');
    },
    inQuery: replacer(encoded),
    outOfAddress: replacer(back),
  };
}

/** Replaces all at once, so that a value is not searched for placeholders of others. */
function replacer(values: ReadonlyMap<string, string>): (text: string) => string {
  if (values.size === 0) {
    return (text) => text;
  }
  // Longest first: one may begin with another.
  const names = [...values.keys()].toSorted((a, b) => b.length - a.length);
  const any = new RegExp(names.map((name) => name.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g');
  return (text) => text.replace(any, (name) => values.get(name) ?? name);
}

/** The UTF-8 of a text, each byte as a character, as headers are written. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}
