/** The engine suite on every engine of this machine. */
import { coverEngines } from '../../support/covered-engines.ts';
import { describeEngine } from './engine-suite.ts';

for (const engine of await coverEngines()) {
  describeEngine(engine);
}
