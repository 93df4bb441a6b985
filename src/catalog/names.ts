/**
 * Names of servers, tools and parameters as Python identifiers, and back. The exact original name is what is sent to a
 * server; an alias only stands for it in code. Source of the keywords: Python 3.14 reference, section 2.3.1; soft
 * keywords (`match`, `type` …) are valid names and stay.
 */

const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global ' +
    'if import in is lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

/** Something with a name and the alias that stands for it in Python. */
export interface Named {
  readonly name: string;
  readonly alias: string;
}

/** Whether Python reserves the word, so that it cannot be the name of anything. */
export function isPythonKeyword(word: string): boolean {
  return KEYWORDS.has(word);
}

/**
 * `name` as an ASCII identifier: other characters become `_`, a leading digit gets `_` before it, a keyword `_` after.
 * More than one leading `_` becomes one, because Python treats names with two specially.
 */
export function toIdentifier(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/gu, '_').replace(/^__+/, '_');
  const started = /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
  return KEYWORDS.has(started) ? `${started}_` : started;
}

/**
 * An alias for each name, in the order given. Names that are identifiers already keep themselves, so that an alias
 * never hides the name of something else; of the others, equal aliases get `_2`, `_3` … in the order of the names by
 * UTF-16 code units, so that the order in which a server lists them does not matter. A name given twice gets two.
 */
export function assignAliases(names: readonly string[], identifier: (name: string) => string = toIdentifier): string[] {
  const taken = new Set(names.filter((name) => identifier(name) === name));
  const unclaimed = new Set(taken);
  // How far each base has been counted, so that many equal names do not count from the start every time.
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
      // Two underscores at the start would mean something to Python.
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

/** Aliases of servers are lower case, because `mcp_<alias>` is typed from memory. */
export function assignServerAliases(names: readonly string[]): string[] {
  return assignAliases(names, (name) => toIdentifier(name.toLowerCase()));
}

/**
 * The candidate meant by `wanted`: its name, else its alias, else either of them in another case if only one fits.
 * Undefined when there is none, or more than one differs only in case.
 */
export function resolveName<Candidate extends Named>(
  candidates: readonly Candidate[],
  wanted: string,
): Candidate | undefined {
  const exact =
    candidates.find((candidate) => candidate.name === wanted) ??
    candidates.find((candidate) => candidate.alias === wanted);
  if (exact !== undefined) {
    return exact;
  }
  const folded = wanted.toLowerCase();
  const similar = candidates.filter(
    (candidate) => candidate.name.toLowerCase() === folded || candidate.alias.toLowerCase() === folded,
  );
  return similar.length === 1 ? similar[0] : undefined;
}

/** Names of the parameters of an input schema, in its order. */
export function parameterNames(inputSchema: Readonly<Record<string, unknown>>): string[] {
  const { properties } = inputSchema;
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
}

/** Whether a configured server is the one that a person typed: names and aliases are understood in any case. */
export function isServer(typed: string): (server: string) => boolean {
  const wanted = caseless(typed);
  return (server) => caseless(server) === wanted;
}

function caseless(name: string): string {
  return toIdentifier(name).toLowerCase();
}
