/** The highest number of clients, each with a live sandbox, that still see the goal; and what clients and sessions cost in memory. */
import type { TestEngine } from '../../test/support/engines.ts';
import { begin, isServer, type LoadBridge, runStep, withLoadBridge } from './load-bridge.ts';
import type { LoadClient } from './load-client.ts';
import type { LoadOptions } from './options.ts';
import { treeMemory } from './process-tree.ts';
import type { LoadResults, Step } from './results.ts';

export const GOAL_P95_MS = 50;
const FIRST_CLIENTS = 5;
/** Steps between the last number that was good and the first that was not. */
const HALVINGS = 3;
/** Cells of a step: with fewer, its p95 is that of one or two of them. */
const LEAST_CELLS = 200;

type Found = Pick<LoadResults, 'search' | 'memory'>;

export function searchHighest(
  engine: TestEngine,
  { isQuick, maxClients, rate, seconds, seed }: LoadOptions,
  tell: (text: string) => void,
): Promise<Found> {
  const given = { engine, clients: maxClients, maxSessions: maxClients + 8, seed };
  return withLoadBridge(given, async (load) => {
    const memory = await measureMemory(load, Math.min(maxClients, FIRST_CLIENTS));
    const steps: Step[] = [];
    let begun = Math.min(maxClients, FIRST_CLIENTS);
    const isGood = async (clients: number): Promise<boolean> => {
      const all = await load.connect(Math.max(clients, begun));
      await begin(all.slice(begun));
      begun = all.length;
      const leastSeconds = isQuick ? 0 : Math.ceil(LEAST_CELLS / (clients * rate));
      const plan = { title: `${clients} clients`, clients, rate, seconds: Math.max(seconds, leastSeconds) };
      const { step } = await runStep(load, plan, (endMs, tally) =>
        Promise.all(all.slice(0, clients).map((client) => client.sendUntil(endMs, rate, tally))),
      );
      steps.push(step);
      tell(`${step.title}: p95 ${step.times.warm?.p95Ms.toFixed(1)} ms`);
      return isWithinGoal(step);
    };
    const highest = await highestGood(isGood, { first: begun, most: maxClients, halvings: isQuick ? 0 : HALVINGS });
    const missing = await finish(await load.connect(begun));
    steps.at(-1)?.faults.push(...missing);
    return { search: { steps, highest }, memory };
  });
}

export function isWithinGoal({ faults, times }: Step): boolean {
  return faults.length === 0 && times.warm !== undefined && times.warm.p95Ms <= GOAL_P95_MS;
}

/** Doubles while it is good, then halves the gap. Resolves with the highest number that was found good, 0 for none. */
export async function highestGood(
  isGood: (clients: number) => Promise<boolean>,
  { first, most, halvings }: { readonly first: number; readonly most: number; readonly halvings: number },
): Promise<number> {
  let [good, next] = [0, first];
  let bad: number | undefined;
  while (bad === undefined && good < most) {
    if (await isGood(next)) {
      good = next;
      next = Math.min(most, next * 2);
    } else {
      bad = next;
    }
  }
  for (let halving = 0; bad !== undefined && halving < halvings && bad - good > 1; halving += 1) {
    const middle = Math.round((good + bad) / 2);
    if (await isGood(middle)) {
      good = middle;
    } else {
      bad = middle;
    }
  }
  return good;
}

/** Runs a last cell in each session; resolves with what is missing. */
export async function finish(clients: readonly LoadClient[]): Promise<string[]> {
  const missing: string[] = [];
  for (const client of clients) {
    missing.push(...(await client.finish()));
  }
  return missing;
}

/** The bridge without clients, then with clients that have only connected, then with their sessions. */
async function measureMemory(load: LoadBridge, count: number): Promise<Found['memory']> {
  const bare = await treeMemory(load.pid, isServer);
  const clients = await load.connect(count);
  const connected = await treeMemory(load.pid, isServer);
  await begin(clients);
  const begun = await treeMemory(load.pid, isServer);
  return {
    bridgeMb: bare.bridgeMb,
    perClientMb: (connected.bridgeMb - bare.bridgeMb) / count,
    perSessionMb: (begun.bridgeMb - connected.bridgeMb) / count,
    perSandboxMb: begun.sandboxesMb / count,
    perServerMb: begun.servers === 0 ? 0 : begun.serversMb / begun.servers,
  };
}
