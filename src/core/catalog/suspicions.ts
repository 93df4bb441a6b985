/**
 * Signs of deception in the names and texts of servers: names that imitate others, and text that people cannot see. Honest
 * servers hardly ever have either. Works on catalog data, in which a hidden character is written as `<U+200B>`.
 */
import type { KnownTool, ServerMetadata } from './known.ts';

export interface SuspectServer {
  readonly name: string;
  /** Undefined if the server has never been queried. */
  readonly metadata: ServerMetadata | undefined;
}

export interface Suspicion {
  readonly server: string;
  /** The name of a tool, or `instructions`; undefined for the server itself. */
  readonly part?: string;
  /** One clause. */
  readonly what: string;
}

/** Letters of other scripts and digits that look like Latin letters: the most common ones of Unicode's list of confusables. */
const LOOKALIKES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    a: 'аɑα',
    b: 'Ьв',
    c: 'сϲ',
    d: 'ԁ',
    e: 'еєε',
    g: 'ɡ',
    h: 'һн',
    i: 'іıιɩ',
    j: 'ј',
    k: 'кκ',
    l: 'ӏ1|',
    m: 'м',
    n: 'ոη',
    o: 'оο0օ',
    p: 'рρ',
    q: 'ԛ',
    r: 'г',
    s: 'ѕ',
    t: 'тτ',
    u: 'υս',
    v: 'ѵν',
    w: 'ԝω',
    x: 'хχ',
    y: 'уγ',
    z: 'ᴢ',
  }).flatMap(([letter, others]) => Array.from(others, (other): [string, string] => [other, letter])),
);
const HIDDEN = /<U\+([0-9A-F]{4,6})>/g;
/** Kinds of hidden characters, with the first and last code point of each range. */
const KINDS: readonly (readonly [name: string, ...ranges: readonly (readonly [number, number])[]])[] = [
  ['Unicode tags, which spell out invisible text', [0xe0000, 0xe007f]],
  ['characters that reorder text', [0x200e, 0x200f], [0x202a, 0x202e], [0x2066, 0x2069], [0x061c, 0x061c]],
  ['terminal escape sequences', [0x1b, 0x1b], [0x9b, 0x9b]],
  ['control characters', [0x00, 0x1f], [0x7f, 0x9f]],
];
const OTHER_KIND = 'invisible characters';

/** All suspicions: imitated names first, then hidden text, each in the order of the servers. */
export function suspicionsOf(servers: readonly SuspectServer[]): Suspicion[] {
  return [...imitations(servers), ...servers.flatMap(hiddenTexts)];
}

/** What a name looks like at a glance. Names with the same skeleton can be mistaken for each other. */
export function skeletonOf(name: string): string {
  const plain = name.replaceAll(HIDDEN, '').normalize('NFKC').toLowerCase();
  return Array.from(plain.replaceAll(/[\s._-]/g, ''), (letter) => LOOKALIKES.get(letter) ?? letter).join('');
}

function imitations(servers: readonly SuspectServer[]): Suspicion[] {
  return servers.flatMap((server, index) =>
    servers.slice(0, index).flatMap((other): Suspicion[] => {
      const [mine, theirs] = [skeletonOf(server.name), skeletonOf(other.name)];
      if (mine === theirs) {
        return [{ server: server.name, what: `its name looks like that of '${other.name}'` }];
      }
      const shared = toolsInCommon(server, other);
      return isNear(mine, theirs) && shared.length > 0
        ? [{ server: server.name, what: `its name is similar to '${other.name}', and both have a tool '${shared[0]}'` }]
        : lookalikeTools(server, other);
    }),
  );
}

function toolsOf({ metadata }: SuspectServer): readonly KnownTool[] {
  return metadata?.tools ?? [];
}

function toolsInCommon(server: SuspectServer, other: SuspectServer): string[] {
  const names = new Set(toolsOf(other).map(({ name }) => name));
  return toolsOf(server).flatMap(({ name }) => (names.has(name) ? [name] : []));
}

/** Tools whose names look like a tool of another server but use different letters. */
function lookalikeTools(server: SuspectServer, other: SuspectServer): Suspicion[] {
  const isForeign = (name: string): boolean => /[^\x20-\x7e]|<U\+/.test(name);
  const names = new Map(toolsOf(other).map(({ name }) => [skeletonOf(name), name]));
  return toolsOf(server).flatMap(({ name }): Suspicion[] => {
    const twin = names.get(skeletonOf(name));
    const isImitation = twin !== undefined && twin !== name && (isForeign(name) || isForeign(twin));
    return isImitation
      ? [{ server: server.name, part: name, what: `its name looks like '${twin}' of '${other.name}'` }]
      : [];
  });
}

/** Whether two names differ by one letter: replaced, added or swapped with its neighbor. Short names do not count. */
function isNear(left: string, right: string): boolean {
  const [long, short] = left.length >= right.length ? [left, right] : [right, left];
  if (short.length < 4 || long.length - short.length > 1) {
    return false;
  }
  let start = 0;
  while (start < short.length && long[start] === short[start]) {
    start += 1;
  }
  const [restOfLong, restOfShort] = [long.slice(start), short.slice(start)];
  const isExchanged =
    restOfLong.slice(2) === restOfShort.slice(2) &&
    restOfLong[0] === restOfShort[1] &&
    restOfLong[1] === restOfShort[0];
  const isOneOff = restOfLong.slice(1) === (long.length === short.length ? restOfShort.slice(1) : restOfShort);
  return isExchanged || isOneOff;
}

function hiddenTexts({ name: server, metadata }: SuspectServer): Suspicion[] {
  const parts: [string, string][] = toolsOf({ name: server, metadata }).map((tool) => [
    tool.name,
    JSON.stringify([tool.name, tool.title, tool.description, tool.inputSchema, tool.outputSchema, tool.annotations]),
  ]);
  return [...parts, ['instructions', metadata?.instructions ?? ''] as const].flatMap(([part, text]) =>
    kindsIn(text).map((kind) => ({ server, part, what: `it contains ${kind}` })),
  );
}

function kindsIn(text: string): string[] {
  const kinds = new Set([...text.matchAll(HIDDEN)].map(([, code = '']) => kindOf(Number.parseInt(code, 16))));
  return [...kinds, ...(text.includes('<!--') ? ['an HTML comment, which rendered Markdown hides'] : [])];
}

function kindOf(code: number): string {
  const found = KINDS.find(([, ...ranges]) => ranges.some(([first, last]) => code >= first && code <= last));
  return found?.[0] ?? OTHER_KIND;
}
