/** Runs what it is given, at most `places` at a time, in the order it was given. */
export function createPlaces(places: number): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let free = places;
  const queue: (() => void)[] = [];
  return async (work) => {
    if (free === 0) {
      await new Promise<void>((resolve) => queue.push(resolve));
    } else {
      free -= 1;
    }
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) {
        free += 1;
      } else {
        next();
      }
    }
  };
}
