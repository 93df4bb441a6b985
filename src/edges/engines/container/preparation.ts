/**
 * Faults of an engine that failed starts have shown, and their repair before the next start. While no fault is known, preparation
 * costs nothing.
 */
import type { PrepareProgress } from '../../../core/session/engine.ts';

export type ProgressListener = (progress: PrepareProgress) => void;

/** Faults that can be repaired, in the order in which they are repaired. */
const FAULTS = ['unreachable', 'image-missing'] as const;
type Fault = (typeof FAULTS)[number];
export type Repairs = Partial<Record<Fault, (onProgress: ProgressListener) => Promise<void>>>;

export interface Preparation {
  /** Repairs the known faults. Concurrent callers share one attempt and its progress. */
  run(onProgress: ProgressListener): Promise<void>;
  /** Records a fault if there is a repair for it. Returns whether the caller should start again at once. */
  note(fault: string): boolean;
}

/**
 * A preparation that repairs faults with `repairs` and also passes all progress to `log`. If a fault comes back after its repair, it
 * is repaired again for the next cell, but `note` returns false, so the attempts for one cell come to an end.
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

  async function repair(fault: Fault): Promise<void> {
    if (faults.has(fault)) {
      await repairs[fault]?.(report);
      faults.delete(fault);
      repairedBefore.add(fault);
    }
  }

  async function repairAll(): Promise<void> {
    try {
      for (const fault of FAULTS) {
        await repair(fault);
      }
    } finally {
      running = undefined;
      listeners.clear();
    }
  }

  return {
    async run(onProgress) {
      if (faults.size > 0) {
        listeners.add(onProgress);
        running ??= repairAll();
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
  // No one listens.
}
