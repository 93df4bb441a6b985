/** How the probes came out when `npm run probes` was last run. */
import type { ProbeResult } from './run.ts';

/** By label of the engine, and by `GROUP: NAME` of the probe, in the order in which they were tried. */
export type ProbeRecord = Record<string, Readonly<Record<string, ProbeResult['got']>>>;

export const RECORD_FILE = new URL('../../fixtures/security/record.json', import.meta.url);

/** What is recorded of one engine. */
export function toRecord(results: readonly ProbeResult[]): ProbeRecord[string] {
  return Object.fromEntries(results.map(({ got, group, name }) => [`${group}: ${name}`, got]));
}

/** Group of a recorded probe. */
export function groupOf(probe: string): string {
  return probe.slice(0, probe.indexOf(': '));
}

/** Whether a recorded probe came out as wanted: what ordinary code needs is possible, and nothing else. */
export function isHeld([probe, got]: readonly [string, ProbeResult['got']]): boolean {
  return got === (groupOf(probe) === 'use' ? 'possible' : 'refused');
}
