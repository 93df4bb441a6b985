/** A plan for many sessions: the simulation with what `npm run lab -- load` has measured, and how well it agrees with a real run. */
import { cpus } from 'node:os';
import { percentile } from '../support/statistics.ts';
import { formatNumber } from '../table.ts';
import { KIND_NAMES, KINDS } from './cells.ts';
import { table } from './report.ts';
import type { Cost, Costs, LoadResults, Step } from './results.ts';
import { type Behaviour, type Scenario, type Simulated, simulate, type Work } from './simulation.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const GOAL_P95_MS = 50;
const CORES = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64];
/** A bridge uses one core at most. It is given half of that, so that its event loop answers at once. Chosen. */
const MAX_BRIDGE_LOAD = 0.5;

/** What a group of clients does. All assumed. */
export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  'quiet day': { cellsPerTask: 15, thinkMs: 8 * SECOND, pauseMs: 30 * MINUTE, isOpen: false },
  'busy hour': { cellsPerTask: 15, thinkMs: 8 * SECOND, pauseMs: 5 * MINUTE, isOpen: false },
  'all at once': { cellsPerTask: Infinity, thinkMs: 8 * SECOND, pauseMs: 0, isOpen: false },
};

export interface PlanOptions {
  readonly clients: number;
  /** `MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT`. */
  readonly idleMs: number;
  /** `MCP_BRIDGE_MAX_SESSIONS` of all bridges together. */
  readonly maxLive: number;
  /** How long is simulated at least. */
  readonly leastSeconds: number;
  readonly seed: number;
}

type Measured = Pick<Scenario, 'kinds' | 'restore' | 'checkpoint'>;

/** What single things cost, each without what was measured with it. */
export function workOf(costs: Costs): Measured {
  const kinds = KIND_NAMES.map((kind) => ({ ...costs[kind], share: KINDS[kind].share }));
  return {
    kinds,
    restore: less(costs.restore, costs.small),
    // No one waits for it.
    checkpoint: { ...less(costs.checkpoint, costs.small), clientMs: 0, wallMs: 0 },
  };
}

function less(whole: Cost, part: Cost): Work {
  const rest = (of: keyof Cost): number => Math.max(0, whole[of] - part[of]);
  return { bridgeMs: rest('bridgeMs'), belowMs: rest('belowMs'), clientMs: rest('clientMs'), wallMs: rest('wallMs') };
}

export interface Plan {
  readonly name: string;
  readonly cores: number | undefined;
  readonly bridges: number;
  readonly simulated: Simulated;
}

/** The fewest cores with which the warm p95 is within the goal; `cores` is undefined if not even the most are enough. */
export function planFor(name: string, behaviour: Behaviour, measured: Measured, options: PlanOptions): Plan {
  const seconds = Math.max(options.leastSeconds, cycleSeconds(behaviour));
  const base = {
    ...measured,
    behaviour,
    hasClientsOnCores: false,
    isWarm: false,
    ...options,
    warmUpS: seconds,
    seconds,
    bridges: options.clients,
  };
  // With cores and bridges for everyone, it shows what is needed at least.
  const { cellsPerS, coresUsed } = simulate({ ...base, cores: options.clients });
  const bridgeMs = measured.kinds.reduce(
    (sum, { bridgeMs: ms, share }) => sum + ms * share,
    measured.checkpoint.bridgeMs,
  );
  const bridges = Math.ceil((cellsPerS * bridgeMs) / SECOND / MAX_BRIDGE_LOAD);
  const choices = CORES.filter((count) => count > coresUsed);
  const most = choices.pop();
  if (most === undefined) {
    throw new Error(`${name} needs ${coresUsed.toFixed(0)} cores, which is more than this plan looks at`);
  }
  const planOn = (cores: number): Plan => ({ name, cores, bridges, simulated: simulate({ ...base, cores, bridges }) });
  const isGood = ({ simulated }: Plan): boolean => percentile(simulated.warmMs, 0.95) <= GOAL_P95_MS;
  let best = planOn(most);
  if (!isGood(best)) {
    return { ...best, cores: undefined };
  }
  // More cores are never worse, so half of the choices can be left out each time.
  while (choices.length > 0) {
    const middle = Math.floor(choices.length / 2);
    const plan = planOn(choices[middle] ?? most);
    if (isGood(plan)) {
      best = plan;
      choices.splice(middle);
    } else {
      choices.splice(0, middle + 1);
    }
  }
  return best;
}

/** Long enough for most clients to have paused and come back. */
function cycleSeconds({ cellsPerTask, pauseMs, thinkMs }: Behaviour): number {
  const cycleMs = pauseMs === 0 ? 0 : pauseMs + cellsPerTask * thinkMs;
  return Math.ceil((2 * cycleMs) / SECOND);
}

export function renderPlan(plans: readonly Plan[], memory: LoadResults['memory'], options: PlanOptions): string {
  const rows = plans.map(({ bridges, cores, name, simulated }) => {
    const live = percentile(simulated.live, 0.99);
    return [
      name,
      formatNumber(simulated.cellsPerS),
      // As when one cell alone takes longer than the goal.
      cores === undefined ? `**not with ${CORES.at(-1)}**` : String(cores),
      formatNumber(simulated.coresUsed),
      String(bridges),
      `${formatNumber(percentile(simulated.live, 0.5))}, ${formatNumber(live)}`,
      memory === undefined
        ? '–'
        : memoryGb(memory, { clients: options.clients, bridges, live }).map(formatNumber).join(', '),
      quantiles(simulated.warmMs),
      quantiles(simulated.restoredMs),
      formatNumber(simulated.restoredMs.length / (simulated.live.length / 60)),
      String(simulated.refused),
    ];
  });
  return table(
    [
      `${formatNumber(options.clients)} sessions`,
      'cells/s',
      'cores',
      '… used, mean',
      'bridges',
      'live sandboxes: p50, p99',
      'GB: sandboxes, servers, bridges',
      'warm: p50 / p95 / p99, ms',
      'restored: p50 / p95 / p99, ms',
      'restored each minute',
      'refused',
    ],
    rows,
  );
}

/** Of the sandboxes that are live, the servers of as many principals, and the bridges with all clients connected. */
function memoryGb(
  { bridgeMb, perClientMb, perSandboxMb, perServerMb, perSessionMb }: NonNullable<LoadResults['memory']>,
  { bridges, clients, live }: { readonly bridges: number; readonly clients: number; readonly live: number },
): number[] {
  const bridgesMb = bridgeMb * bridges + (perClientMb + perSessionMb) * clients;
  return [perSandboxMb * live, perServerMb * live, bridgesMb].map((mb) => mb / 1_000);
}

function quantiles(times: readonly number[]): string {
  return times.length === 0 ? '–' : [0.5, 0.95, 0.99].map((part) => formatNumber(percentile(times, part))).join(' / ');
}

/** A step of a real run, simulated: the same clients, rates, length and cores, with the clients on the same machine. */
export function simulateStep(step: Step, costs: Costs, seed: number): Simulated {
  return simulate({
    ...workOf(costs),
    clients: step.clients,
    behaviour: { thinkMs: SECOND / step.rate, cellsPerTask: Infinity, pauseMs: 0, isOpen: true },
    cores: cpus().length,
    bridges: 1,
    hasClientsOnCores: true,
    maxLive: step.clients,
    idleMs: Infinity,
    isWarm: true,
    warmUpS: 5,
    // Longer than the real one, so that chance is on one side only.
    seconds: Math.max(600, step.seconds),
    seed,
  });
}

/** Real steps beside their simulation. */
export function renderAgreement(steps: readonly Step[], costs: Costs, seed: number): string {
  const rows = steps.flatMap((step) => {
    const { warm } = step.times;
    if (warm === undefined) {
      return [];
    }
    const simulated = simulateStep(step, costs, seed);
    const usedMs = step.cores.bridge + step.cores.below + step.cores.clients;
    const pairs = [
      [warm.p50Ms, percentile(simulated.warmMs, 0.5)],
      [warm.p95Ms, percentile(simulated.warmMs, 0.95)],
      [usedMs, simulated.coresUsed],
    ] as const;
    return [
      [
        step.title,
        ...pairs.map(([real, of]) => `${formatNumber(real)}, ${formatNumber(of)} (${formatNumber(of / real)} ×)`),
      ],
    ];
  });
  return table(['real, simulated', 'p50, ms', 'p95, ms', 'cores used'], rows);
}
