// Tags: bubblewrap, docker, user
/** The engine suite on every engine of this machine. */
import { coverEngines } from '../../support/covered-engines.ts';
import { describeEngine } from './engine-suite.ts';

// The embedded engine runs only its own program; see embedded.test.ts.
for (const engine of (await coverEngines()).filter(({ runsCommands }) => runsCommands)) {
  describeEngine(engine);
}
