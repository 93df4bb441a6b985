/**
 * Python identifiers for the names of servers, tools and parameters, and back. Servers always get the exact original name; an
 * alias replaces it only in code. Source of the keywords: Python 3.14 reference, section 2.3.1. Soft keywords such as `match`
 * and `type` are valid names.
 */

const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global ' +
    'if import in is lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

/** Something with a name and its alias in Python. */
export interface Named {
  readonly name: string;
  readonly alias: string;
}

/** Whether Python reserves the word, so that it cannot be a name. */
export function isPythonKeyword(word: string): boolean {
  return KEYWORDS.has(word);
}

/**
 * `name` as an ASCII identifier: other characters become `_`, a leading digit gets a `_` before it, and a keyword gets one
 * after it. Several leading `_` become one, because Python treats names with two specially.
 */
export function toIdentifier(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/gu, '_').replace(/^__+/, '_');
  const started = /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
  return KEYWORDS.has(started) ? `${started}_` : started;
}

/**
 * An alias for each name, in the given order. A name that is already an identifier is its own alias, so an alias never hides
 * another name. If other aliases are equal, they get `_2`, `_3` and so on in the order of their names by UTF-16 code units, so
 * that the order in which a server lists them does not matter. A name that occurs twice gets two aliases.
 */
export function assignAliases(names: readonly string[], identifier: (name: string) => string = toIdentifier): string[] {
  const taken = new Set(names.filter((name) => identifier(name) === name));
  const unclaimed = new Set(taken);
  // The last number used for each base, so that counting does not start over for every equal name.
  const counts = new Map<string, number>();

  function claim(name: string): string {
    if (unclaimed.delete(name)) {
      return name;
    }
    const base = identifier(name);
    let count = counts.get(base) ?? 1;
    let alias = base;
    while (taken.has(alias)) {
      count += 1;
      // Two leading underscores would have a meaning in Python.
      alias = base.endsWith('_') ? `${base}${count}` : `${base}_${count}`;
    }
    counts.set(base, count);
    taken.add(alias);
    return alias;
  }

  const sorted = names
    .map((name, index) => ({ name, index }))
    .toSorted((left, right) => compare(left.name, right.name));
  const aliases = Array.from<string>({ length: names.length });
  for (const { name, index } of sorted) {
    aliases[index] = claim(name);
  }
  return aliases;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

/** Aliases of servers; lower case, because people and models type `mcp_<alias>` from memory. */
export function assignServerAliases(names: readonly string[]): string[] {
  return assignAliases(names, (name) => toIdentifier(name.toLowerCase()));
}

/**
 * The candidate that `wanted` refers to: by name, otherwise by alias, otherwise by either in another case if only one
 * matches. Undefined if none matches, or if several differ only in case. Indexes the array on first use: it must not change.
 */
export function resolveName<Candidate extends Named>(
  candidates: readonly Candidate[],
  wanted: string,
): Candidate | undefined {
  const { exact, folded } = indexOf(candidates);
  // The index was made of these candidates.
  return (exact.get(wanted) ?? folded.get(wanted.toLowerCase()) ?? undefined) as Candidate | undefined;
}

interface NameIndex {
  readonly exact: ReadonlyMap<string, Named>;
  /** Null if several candidates match. */
  readonly folded: ReadonlyMap<string, Named | null>;
}

/** Comparing each call with each tool blocked the bridge for half a second when code made many calls of a large server. */
const indexes = new WeakMap<readonly Named[], NameIndex>();

function indexOf(candidates: readonly Named[]): NameIndex {
  const index = indexes.get(candidates) ?? createIndex(candidates);
  indexes.set(candidates, index);
  return index;
}

function createIndex(candidates: readonly Named[]): NameIndex {
  const exact = new Map<string, Named>();
  const folded = new Map<string, Named | null>();
  for (const candidate of candidates) {
    setIfNew(exact, candidate.name, candidate);
    for (const key of new Set([candidate.name.toLowerCase(), candidate.alias.toLowerCase()])) {
      folded.set(key, folded.has(key) ? null : candidate);
    }
  }
  for (const candidate of candidates) {
    setIfNew(exact, candidate.alias, candidate);
  }
  return { exact, folded };
}

function setIfNew(map: Map<string, Named>, key: string, candidate: Named): void {
  if (!map.has(key)) {
    map.set(key, candidate);
  }
}

/** A test whether a configured server is the one that a person typed, by name or alias and in any case. */
export function isServer(typed: string): (server: string) => boolean {
  const wanted = caseless(typed);
  return (server) => caseless(server) === wanted;
}

function caseless(name: string): string {
  return toIdentifier(name).toLowerCase();
}
