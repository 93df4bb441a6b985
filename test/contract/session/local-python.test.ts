// Tags: full, only-check
/** The session suite on the local Python, with the kernel outside any container. */
import { it } from 'vitest';
import { createLocalPythonEngine, hasLocalPython } from '../../support/local-python.ts';
import { describeSession } from './suite.ts';

if (hasLocalPython()) {
  describeSession({ name: 'local python3', createEngine: () => createLocalPythonEngine(), isSupervised: false });
  describeSession({
    name: 'local python3 without threads',
    createEngine: () => createLocalPythonEngine({ hasThreads: false }),
    isSupervised: false,
    lacks: ['threads', 'child processes', 'shared memory'],
  });
} else {
  // Counts as skipped, by name, not as passed.
  it.skip('not covered: the kernel in local Python: needs python3 3.10 or newer on PATH');
}
