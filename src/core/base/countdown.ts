/** A deadline that can be paused, because no machine's time limit may run out while a person is being asked. */

export class Countdown {
  #leftMs: number;
  #startedAt = performance.now();
  #holds = 0;
  #isOver = false;
  #onEnd: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Starts now. Without `onEnd`, it only reports the time left. */
  constructor(timeoutMs: number, onEnd?: () => void) {
    this.#leftMs = timeoutMs;
    if (onEnd !== undefined) {
      this.whenOver(onEnd);
    }
  }

  /** Calls `onEnd` once when the time is up; paused time does not count. For a countdown created without `onEnd`. */
  whenOver(onEnd: () => void): void {
    this.#onEnd = onEnd;
    if (this.#holds === 0) {
      this.#setTimer();
    }
  }

  /** Milliseconds left, at least 0. */
  leftMs(): number {
    return Math.max(0, this.isHeld ? this.#leftMs : this.#leftMs - (performance.now() - this.#startedAt));
  }

  /** Whether it is paused. */
  get isHeld(): boolean {
    return this.#holds > 0;
  }

  /** Pauses the countdown until the returned function is called. If several holds overlap, the last release resumes it. */
  hold(): () => void {
    if (this.#holds === 0) {
      this.#leftMs = this.leftMs();
      clearTimeout(this.#timer);
    }
    this.#holds += 1;
    let isHeld = true;
    return () => {
      if (isHeld) {
        isHeld = false;
        this.#release();
      }
    };
  }

  /** Stops it for good; `onEnd` is not called. */
  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #release(): void {
    this.#holds -= 1;
    if (this.#holds === 0) {
      this.#startedAt = performance.now();
      this.#setTimer();
    }
  }

  #setTimer(): void {
    const onEnd = this.#onEnd;
    if (onEnd === undefined || this.#isOver) {
      return;
    }
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      onEnd();
    }, this.leftMs());
  }
}
