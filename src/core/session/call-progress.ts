/**
 * Limits the rate of a call's progress reports to the sandbox. A server may report a million times a second: only the newest
 * report is kept, and the last one always arrives before the answer.
 */

export interface CallProgress {
  /** In units of the server; increases. */
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface CallProgressReporter {
  report(progress: CallProgress): void;
  /** Sends the report that waits, and nothing after it. */
  end(): void;
}

/** 20 reports a second look continuous to a person; each costs a frame and a Python call. Chosen. */
const INTERVAL_MS = 50;
const MAX_MESSAGE_CHARS = 500;

export function createCallProgressReporter(send: (progress: CallProgress) => void): CallProgressReporter {
  let timer: NodeJS.Timeout | undefined;
  let newest: CallProgress | undefined;
  let hasEnded = false;

  function sendNewest(): void {
    timer = undefined;
    if (newest !== undefined) {
      const progress = newest;
      newest = undefined;
      timer = setTimeout(sendNewest, INTERVAL_MS);
      send(progress);
    }
  }

  return {
    report({ progress, total, message }) {
      if (hasEnded) {
        return;
      }
      newest = {
        progress,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message: message.slice(0, MAX_MESSAGE_CHARS).toWellFormed() }),
      };
      if (timer === undefined) {
        sendNewest();
      }
    },
    end() {
      hasEnded = true;
      clearTimeout(timer);
      if (newest !== undefined) {
        send(newest);
        newest = undefined;
      }
    },
  };
}
