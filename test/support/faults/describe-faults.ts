/** Turns cases into tests: all of them on the first engine, the quick ones on the others. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { coverEngines } from '../covered-engines.ts';
import type { TestEngine } from '../engines.ts';
import { isAlive } from '../processes.ts';
import type { ArenaOptions } from './arena.ts';
import type { FaultCase, FaultReport } from './fault-case.ts';
import { GATE_IDS } from './gates.ts';
import { openPlace, type Place } from './place.ts';
import { runCase } from './run-case.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Passed to the table that the reporter prints. */
    fault?: FaultReport;
  }
}

export interface FaultGroup {
  readonly name: string;
  readonly cases: readonly FaultCase[];
  /** Servers and settings of the bridge for each engine. */
  readonly arena?: (engine: TestEngine) => Omit<ArenaOptions, 'engine'>;
}

/** `all` runs every case on every engine; `quick` runs only the quick ones, even on the first engine. */
const wanted = process.env['MCP_BRIDGE_TEST_FAULTS'];

/** One `describe` per engine, with one test per case and one that checks what is left in the end. */
export async function describeFaults({ name, cases, arena }: FaultGroup): Promise<void> {
  const engines = await coverEngines();
  let described = 0;
  for (const engine of engines) {
    const chosen = cases.filter((fault) => isChosen(fault, engine, engine === engines[0]));
    if (chosen.length > 0) {
      describeOn(engine, name, chosen, () => ({ engine, ...arena?.(engine) }));
    }
    described += chosen.length;
  }
  if (described === 0) {
    // vitest fails a file without tests.
    it.skip(`${name}: none of these faults is quick`, () => undefined);
  }
}

function isChosen({ quick, needs, containers }: FaultCase, engine: TestEngine, isMain: boolean): boolean {
  if (containers === true && !engine.isContainer) {
    return false;
  }
  const wantsAll = wanted === 'all' || (isMain && wanted !== 'quick');
  return (wantsAll || quick === true) && !needs?.some((capability) => engine.lacks.includes(capability));
}

function describeOn(engine: TestEngine, name: string, cases: readonly FaultCase[], options: () => ArenaOptions): void {
  describe(`${name} on ${engine.label}`, () => {
    const shared = cases.some(({ bridge }) => bridge !== 'own');
    let place: Place | undefined;
    beforeAll(async () => {
      place = shared ? await openPlace(options()) : undefined;
    });
    const named = cases.map((fault) => [`${fault.id} ${fault.title}`, fault] as const);
    // For a run that is interrupted; otherwise the last test closes it.
    afterAll(async () => {
      await place?.arena.close();
    });

    it.for(named)('%s', { retry: 1 }, async ([, fault], { task }) => {
      // If an earlier case brought the bridge down, that is a failure of that case, not of this one.
      if (place !== undefined && !isAlive(place.arena.bridge.pid)) {
        await place.arena.close();
        place = await openPlace(options());
      }
      const own = fault.bridge === 'own' || place === undefined ? await openPlace(options()) : undefined;
      const { report, ended } = await runCase(fault, own ?? (place as Place));
      const left = (await own?.arena.close()) ?? [];
      const complete = left.length === 0 ? report : withLeftovers(report, left);
      task.meta.fault = complete;
      await expectGates(complete, ended);
    });

    it.runIf(shared)('G6: nothing is left after all of them', async () => {
      const left = await place?.arena.close();
      place = undefined;
      expect(left).toEqual([]);
    });
  });
}

/**
 * The error of the case itself comes first, because a case that stops early fails gates for that reason alone.
 */
async function expectGates(report: FaultReport, ended: Promise<unknown>): Promise<void> {
  const failures = failuresOf(report).join('\n');
  await ended.catch((error: unknown) => {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${failures}`, { cause: error });
  });
  if (failures !== '') {
    throw new Error(failures);
  }
}

function withLeftovers(report: FaultReport, left: readonly string[]): FaultReport {
  const before = report.gates.G6.state === 'failed' ? `${report.gates.G6.why}; ` : '';
  return { ...report, gates: { ...report.gates, G6: { state: 'failed', why: before + left.join(', ') } } };
}

function failuresOf({ gates }: FaultReport): string[] {
  return GATE_IDS.flatMap((gate) => {
    const result = gates[gate];
    return result.state === 'failed' ? [`${gate}: ${result.why}`] : [];
  });
}
