/** Waits for an engine to be ready, but not longer than a client waits for its answer. */

import { BridgeError } from '../base/errors.ts';
import { PULL_ANSWER_MS } from '../base/limits.ts';
import type { Engine, PrepareProgress } from '../engines/engine.ts';

/**
 * Resolves when the engine can start a sandbox. Rejects as `prepare` does, and with `IMAGE_PULLING` when it takes longer
 * than `waitMs`: then it goes on, and the next cell joins it.
 */
export async function prepareInTime(
  engine: Engine,
  onProgress: (progress: PrepareProgress) => void,
  waitMs: number = PULL_ANSWER_MS,
): Promise<void> {
  let state = 'preparing the engine';
  const preparing = engine.prepare((progress) => {
    state = describeProgress(progress);
    onProgress(progress);
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      // The failure of what goes on is reported by the cell that asks next.
      preparing.catch(() => undefined);
      reject(
        new BridgeError('IMAGE_PULLING', `the sandbox is not ready after ${waitMs / 1000} s (${state}); this goes on`, {
          hint: 'Run the cell again in a minute.',
        }),
      );
    }, waitMs);
  });
  await Promise.race([preparing, late]).finally(() => clearTimeout(timer));
}

function describeProgress({ message, percent }: PrepareProgress): string {
  return percent === undefined ? message : `${message}, ${Math.round(percent)} %`;
}
