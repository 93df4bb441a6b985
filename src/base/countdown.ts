/** A deadline that can stand still: while a person is asked, no clock of a machine may run out. */

export class Countdown {
  #leftMs: number;
  #startedAt = performance.now();
  #holds = 0;
  #isOver = false;
  #onEnd: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Runs from now on. Without `onEnd` it only tells what is left. */
  constructor(timeoutMs: number, onEnd?: () => void) {
    this.#leftMs = timeoutMs;
    if (onEnd !== undefined) {
      this.whenOver(onEnd);
    }
  }

  /** Calls `onEnd` once, after the time in which nobody held the clock. For one that was given none. */
  whenOver(onEnd: () => void): void {
    this.#onEnd = onEnd;
    if (this.#holds === 0) {
      this.#setTimer();
    }
  }

  /** Milliseconds that are left; 0 when there are none. */
  leftMs(): number {
    return Math.max(0, this.#holds > 0 ? this.#leftMs : this.#leftMs - (performance.now() - this.#startedAt));
  }

  /** Stops the clock until the function it gives is called; with several holds, until the last one is let go. */
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

  /** Ends it; nothing happens any more. */
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
