/** Waiting, on a machine that may have more to do than it has cores. */
import { pause } from '../pause.ts';
import { MAX_ALLOWANCE_MS } from './gates.ts';
import { pressureMs } from './probe.ts';

const POLL_MS = 50;

/** A clock that does not count what the machine, and not the bridge, was slow; see `MAX_ALLOWANCE_MS`. */
export function startClock(): { elapsed(): number } {
  const startedAt = performance.now();
  const pressure = pressureMs();
  return {
    elapsed: () => performance.now() - startedAt - Math.min(MAX_ALLOWANCE_MS, pressureMs() - pressure),
  };
}

/** What `look` finds as soon as `isGood` holds for it, or what it found last when `limitMs` are over. */
export async function poll<T>(look: () => Promise<T>, isGood: (found: T) => boolean, limitMs: number): Promise<T> {
  const clock = startClock();
  for (;;) {
    const found = await look();
    if (isGood(found) || clock.elapsed() >= limitMs) {
      return found;
    }
    await pause(POLL_MS, 'between two looks');
  }
}
