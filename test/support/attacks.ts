/** What the attacks in `test/attacks` share. */
import { coverEngines } from './covered-engines.ts';
import type { TestEngine } from './engines.ts';

/** `npm run attacks` runs every attack in full. `npm test` runs a short form: the same attacks, smaller or fewer times. */
export const isLongRun = process.env['MCP_BRIDGE_TEST_ATTACKS'] === 'long';

/** The number for this run: of a short one, or of a long one. */
export function amount(short: number, long: number): number {
  return isLongRun ? long : short;
}

/** The engines for attacks on the bridge itself, which is the same on each: in a short run, the first one is enough. */
export async function enginesForBridge(): Promise<TestEngine[]> {
  return (await coverEngines()).slice(0, amount(1, Number.POSITIVE_INFINITY));
}
