/** The engines that a test file covers; what is missing here is told by the run, not passed over. */
import { it } from 'vitest';
import { findTestEngines, type TestEngine } from './engines.ts';

/** The engines of this machine, maybe none. Each that is missing becomes a skipped test of the calling file, by name. */
export async function coverEngines(): Promise<TestEngine[]> {
  const { engines, missing } = await findTestEngines();
  for (const reason of missing) {
    it.skip(`not covered: ${reason}`, () => undefined);
  }
  return engines;
}
