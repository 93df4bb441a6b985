/** The engines that a test file covers. Missing ones are reported as skipped tests. */
import { it } from 'vitest';
import { findTestEngines, type TestEngine } from './engines.ts';
import { whyNoIndex } from './package-index.ts';

/** The engines of this machine, possibly none. Each missing one becomes a named, skipped test of the calling file. */
export async function coverEngines(): Promise<TestEngine[]> {
  const { engines, missing } = await findTestEngines();
  for (const reason of missing) {
    it.skip(`not covered: ${reason}`, () => undefined);
  }
  return engines;
}

/** Same, but only engines that run containers from images. If there are none, the file gets one skipped test that says so. */
export async function coverContainerEngines(): Promise<TestEngine[]> {
  const engines = (await coverEngines()).filter(({ isContainer }) => isContainer);
  if (engines.length === 0) {
    it.skip('not covered: needs an engine that runs containers', () => undefined);
  }
  return engines;
}

/** Those that install packages. None, and a named, skipped test, if no index can be started here. */
export async function coverPackageEngines(covered: readonly TestEngine[]): Promise<TestEngine[]> {
  const engines = covered.filter(({ name }) => name !== 'embedded');
  const reason = engines.length === 0 ? undefined : await whyNoIndex();
  if (reason !== undefined) {
    it.skip(`not covered: ${reason}`, () => undefined);
  }
  return reason === undefined ? engines : [];
}
