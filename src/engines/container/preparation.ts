/**
 * What an engine knows to be wrong, learned from failed starts, and how it is put right before the next one. While
 * nothing is known, a preparation costs nothing.
 */
import type { PrepareProgress } from '../engine.ts';

export type ProgressListener = (progress: PrepareProgress) => void;

/** Faults that can be mended, in the order in which they are. */
export type Fault = 'unreachable' | 'image-missing';
export type Repairs = Partial<Record<Fault, (onProgress: ProgressListener) => Promise<void>>>;

export interface Preparation {
  /** Mends what is known to be wrong; callers at the same time share one attempt and its progress. */
  run(onProgress: ProgressListener): Promise<void>;
  /** Notes a fault, if there is a repair for it. Gives whether another start is worth while at once. */
  note(fault: string): boolean;
}

/**
 * A preparation that mends faults with `repairs` and tells `log` once of each progress. A fault that comes back after its repair is mended again for the next
 * cell, but not in another round of the same one: rounds must end.
 */
export function createPreparation(repairs: Repairs, log: ProgressListener = ignore): Preparation {
  const faults = new Set<string>();
  const repairedBefore = new Set<string>();
  const listeners = new Set<ProgressListener>();
  let running: Promise<void> | undefined;

  function report(progress: PrepareProgress): void {
    for (const listener of [log, ...listeners]) {
      listener(progress);
    }
  }

  async function mend(fault: Fault): Promise<void> {
    if (faults.has(fault)) {
      await repairs[fault]?.(report);
      faults.delete(fault);
      repairedBefore.add(fault);
    }
  }

  async function mendAll(): Promise<void> {
    try {
      await mend('unreachable');
      await mend('image-missing');
    } finally {
      running = undefined;
      listeners.clear();
    }
  }

  return {
    async run(onProgress) {
      if (faults.size > 0) {
        listeners.add(onProgress);
        running ??= mendAll();
        await running;
      }
    },
    note(fault) {
      if (!Object.hasOwn(repairs, fault)) {
        return false;
      }
      faults.add(fault);
      return !repairedBefore.has(fault);
    },
  };
}

function ignore(): void {
  // Nobody wants to be told.
}
