// @ts-check
/** Finds the Python of this machine, for the tests of the kernel that need no container. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The kernel runs on Python 3.10 and later. */
const IS_SUITABLE = 'import sys; sys.exit(sys.version_info < (3, 10))';

/** Warnings are errors, as in the TypeScript tests. */
export const UNITTEST_ARGUMENTS = ['-W', 'error', '-m', 'unittest', 'discover', '-s', 'test/python'];
/** The kernel is imported from its sources. No `.pyc` files there, because that folder is part of the package. */
export const UNITTEST_ENV = { PYTHONPATH: 'sandbox-runtime', PYTHONDONTWRITEBYTECODE: '1' };

/**
 * The first of $PYTHON or `python3`, and `python`, that is suitable; undefined if there is none.
 * @returns {Promise<string | undefined>}
 */
export async function findPython() {
  for (const command of [process.env.PYTHON ?? 'python3', 'python']) {
    try {
      await promisify(execFile)(command, ['-c', IS_SUITABLE]);
      return command;
    } catch {
      // Missing or too old; try the next one.
    }
  }
  return undefined;
}
