/** Background work of one kind for several subjects: for each subject at most once at a time, with rests between. */

/** Even if the work is requested constantly, it takes at most a tenth of the time. */
const REST_FACTOR = 10;

export class BackgroundWork<Subject> {
  readonly #work: (subject: Subject) => Promise<void>;
  /** Subjects with work that runs or is scheduled. */
  readonly #busy = new Set<string>();
  readonly #again = new Set<string>();
  readonly #restUntil = new Map<string, number>();
  #isClosed = false;

  /** `work` must not reject. */
  constructor(work: (subject: Subject) => Promise<void>) {
    this.#work = work;
  }

  /** Starts the work soon. If it runs already, it runs once more afterwards. */
  start(name: string, subject: Subject): void {
    if (this.#isClosed) {
      return;
    }
    if (this.#busy.has(name)) {
      this.#again.add(name);
      return;
    }
    this.#busy.add(name);
    const waitMs = (this.#restUntil.get(name) ?? 0) - performance.now();
    if (waitMs > 0) {
      setTimeout(() => void this.#run(name, subject), waitMs).unref();
    } else {
      void this.#run(name, subject);
    }
  }

  /** Starts no more work. */
  close(): void {
    this.#isClosed = true;
  }

  async #run(name: string, subject: Subject): Promise<void> {
    this.#again.delete(name);
    if (this.#isClosed) {
      return;
    }
    const start = performance.now();
    await this.#work(subject);
    const end = performance.now();
    this.#restUntil.set(name, end + (end - start) * REST_FACTOR);
    this.#busy.delete(name);
    if (this.#again.has(name)) {
      this.start(name, subject);
    }
  }
}
