/** Waits on a machine that may be overloaded. */
import { pause } from '../pause.ts';
import { MAX_ALLOWANCE_MS } from './gates.ts';
import { pressureMs } from './probe.ts';

const POLL_MS = 50;

/** A clock that leaves out delays caused by the machine; see `MAX_ALLOWANCE_MS`. */
export function startClock(): { elapsed(): number } {
  const startedAt = performance.now();
  const pressure = pressureMs();
  return {
    elapsed: () => performance.now() - startedAt - Math.min(MAX_ALLOWANCE_MS, pressureMs() - pressure),
  };
}

/** Resolves with what `look` returns as soon as `isGood` accepts it, or with the last value after `limitMs`. */
export async function poll<T>(look: () => Promise<T>, isGood: (found: T) => boolean, limitMs: number): Promise<T> {
  const clock = startClock();
  for (;;) {
    const found = await look();
    if (isGood(found) || clock.elapsed() >= limitMs) {
      return found;
    }
    await pause(POLL_MS, 'poll interval');
  }
}
