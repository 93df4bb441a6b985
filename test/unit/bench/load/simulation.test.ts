/** The simulation of sessions: when they live, wait, are restored and refused; and how the plan reads what was measured. */
import { describe, expect, it } from 'vitest';
import { planFor, workOf } from '../../../../bench/load/plan.ts';
import type { Costs } from '../../../../bench/load/results.ts';
import { type Scenario, simulate } from '../../../../bench/load/simulation.ts';
import { median, percentile } from '../../../../bench/support/statistics.ts';

const NOTHING = { bridgeMs: 0, belowMs: 0, clientMs: 0, wallMs: 0 };
const SCENARIO: Scenario = {
  clients: 10,
  behaviour: { thinkMs: 1_000, cellsPerTask: Infinity, pauseMs: 0, isOpen: true },
  kinds: [{ share: 1, bridgeMs: 1, belowMs: 2, clientMs: 0, wallMs: 3 }],
  restore: { ...NOTHING, belowMs: 100, wallMs: 100 },
  checkpoint: NOTHING,
  cores: 4,
  bridges: 1,
  hasClientsOnCores: false,
  maxLive: 10,
  idleMs: Infinity,
  isWarm: true,
  warmUpS: 10,
  seconds: 400,
  seed: 1,
};

describe('a simulated group of clients', () => {
  it('sends as many cells as it was told, and uses the cores that they need', () => {
    const { cellsPerS, coresUsed, live, refused, restoredMs } = simulate(SCENARIO);
    expect(cellsPerS).toBeCloseTo(10, 0);
    expect(coresUsed).toBeCloseTo(10 * 0.003, 2);
    expect([new Set(live), restoredMs.length, refused]).toEqual([new Set([10]), 0, 0]);
  });

  it('waits only for its own cells if there are many cores', () => {
    const { warmMs } = simulate({ ...SCENARIO, clients: 1, cores: 64 });
    expect(median(warmMs)).toBeCloseTo(3);
  });

  it('waits what one event loop makes everyone wait: M/D/1', () => {
    const kinds = [{ share: 1, bridgeMs: 2, belowMs: 0, clientMs: 0, wallMs: 2 }];
    const behaviour = { ...SCENARIO.behaviour, thinkMs: 1_000 };
    // 300 cells per second of 2 ms each: load 0.6. Pollaczek and Khinchine: 2 + 0.6 × 2 / (2 × (1 - 0.6)).
    const { warmMs } = simulate({ ...SCENARIO, clients: 300, maxLive: 300, kinds, behaviour, seconds: 60 });
    expect(warmMs.reduce((sum, ms) => sum + ms, 0) / warmMs.length).toBeCloseTo(3.5, 0);
  });

  it('loses sandboxes that are idle, and waits for them again', () => {
    const behaviour = { thinkMs: 1_000, cellsPerTask: 10, pauseMs: 60_000, isOpen: false };
    const scenario = { ...SCENARIO, clients: 100, maxLive: 100, behaviour, idleMs: 5_000, isWarm: false, warmUpS: 200 };
    const { live, restoredMs, warmMs } = simulate(scenario);
    // A cycle is 10 cells in about 9 s, 1 + 60 s of pause and the 5 s in which the sandbox still lives.
    expect(live.reduce((sum, count) => sum + count, 0) / live.length).toBeCloseTo((100 * (9 + 5)) / 70, -1);
    expect(restoredMs.length / warmMs.length).toBeCloseTo(1 / 9, 1);
    expect(percentile(restoredMs, 0.5)).toBeGreaterThanOrEqual(103);
  });

  it('takes the sandbox of the idlest one if there is no room, and is refused if none is idle', () => {
    const { live, refused, restoredMs } = simulate({ ...SCENARIO, clients: 20, maxLive: 5 });
    expect(Math.max(...live)).toBe(5);
    expect(restoredMs.length).toBeGreaterThan(0);
    const long = [{ share: 1, ...NOTHING, wallMs: 10_000 }];
    expect(refused).toBeLessThan(simulate({ ...SCENARIO, clients: 20, maxLive: 5, kinds: long }).refused);
  });

  it('is the same for the same seed', () => {
    const { warmMs } = simulate({ ...SCENARIO, seconds: 10 });
    expect(simulate({ ...SCENARIO, seconds: 10 }).warmMs).toEqual(warmMs);
    expect(simulate({ ...SCENARIO, seconds: 10, seed: 2 }).warmMs).not.toEqual(warmMs);
  });
});

const COSTS: Costs = {
  small: { wallMs: 2, bridgeMs: 1, belowMs: 0.5, clientMs: 1 },
  calls: { wallMs: 5, bridgeMs: 3, belowMs: 2, clientMs: 1 },
  output: { wallMs: 15, bridgeMs: 8, belowMs: 4, clientMs: 1 },
  plot: { wallMs: 8, bridgeMs: 1, belowMs: 6, clientMs: 1 },
  checkpoint: { wallMs: 2, bridgeMs: 4, belowMs: 20.5, clientMs: 1 },
  restore: { wallMs: 202, bridgeMs: 31, belowMs: 150.5, clientMs: 2 },
  hibernate: { wallMs: 800, bridgeMs: 4, belowMs: 30, clientMs: 1 },
};

describe('a plan', () => {
  it('takes out what was measured with something else', () => {
    const { checkpoint, restore } = workOf(COSTS);
    expect(restore).toEqual({ wallMs: 200, bridgeMs: 30, belowMs: 150, clientMs: 1 });
    expect(checkpoint).toEqual({ wallMs: 0, bridgeMs: 3, belowMs: 20, clientMs: 0 });
  });

  it('has the fewest cores with which warm cells are quick', () => {
    const behaviour = { thinkMs: 900, cellsPerTask: Infinity, pauseMs: 0, isOpen: false };
    const options = { clients: 100, idleMs: 300_000, maxLive: Infinity, leastSeconds: 15, seed: 1 };
    const { bridges, cores, simulated } = planFor('test', behaviour, workOf(COSTS), options);
    // About 110 cells per second need 3 cores for themselves and their checkpoints, and more than half of what a bridge has.
    expect(cores).toBe(4);
    expect(bridges).toBe(2);
    expect(percentile(simulated.warmMs, 0.95)).toBeLessThanOrEqual(50);
  });
});
