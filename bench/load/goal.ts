/**
 * The goal case: more clients than live sandboxes. As many as there are sandboxes work; the others come back from time to time, which
 * saves someone else's session and restores theirs. Then the same beside a stranger who floods the port, in turn, so that the
 * machine is the same for both.
 */
import type { TestEngine } from '../../test/support/engines.ts';
import { begin, runStep, type StepPlan, withLoadBridge } from './load-bridge.ts';
import type { Tally } from './load-client.ts';
import type { LoadOptions } from './options.ts';
import { type LoadResults, type Step, timesOf } from './results.ts';
import { finish } from './search.ts';
import { besideStranger, type StrangerCounts } from './stranger.ts';

type Goal = NonNullable<LoadResults['goal']>;

interface Round {
  readonly step: Step;
  readonly tally: Tally;
  readonly counts?: StrangerCounts;
}

export function measureGoal(
  engine: TestEngine,
  { clients: count, rate, rounds, sandboxes, seconds, seed, stranger, visit }: LoadOptions,
  tell: (text: string) => void,
): Promise<Goal> {
  return withLoadBridge({ engine, clients: count, maxSessions: sandboxes, seed }, async (load) => {
    const clients = await load.connect(count);
    // Those that work come last, so the sandboxes are theirs.
    await begin(clients.toReversed(), sandboxes);
    const measure = async (title: string): Promise<Round> => {
      const plan: StepPlan = { title, clients: count, rate, seconds };
      return runStep(load, plan, (endMs, tally) =>
        Promise.all(
          clients.map((client, index) => client.sendUntil(endMs, index < sandboxes ? rate : 1 / visit, tally)),
        ),
      );
    };
    // Until each of those that work has its sandbox again.
    await measure('warm-up');
    const [without, beside]: [Round[], Round[]] = [[], []];
    for (let round = 1; round <= rounds; round += 1) {
      tell(`round ${round} of ${rounds}`);
      without.push(await measure('alone'));
      if (stranger > 0) {
        const given = { url: load.bridge.url, perSecond: stranger };
        const { result, counts } = await besideStranger(given, () => measure('beside the stranger'));
        beside.push({ ...result, counts });
      }
    }
    const liveSandboxes = await load.liveSandboxes();
    return {
      sandboxes,
      liveSandboxes,
      without: together(without),
      ...(beside.length > 0 && { beside: together(beside) }),
      missing: await finish(clients),
    };
  });
}

/** All rounds as one step: percentiles of all their cells, means of everything else. */
function together(rounds: readonly Round[]): Step {
  const [first] = rounds;
  if (first === undefined) {
    throw new Error('nothing was measured');
  }
  const mean = (part: (round: Round) => number): number =>
    rounds.reduce((sum, round) => sum + part(round), 0) / rounds.length;
  const statuses = new Set(rounds.flatMap(({ counts }) => Object.keys(counts?.answeredPerS ?? {})));
  return {
    ...first.step,
    cellsPerS: mean(({ step }) => step.cellsPerS),
    times: timesOf({ times: rounds.flatMap(({ tally }) => tally.times) }),
    refused: rounds.reduce((sum, { step }) => sum + step.refused, 0),
    faults: rounds.flatMap(({ step }) => step.faults),
    lateMs: Math.max(...rounds.map(({ step }) => step.lateMs)),
    cores: {
      bridge: mean(({ step }) => step.cores.bridge),
      below: mean(({ step }) => step.cores.below),
      clients: mean(({ step }) => step.cores.clients),
    },
    ...(first.counts !== undefined && {
      stranger: {
        sentPerS: mean(({ counts }) => counts?.sentPerS ?? 0),
        answeredPerS: Object.fromEntries(
          [...statuses].map((status) => [status, mean(({ counts }) => counts?.answeredPerS[status] ?? 0)]),
        ),
      },
    }),
  };
}
