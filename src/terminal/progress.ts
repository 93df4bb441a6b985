/**
 * One line that says what is being waited for, alive while it is. It is for people at a terminal: on stderr, never beside `--json`,
 * and gone when the result is printed.
 */
import type { Spinner } from 'yocto-spinner';
import { escapeControls } from '../base/log.ts';

export interface Progress {
  /** Names `what` until `work` has ended, and gives its result. */
  watch<Result>(what: string, work: Promise<Result>): Promise<Result>;
  /** Says what is being done; where no line is shown, `tellPlain` does. */
  tell(message: string): void;
  /** Takes the line away. */
  stop(): void;
}

export interface ProgressOptions {
  readonly isJson: boolean;
  /** Takes what is told where no line is shown. */
  readonly tellPlain: (message: string) => void;
  /** Whether the command does not end in order by itself at a signal; then the line is taken away at one. */
  readonly endsAtSignals?: boolean;
}

/** Names shown at once: all have room on a narrow terminal. Chosen. */
const MAX_NAMES = 4;

/** Begins with an empty line. The library is loaded on a terminal alone. */
export async function startProgress({ endsAtSignals, isJson, tellPlain }: ProgressOptions): Promise<Progress> {
  if (isJson || !hasMovableCursor(process.stderr.isTTY, process.env)) {
    return { watch: (_what, work) => work, tell: tellPlain, stop: () => undefined };
  }
  const { default: createSpinner } = await import('yocto-spinner');
  return onSpinner(createSpinner({ stream: process.stderr, handleSignals: endsAtSignals === true }));
}

/** Elsewhere the library writes lines, as it decides by the same facts. */
function hasMovableCursor(isTerminal: boolean, env: NodeJS.ProcessEnv): boolean {
  return isTerminal && env['TERM'] !== 'dumb' && !('CI' in env);
}

function onSpinner(spinner: Spinner): Progress {
  const running = new Map<symbol, string>();

  /** A line that was taken away stays away, whatever is still told. */
  function draw(text: string): void {
    if (spinner.isSpinning) {
      spinner.text = text;
    }
  }

  function show(): void {
    const names = [...running.values()];
    const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
    draw(names.length === 0 ? '' : `Waiting for ${names.slice(0, MAX_NAMES).join(', ')}${more}`);
  }

  spinner.start();
  // An end that nobody waits for must not leave a terminal without its cursor.
  process.once('exit', () => spinner.stop());
  return {
    async watch(what, work) {
      const key = Symbol(what);
      running.set(key, escapeControls(what));
      show();
      try {
        return await work;
      } finally {
        running.delete(key);
        show();
      }
    },
    tell: (message) => draw(escapeControls(message)),
    stop: () => spinner.stop(),
  };
}
