/** Percentiles, and measuring in an order that keeps figures comparable. */

/** The smallest sample that `fraction` (0 … 1) of all samples do not exceed. Throws if there are no samples. */
export function percentile(samples: readonly number[], fraction: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(fraction * sorted.length) - 1)];
  if (value === undefined) {
    throw new Error('nothing was measured');
  }
  return value;
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

/** Returns one or more samples. */
export type Sampler = () => Promise<number | readonly number[]>;

/**
 * Runs every sampler once per round, in turn, so that other load on the machine affects all of them alike.
 * Returns all samples by the sampler's name.
 */
export async function interleave<Name extends string>(
  rounds: number,
  samplers: Readonly<Record<Name, Sampler>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(samplers) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      samples[name].push(...[await samplers[name]()].flat());
    }
  }
  return samples;
}

/** Milliseconds that `action` takes. */
export async function timed(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

/** Milliseconds of each of `count` sequential runs of `action`. */
export async function timedEach(count: number, action: () => Promise<unknown>): Promise<number[]> {
  const samples: number[] = [];
  for (let index = 0; index < count; index += 1) {
    samples.push(await timed(action));
  }
  return samples;
}
