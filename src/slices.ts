/** Long work in short slices, so that calls of others are answered in between. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest piece of work between two looks at the event loop. Chosen: a tenth of what a person would notice. */
const SLICE_MS = 10;

/** `await pause()` between two steps lets others run when the steps since the last pause took a slice. */
export function createPause(): () => Promise<void> {
  let sliceStart = performance.now();
  return async () => {
    if (performance.now() - sliceStart >= SLICE_MS) {
      await nextTurn();
      sliceStart = performance.now();
    }
  };
}
