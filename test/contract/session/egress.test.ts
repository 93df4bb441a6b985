/** Egress on local Python; `test/integration` runs the same on every engine. */
import { expect, it } from 'vitest';
import { createLocalPythonEngine, hasLocalPython } from '../../support/local-python.ts';
import { createHarness } from '../../support/session-harness.ts';
import { describeEgress } from './egress.ts';

if (hasLocalPython()) {
  describeEgress('local Python', createLocalPythonEngine);
} else {
  it.skip('not covered: needs python3', () => undefined);
}

it.runIf(hasLocalPython())('a session without egress has no proxy and no thread for it', async () => {
  const harness = await createHarness({ engine: createLocalPythonEngine(), onEgress: () => undefined });
  const code = `
import os, threading
"127.0.0.1" in os.environ.get("HTTP_PROXY", ""), [each.name for each in threading.enumerate() if "egress" in each.name]`;
  expect((await harness.run(code)).value).toBe('(False, [])');
  await harness.close();
});
