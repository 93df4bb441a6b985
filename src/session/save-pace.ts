/** How often sessions are saved without anyone waiting for it, for all sessions of a process together. */
import { availableParallelism } from 'node:os';

/** Chosen: with many sessions, such checkpoints may use about a quarter of the cores; the rest is for cells. */
const CORES_PER_SAVE = 4;
/** A checkpoint that takes longer waits for something else than a core, such as code that holds it up. Chosen. */
const MAX_COUNTED_MS = 5_000;

/**
 * One session that is saved after each of its cells costs little: 0.1 s of processor time every few seconds. Forty of them cost more than
 * their cells (measured on two cores). So each such checkpoint makes the next one wait, whose session it may be.
 */
export class SavePace {
  readonly #cores: number;
  #nextAt = Number.NEGATIVE_INFINITY;
  #lastMs = 0;

  constructor(cores = availableParallelism()) {
    this.#cores = cores;
  }

  /** Returns 0 if a checkpoint may begin, and expects that it does; otherwise the milliseconds after which to ask again. */
  begin(): number {
    const now = performance.now();
    if (now < this.#nextAt) {
      return Math.ceil(this.#nextAt - now);
    }
    // Until it is known how long this one takes.
    this.#nextAt = now + this.#restOf(this.#lastMs);
    return 0;
  }

  /** The checkpoint has taken `tookMs`: as long as the machine was busy, so a busy one gets fewer. */
  end(tookMs: number): void {
    const now = performance.now();
    const counted = Math.min(tookMs, MAX_COUNTED_MS);
    this.#lastMs = counted;
    this.#nextAt = Math.max(this.#nextAt, now - counted + this.#restOf(counted));
  }

  #restOf(tookMs: number): number {
    return (tookMs * CORES_PER_SAVE) / this.#cores;
  }
}
