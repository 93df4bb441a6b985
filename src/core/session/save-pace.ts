/** How often sessions are saved without anyone waiting for it: those of one bridge, and those of a process together. */
import { availableParallelism } from 'node:os';

/** Chosen: with many sessions, such checkpoints may use about a quarter of the cores; the rest is for cells. */
const CORES_PER_SAVE = 4;
/** A checkpoint that takes longer waits for something else than a core, such as code that holds it up. Chosen. */
const MAX_COUNTED_MS = 5_000;
/** The same for the sessions of other bridges, which may belong to others: code decides how long its checkpoint takes. Chosen. */
const MAX_COUNTED_FOR_ALL_MS = 1_000;

/**
 * One session that is saved after each of its cells costs little: 0.1 s of processor time every few seconds. Forty of them cost more than
 * their cells (measured on two cores). So each such checkpoint makes the next one wait, whose session it may be.
 */
export class SavePace {
  readonly #cores: number;
  readonly #maxCountedMs: number;
  readonly #ofProcess: SavePace | undefined;
  #nextAt = Number.NEGATIVE_INFINITY;
  #lastMs = 0;
  /** Whether one has begun here that has not ended. */
  #hasBegun = false;

  /** @param ofProcess that of all bridges, if this is the pace of one. */
  constructor(cores = availableParallelism(), ofProcess?: SavePace, maxCountedMs = MAX_COUNTED_MS) {
    this.#cores = cores;
    this.#ofProcess = ofProcess;
    this.#maxCountedMs = maxCountedMs;
  }

  /** That of a process, to be shared by those of its bridges. */
  static ofProcess(cores?: number): SavePace {
    return new SavePace(cores, undefined, MAX_COUNTED_FOR_ALL_MS);
  }

  /** Returns 0 if a checkpoint may begin, and expects that it does; otherwise the milliseconds after which to ask again. */
  begin(): number {
    const now = performance.now();
    const waitMs = Math.ceil(Math.max(0, this.#nextAt - now)) || (this.#ofProcess?.begin() ?? 0);
    if (waitMs > 0) {
      return waitMs;
    }
    // Until it is known how long this one takes.
    this.#nextAt = now + this.#restOf(this.#lastMs);
    this.#hasBegun = true;
    return 0;
  }

  /**
   * A checkpoint has taken `tookMs`: as long as the machine was busy, so a busy one gets fewer. Other bridges wait only for those that
   * have asked: code can have others taken without end.
   */
  end(tookMs: number): void {
    const now = performance.now();
    const counted = Math.min(tookMs, this.#maxCountedMs);
    this.#lastMs = counted;
    this.#nextAt = Math.max(this.#nextAt, now - counted + this.#restOf(counted));
    if (this.#hasBegun) {
      this.#hasBegun = false;
      this.#ofProcess?.end(tookMs);
    }
  }

  #restOf(tookMs: number): number {
    return (tookMs * CORES_PER_SAVE) / this.#cores;
  }
}
