/** The results of the probes from the last `npm run lab -- probes`. */
import type { ProbeResult } from './run.ts';

/** By label of the engine, then by `GROUP: NAME` of the probe, in the order in which they ran. */
export type ProbeRecord = Record<string, Readonly<Record<string, ProbeResult['got']>>>;

export const RECORD_FILE = new URL('../../fixtures/security/record.json', import.meta.url);

/** The record of one engine. */
export function toRecord(results: readonly ProbeResult[]): ProbeRecord[string] {
  return Object.fromEntries(results.map(({ got, group, name }) => [`${group}: ${name}`, got]));
}

/** The group of a recorded probe. */
export function groupOf(probe: string): string {
  return probe.slice(0, probe.indexOf(': '));
}

/** Whether a recorded probe has the expected result: only what ordinary code needs is possible. */
export function isHeld([probe, got]: readonly [string, ProbeResult['got']]): boolean {
  return got === (groupOf(probe) === 'use' ? 'possible' : 'refused');
}
