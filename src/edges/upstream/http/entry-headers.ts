/** Headers of an entry win over those that code sets, in whatever spelling. Pure. */

/** The name as a server may read it: CGI, WSGI and others write `-` and `_` alike, and some every other character, too. */
export function plainName(header: string): string {
  return header.toLowerCase().replace(/[^a-z\d]/g, '-');
}

/** `headers` without those that a server could take for one of the entry. */
export function withoutTwins<T>(
  headers: readonly (readonly [name: string, value: T])[],
  entry: Readonly<Record<string, string>>,
): (readonly [name: string, value: T])[] {
  const taken = new Set(Object.keys(entry).map(plainName));
  return headers.filter(([name]) => !taken.has(plainName(name)));
}
