/**
 * The one way for a test to let time pass. What can be awaited is awaited instead: `expect.poll`, an event, `beginCell`. The
 * linter refuses timers everywhere else in the tests (`.oxlintrc.json`).
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** `_why` says what needs the time itself; nothing reads it but people. */
export function pause(milliseconds: number, _why: string): Promise<void> {
  return sleep(milliseconds);
}
