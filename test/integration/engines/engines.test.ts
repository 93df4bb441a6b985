/** The engine suite on every engine of this machine. */
import { coverEngines } from '../../support/covered-engines.ts';
import { describeEngine } from './engine-suite.ts';

// The embedded engine runs no other program than its own; embedded.test.ts has what it has to hold.
for (const engine of (await coverEngines()).filter(({ runsCommands }) => runsCommands)) {
  describeEngine(engine);
}
