import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 50;

/** What `look` finds as soon as `isGood` holds for it, or what it found last when `limitMs` are over. */
export async function poll<T>(look: () => Promise<T>, isGood: (found: T) => boolean, limitMs: number): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (isGood(found) || performance.now() >= end) {
      return found;
    }
    await sleep(POLL_MS);
  }
}
