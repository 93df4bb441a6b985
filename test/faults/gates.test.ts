// Tags: anywhere
/** The gates themselves: a case that breaks one gate makes that gate fail, and no other. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { coverEngines } from '../support/covered-engines.ts';
import type { Answered } from '../support/faults/arena.ts';
import type { Attack, FaultCase } from '../support/faults/fault-case.ts';
import { GATE_IDS, type Gate } from '../support/faults/gates.ts';
import { openPlace, type Place } from '../support/faults/place.ts';
import { holdLoop } from '../support/faults/probe.ts';
import { runCase } from '../support/faults/run-case.ts';

/** Longer than the gate allows, also with patience. */
const HELD_MS = 2_000;

const BREAKS: Readonly<Record<Gate, Partial<FaultCase> & Pick<FaultCase, 'run'>>> = {
  G1: {
    async run({ arena }) {
      const twice = { id: 'twice', text: '{}' };
      (arena.answers as Answered[]).push(twice, twice);
    },
  },
  G2: {
    growth: { mib: -1_000, why: 'impossible, so the gate must fail' },
    run: () => Promise.resolve(),
  },
  G3: {
    // No message of a client holds the loop for so long.
    async run({ arena }) {
      await holdLoop(arena.probeFolder, HELD_MS);
    },
  },
  G4: {
    run: async ({ run }) => void (await run('runtime.reset()')),
  },
  G5: {
    run: async ({ arena }) => void (await arena.bridge.runPython('rounds += 1', { session: 'neighbour' })),
  },
  G6: {
    run: async ({ arena }) => writeFileSync(join(arena.callersFolder, 'oom'), ''),
  },
  G7: {
    run: async ({ run }) => void (await run('await mcp_ledger.record()')),
  },
  G8: {
    run: async ({ arena, run }: Attack) => void (await run(`print("${arena.canaries.environment}")`)),
  },
};

const [engine] = await coverEngines();

describe.skipIf(engine === undefined)('gates', () => {
  let place: Place;
  beforeAll(async () => {
    if (engine !== undefined) {
      place = await openPlace({ engine });
    }
  });
  afterAll(() => place.arena.close());

  // The last ones leave something broken, so they run after the others.
  it.each([...GATE_IDS].toSorted((a, b) => lasting(a) - lasting(b)))(
    '%s fails for a case that breaks it',
    async (gate) => {
      const fault = { id: gate, title: 'breaks it', expected: 'a failure', ...BREAKS[gate] };
      const { report, ended } = await runCase(fault, place);
      await ended;
      const failed = GATE_IDS.filter((id) => report.gates[id].state === 'failed');
      expect(failed.filter((id) => lasting(id) === 0 || id === gate)).toEqual([gate]);
    },
  );
});

function lasting(gate: Gate): number {
  return gate === 'G6' ? 1 : gate === 'G5' ? 2 : gate === 'G8' ? 3 : 0;
}
