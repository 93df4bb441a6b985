/** An ordinary user for tests that run as root. Otherwise the tests run as one anyway. */
import { findExecutable } from '../../src/edges/engines/executable.ts';
import { processEnvironment } from './engines.ts';

/** A user without an account, home directory or subordinate ids, so that nothing has to be created first. */
export const ORDINARY_USER_ID = 61_234;

export const isRoot = process.getuid?.() === 0;

/** The start of a command line that runs as that user. */
export function becomeUser(userId: number): string[] {
  const setpriv = findExecutable('setpriv', processEnvironment()) ?? 'setpriv';
  return [setpriv, `--reuid=${userId}`, `--regid=${userId}`, '--clear-groups', '--pdeathsig=keep', '--'];
}
