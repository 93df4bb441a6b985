/** A function that runs work in the order in which it gets it, with at most `limit` pieces of work at a time. */
export function limitConcurrency(limit: number): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let free = limit;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free === 0) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    } else {
      free -= 1;
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) {
        free += 1;
      } else {
        next();
      }
    }
  };
}
