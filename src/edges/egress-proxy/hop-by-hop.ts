/** Headers that are between a client and its proxy, and go no further, in either direction (RFC 9110, section 7.6.1). */

type Header = readonly [name: string, value: string];

const OF_ONE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Node's flat list of names and values in turn, as pairs. */
export function inPairs(rawHeaders: readonly string[]): Header[] {
  return rawHeaders.flatMap((name, index): Header[] => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : []));
}

/** Without those of the connection, those that `Connection` names, and `proxy-*`. */
export function endToEnd(headers: readonly Header[]): Header[] {
  const named = headers
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map((option) => option.trim().toLowerCase()));
  const dropped = new Set([...OF_ONE_CONNECTION, ...named]);
  return headers.filter(([name]) => !dropped.has(name.toLowerCase()) && !name.toLowerCase().startsWith('proxy-'));
}
