/** The engines that a test file covers; what is missing here is reported by the run, not passed over. */
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

/** The same, but only those that run containers from images. A file for which none is left still has a test: one that says so. */
export async function coverContainerEngines(): Promise<TestEngine[]> {
  const engines = (await coverEngines()).filter(({ isContainer }) => isContainer);
  if (engines.length === 0) {
    it.skip('not covered: needs an engine that runs containers', () => undefined);
  }
  return engines;
}
