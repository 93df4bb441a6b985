/** The session suite on the local Python, with the kernel outside any container. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { MAX_SESSIONS } from '../../../src/base/limits.ts';
import { createLocalPythonEngine, hasLocalPython } from '../../support/local-python.ts';
import { createHarness } from '../../support/session-harness.ts';
import { describeSession } from './suite.ts';

/** Limits hangs: on a busy machine each of the seventeen starts takes a second. */
const MANY_STARTS_MS = 120_000;

if (hasLocalPython()) {
  describe('more sessions than the limit', () => {
    // The oldest counted as alive while it was ending, so a cell that came at that moment failed.
    it(
      'make room for a new one, and a cell of the ended one still runs',
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
  // Counts as skipped, by name, not as passed.
  it.skip('not covered: the kernel in local Python: needs python3 3.10 or newer on PATH');
}
