/** A deadline that can stand still: while a person is asked, no clock of a machine may run out. */

export interface Countdown {
  /** Stops the clock until the function it gives is called; with several holds, until the last one is let go. */
  hold(): () => void;
  /** Milliseconds that are left; 0 when there are none. */
  leftMs(): number;
  /** Ends it; nothing happens any more. */
  stop(): void;
}

/** Calls `onEnd` once, after `timeoutMs` in which nobody held the clock. */
export function startCountdown(timeoutMs: number, onEnd: () => void): Countdown {
  let leftMs = timeoutMs;
  let startedAt = performance.now();
  let holds = 0;
  let isOver = false;
  let timer = setTimeout(end, timeoutMs);

  function end(): void {
    isOver = true;
    onEnd();
  }

  const left = (): number => Math.max(0, holds > 0 ? leftMs : leftMs - (performance.now() - startedAt));

  function release(): void {
    holds -= 1;
    if (holds === 0 && !isOver) {
      startedAt = performance.now();
      timer = setTimeout(end, leftMs);
    }
  }

  return {
    leftMs: left,
    hold() {
      if (holds === 0) {
        leftMs = left();
        clearTimeout(timer);
      }
      holds += 1;
      let isHeld = true;
      return () => {
        if (isHeld) {
          isHeld = false;
          release();
        }
      };
    },
    stop() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
