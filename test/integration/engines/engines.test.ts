/** The engine suite on every engine of this machine. */
import { expect, it } from 'vitest';
import { findTestEngines } from '../../support/engines.ts';
import { describeEngine } from './engine-suite.ts';

const { engines, missing } = await findTestEngines();
for (const engine of engines) {
  describeEngine(engine);
}

it.skipIf(missing.length > 0)(`every engine can be tested ${missing.join('; ')}`, () => {
  expect(missing).toEqual([]);
});
