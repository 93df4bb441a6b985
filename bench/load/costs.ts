/**
 * What single things cost, one after the other: processor time and wait of each kind of cell, of restoring a session, and of saving
 * and ending one. The plan for many sessions starts from these.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestEngine } from '../../test/support/engines.ts';
import { median } from '../support/statistics.ts';
import { KIND_NAMES } from './cells.ts';
import { begin, type LoadBridge, withLoadBridge } from './load-bridge.ts';
import { emptyTally, type LoadClient } from './load-client.ts';
import { TreeClock } from './process-tree.ts';
import type { Cost, Costs } from './results.ts';

const CELLS = 200;
const RESTORES = 20;
const QUICK_PART = 10;
const IDLE_MS = 500;
/** Longer than a session is quiet before it is saved, and than that takes. */
const QUIET_MS = 1_500;
const POLL_MS = 100;
const CLOCK_MS = 20;
const HIBERNATED_LIMIT_MS = 30_000;

export function measureCosts(engine: TestEngine, isQuick: boolean): Promise<Costs> {
  const part = isQuick ? QUICK_PART : 1;
  const given = { engine, clients: 1, maxSessions: 4, seed: 0 };
  return withLoadBridge(given, async (bridge) => {
    const [client] = await bridge.connect(1);
    await begin([client as LoadClient]);
    const costs: Partial<Record<keyof Costs, Cost>> = {};
    const clock = new TreeClock(bridge.pid, CLOCK_MS);
    for (const kind of KIND_NAMES) {
      costs[kind] = await costOf(clock, CELLS / part, (tally) => (client as LoadClient).send(kind, tally));
    }
    costs.checkpoint = await costOf(clock, RESTORES / part, async (tally) => {
      await (client as LoadClient).send('small', tally);
      await sleep(QUIET_MS);
    });
    clock.stop();
    const idle = { ...given, env: { MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: `${IDLE_MS}ms` } };
    const { restore, hibernate } = await withLoadBridge(idle, (other) => measureRestores(other, RESTORES / part));
    return { ...costs, restore, hibernate } as Costs;
  });
}

/** The mean of each processor time, and the median of the time from sending to answer. */
async function costOf(
  clock: TreeClock,
  count: number,
  send: (tally: ReturnType<typeof emptyTally>) => Promise<void>,
): Promise<Cost> {
  const tally = emptyTally();
  const [before, own] = [await clock.read(), process.cpuUsage()];
  for (let sent = 0; sent < count; sent += 1) {
    await send(tally);
  }
  const { user, system } = process.cpuUsage(own);
  const after = await clock.read();
  if (tally.faults[0] !== undefined) {
    throw new Error(tally.faults[0]);
  }
  return {
    wallMs: median(tally.times.map(({ ms }) => ms)),
    bridgeMs: (after.bridgeMs - before.bridgeMs) / count,
    belowMs: (after.belowMs - before.belowMs) / count,
    clientMs: (user + system) / 1_000 / count,
  };
}

/** Of a session with a small state that is restored for a small cell, again and again. */
async function measureRestores(bridge: LoadBridge, count: number): Promise<Pick<Costs, 'restore' | 'hibernate'>> {
  const [client] = await bridge.connect(1);
  await begin([client as LoadClient]);
  const restores: Cost[] = [];
  const hibernations: Cost[] = [];
  const clock = new TreeClock(bridge.pid, CLOCK_MS);
  await untilHibernated(bridge);
  for (let done = 0; done < count; done += 1) {
    restores.push(await costOf(clock, 1, (tally) => (client as LoadClient).send('small', tally)));
    hibernations.push(
      await costOf(clock, 1, async (tally) => {
        const startMs = performance.now();
        await untilHibernated(bridge);
        tally.times.push({ kind: 'small', ms: performance.now() - startMs, isRestored: false });
      }),
    );
  }
  clock.stop();
  return { restore: meanOf(restores), hibernate: meanOf(hibernations) };
}

async function untilHibernated(bridge: LoadBridge): Promise<void> {
  const endMs = performance.now() + HIBERNATED_LIMIT_MS;
  while ((await bridge.liveSandboxes()) !== 0) {
    if (performance.now() > endMs) {
      throw new Error('the idle session did not end');
    }
    await sleep(POLL_MS);
  }
}

function meanOf(costs: readonly Cost[]): Cost {
  const mean = (part: (cost: Cost) => number): number =>
    costs.reduce((sum, cost) => sum + part(cost), 0) / costs.length;
  return {
    wallMs: median(costs.map(({ wallMs }) => wallMs)),
    bridgeMs: mean(({ bridgeMs }) => bridgeMs),
    belowMs: mean(({ belowMs }) => belowMs),
    clientMs: mean(({ clientMs }) => clientMs),
  };
}
