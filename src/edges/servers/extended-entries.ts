/**
 * `"extends": "NAME"` in an entry of a server file: the entry has everything of another one in the same file, except what it says
 * itself. So several accounts of one server need one definition. Pure.
 */
import { isObject } from '../../core/base/is-object.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Keys whose members are merged one by one. */
const MERGED = ['env', 'headers'] as const;
/** An entry that only others extend is disabled; they are not. */
const NOT_INHERITED: ReadonlySet<string> = new Set(['disabled']);

/** An entry that cannot be used. */
export interface ExtendFault {
  readonly name: string;
  readonly message: string;
  readonly hint: string;
}

export interface ExtendedEntries {
  /** As written for entries that extend none. In the order of the file, without those that have a fault. */
  readonly entries: Readonly<Record<string, unknown>>;
  readonly faults: readonly ExtendFault[];
}

export function extendEntries(written: Readonly<Record<string, unknown>>): ExtendedEntries {
  const faults: ExtendFault[] = [];
  // Pairs, because assigning to a key `__proto__` would not create an entry.
  const entries: [string, unknown][] = [];
  for (const [name, value] of Object.entries(written)) {
    const found = isObject(value) && 'extends' in value ? extend(name, value, written) : value;
    if (found instanceof Fault) {
      faults.push({ name, message: found.message, hint: found.hint });
    } else {
      entries.push([name, found]);
    }
  }
  return { entries: Object.fromEntries(entries), faults };
}

class Fault {
  readonly message: string;
  readonly hint: string;

  constructor(message: string, hint: string) {
    this.message = message;
    this.hint = hint;
  }
}

function extend(name: string, own: Entry, written: Entry): Entry | Fault {
  const chain = [name];
  /** From the entry itself to the one that extends none. */
  const layers: Entry[] = [own];
  for (let last = own; 'extends' in last; last = layers.at(-1) ?? own) {
    const base = last['extends'];
    if (typeof base !== 'string' || base === '') {
      return new Fault('must name one other entry', 'Write the name of an entry in this file: "extends": "NAME".');
    }
    chain.push(base);
    if (chain.indexOf(base) < chain.length - 1) {
      const circle = chain.map((link) => `'${link}'`).join(' extends ');
      return new Fault(
        `goes in a circle: ${circle}`,
        'Remove "extends" from one of them, and give that one a "command" or "url".',
      );
    }
    const value = Object.hasOwn(written, base) ? written[base] : undefined;
    if (!isObject(value)) {
      const why = value === undefined ? 'which this file does not have' : 'which is not an object';
      return new Fault(`names '${base}', ${why}`, `Correct the name, or move both entries into one file.`);
    }
    layers.push(value);
  }
  return merge(layers, chain);
}

function merge(layers: readonly Entry[], chain: readonly string[]): Entry | Fault {
  const [nearest = ''] = chain.slice(1);
  let merged: Entry = layers.at(-1) ?? {};
  for (const [depth, own] of [...layers.slice(0, -1).entries()].toReversed()) {
    const fault = whyNotInherited(own, merged, chain[depth + 1] ?? '');
    if (fault !== undefined) {
      return fault;
    }
    const inherited = Object.entries(merged).filter(([key]) => !NOT_INHERITED.has(key));
    const both = MERGED.flatMap((key): [string, unknown][] => {
      const [base, ours] = [merged[key], own[key]];
      return isObject(base) && isObject(ours) ? [[key, { ...base, ...ours }]] : [];
    });
    merged = Object.fromEntries([...inherited, ...Object.entries(own), ...both]);
  }
  return { ...merged, extends: nearest };
}

/** What would give a server of another kind, or at another address, what was meant for the first. */
function whyNotInherited(own: Entry, base: Entry, name: string): Fault | undefined {
  const [kind, other] = own['url'] === undefined ? ['command', 'url'] : ['url', 'command'];
  if (own[kind] !== undefined && base[kind] === undefined && base[other] !== undefined) {
    return new Fault(
      `names '${name}', which has a "${other}", but this entry has a "${kind}"`,
      'Remove one of the two: a server is either a program or an address.',
    );
  }
  if (own['url'] === undefined || own['url'] === base['url']) {
    return undefined;
  }
  const credentials = ['headers', 'oauth'].filter((key) => base[key] !== undefined && own[key] === undefined);
  return credentials.length === 0 && !mergesHeaders(own, base)
    ? undefined
    : new Fault(
        `names '${name}', whose headers and "oauth" are for its own address, but this entry has another "url"`,
        'Remove "extends", and write everything that this server needs into this entry.',
      );
}

/** Whether headers of the base would be sent that the entry does not name. */
function mergesHeaders({ headers: own }: Entry, { headers: base }: Entry): boolean {
  return isObject(own) && isObject(base) && Object.keys(base).some((key) => !Object.hasOwn(own, key));
}
