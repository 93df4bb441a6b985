/**
 * The only way for a test to let time pass. Prefer anything that can be awaited: `expect.poll`, an event, `beginCell`. The
 * linter refuses timers everywhere else in the tests (`.oxlintrc.json`).
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** `_why` says why no event can be awaited. It is for readers only. */
export function pause(milliseconds: number, _why: string): Promise<void> {
  return sleep(milliseconds);
}
