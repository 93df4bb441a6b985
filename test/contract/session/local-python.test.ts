/** The session suite on the local Python: the kernel without a container. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { MAX_SESSIONS } from '../../../src/base/limits.ts';
import { createLocalPythonEngine, hasLocalPython } from '../../support/local-python.ts';
import { createHarness } from '../../support/session-harness.ts';
import { describeSession } from './suite.ts';

/** Each start takes a second beside other work, and there are seventeen. Bounds a hang. */
const MANY_STARTS_MS = 120_000;

if (hasLocalPython()) {
  describe('more sessions than may be', () => {
    // The oldest was ended while it counted as alive: a cell that came at that moment ran into its end.
    it(
      'make room for a new one, and a cell of the one that makes room runs all the same',
      async () => {
        const harness = await createHarness({ engine: createLocalPythonEngine() });
        onTestFinished(() => harness.close());
        for (let number = 0; number < MAX_SESSIONS; number += 1) {
          await harness.run('kept = 1', { session: `s${number}` });
        }
        const [, answer] = await Promise.all([
          harness.run('1', { session: 'one more' }),
          harness.run('2 + 2', { session: 's0' }),
        ]);
        expect(answer).toMatchObject({ status: 'success', value: '4' });
        expect(answer.notices.join()).toContain('16 sessions are the limit and it had been idle longest');
      },
      MANY_STARTS_MS,
    );
  });

  describeSession({ name: 'local python3', createEngine: () => createLocalPythonEngine(), isSupervised: false });
  describeSession({
    name: 'local python3 without threads',
    createEngine: () => createLocalPythonEngine({ hasThreads: false }),
    isSupervised: false,
    lacks: ['threads', 'child processes'],
  });
} else {
  // Not a pass: the runner counts it as skipped, by name.
  it.skip('not covered: the kernel in local Python: needs python3 3.10 or newer on PATH');
}
