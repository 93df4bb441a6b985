/**
 * A live line on stderr that names what a command is waiting for. It is for people at a terminal: it never appears with `--json`, and
 * it is erased before the result is printed.
 */
import type { Spinner } from 'yocto-spinner';
import { escapeControls } from '../../core/base/log.ts';
import { canRedrawLine } from './capabilities.ts';

export interface Progress {
  /** Shows `what` until `work` settles, with what `detail` returns at the time, and returns the result. */
  watch<Result>(what: string, work: Promise<Result>, detail?: () => string | undefined): Promise<Result>;
  /** Replaces the text of the line. Without a line, the message goes to `writePlain`. */
  update(message: string): void;
  /** Erases the line until the next `update`. */
  pause(): void;
  /** Erases the line for good. */
  stop(): void;
}

export interface ProgressOptions {
  readonly isJson: boolean;
  /** Receives the messages of `update` if no line can be shown. */
  readonly writePlain: (message: string) => void;
  /** Set by commands without signal handlers of their own: the spinner then erases the line and exits at SIGINT or SIGTERM. */
  readonly endsAtSignals?: boolean;
}

/** Names shown at once, so that the line fits on a narrow terminal. Chosen. */
const MAX_NAMES = 4;
const DETAIL_INTERVAL_MS = 500;
const MAX_DETAIL_CHARS = 60;

/** Starts with an empty line. The spinner library is loaded only if a line is shown. */
export async function startProgress({ endsAtSignals, isJson, writePlain }: ProgressOptions): Promise<Progress> {
  if (isJson || !canRedrawLine(process.stderr.isTTY, process.env)) {
    return { watch: (_what, work) => work, update: writePlain, pause: () => undefined, stop: () => undefined };
  }
  const { default: createSpinner } = await import('yocto-spinner');
  return onSpinner(createSpinner({ stream: process.stderr, handleSignals: endsAtSignals === true }));
}

function onSpinner(spinner: Spinner): Progress {
  const running = new Map<symbol, () => string>();
  let isPaused = false;

  /** Once the line is erased, late updates do not bring it back. */
  function draw(text: string): void {
    if (spinner.isSpinning) {
      spinner.text = text;
    }
  }

  function show(): void {
    const names = [...running.values()].map((name) => name());
    const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
    draw(names.length === 0 ? '' : `Waiting for ${names.slice(0, MAX_NAMES).join(', ')}${more}`);
  }

  spinner.start();
  // An unexpected exit must not leave the terminal without its cursor.
  process.once('exit', () => spinner.stop());
  return {
    async watch(what, work, detail) {
      const key = Symbol(what);
      running.set(key, () => {
        const more = detail?.();
        return escapeControls(more === undefined ? what : `${what} (${more.slice(0, MAX_DETAIL_CHARS)})`);
      });
      show();
      const timer = detail && setInterval(show, DETAIL_INTERVAL_MS).unref();
      try {
        return await work;
      } finally {
        clearInterval(timer);
        running.delete(key);
        show();
      }
    },
    update(message) {
      if (isPaused) {
        isPaused = false;
        spinner.start();
      }
      draw(escapeControls(message));
    },
    pause() {
      isPaused = spinner.isSpinning || isPaused;
      spinner.stop();
    },
    stop() {
      isPaused = false;
      spinner.stop();
    },
  };
}
