/** The engine suite on every engine of this machine. */
import { it } from 'vitest';
import { findTestEngines } from '../../support/engines.ts';
import { describeEngine } from './engine-suite.ts';

const { engines, missing } = await findTestEngines();
for (const engine of engines) {
  describeEngine(engine);
}
for (const reason of missing) {
  it(`is missing: ${reason}`, (context) => context.skip());
}
