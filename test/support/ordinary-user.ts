/** An ordinary user for tests that run as root; tests that do not are one themselves. */
import { findExecutable } from '../../src/engines/executable.ts';
import { processEnvironment } from './engines.ts';

/** A user without an account, a home, or subordinate ids, so that no test needs one to be made first. */
export const ORDINARY_USER_ID = 61_234;

export const isRoot = process.getuid?.() === 0;

/** What a command line begins with to run as that user. */
export function becomeUser(userId: number): string[] {
  const setpriv = findExecutable('setpriv', processEnvironment()) ?? 'setpriv';
  return [setpriv, `--reuid=${userId}`, `--regid=${userId}`, '--clear-groups', '--pdeathsig=keep', '--'];
}
