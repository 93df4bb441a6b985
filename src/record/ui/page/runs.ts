/** Puts neighbours together that are of one kind, such as the calls of a loop. Pure. */

/** `keyOf` is undefined for an item that stays alone. */
export function neighboursOf<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string | undefined,
): readonly (readonly [Item, ...Item[]])[] {
  const runs: [Item, ...Item[]][] = [];
  let last: string | undefined;
  for (const item of items) {
    const key = keyOf(item);
    if (key !== undefined && key === last) {
      runs.at(-1)?.push(item);
    } else {
      runs.push([item]);
    }
    last = key;
  }
  return runs;
}

interface TimedItem {
  readonly at: string;
  readonly status: string;
  readonly duration_ms: number;
}

/** From the start of the first to the end of the last, in milliseconds since 1970. */
export function spanOfRun(run: readonly TimedItem[]): { readonly startedAt: number; readonly endedAt: number } {
  let [startedAt, endedAt] = [Infinity, 0];
  for (const { at, duration_ms: durationMs } of run) {
    startedAt = Math.min(startedAt, Date.parse(at));
    endedAt = Math.max(endedAt, Date.parse(at) + durationMs);
  }
  return { startedAt, endedAt };
}

/** How many have each status, such as `ok` 45 and `error` 1. */
export function statusesOf(run: readonly TimedItem[]): readonly (readonly [status: string, count: number])[] {
  const counts = new Map<string, number>();
  run.forEach(({ status }) => counts.set(status, (counts.get(status) ?? 0) + 1));
  return [...counts];
}
