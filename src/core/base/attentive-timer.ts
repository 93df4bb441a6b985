/** A timer for "no answer came within this time" that does not blame the other side if this process was too busy to read the answer. */

/** A timer that is later than this shows that the event loop stood still. Chosen; the longest turn under load is 8 ms (measured). */
const LATE_MS = 100;
/** So many times at most, the time begins again. */
const MAX_ROUNDS = 4;

/**
 * Calls `act` after `ms` in which this process was attentive: if the timer is late, the time begins again, and what has arrived by then
 * is always read first. Returns what stops it.
 */
export function afterAttentiveMs(ms: number, act: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const wait = (rounds: number): void => {
    const dueMs = performance.now() + ms;
    timer = setTimeout(() => {
      if (performance.now() - dueMs > LATE_MS && rounds > 1) {
        wait(rounds - 1);
        return;
      }
      // In each turn, Node runs timers before it reads, and immediates after that.
      setImmediate(() => {
        if (!isStopped) {
          act();
        }
      });
    }, ms);
  };
  wait(MAX_ROUNDS);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
