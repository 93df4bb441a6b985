/**
 * What a running cell has come to, for a client that asked: the words of the code itself (`runtime.progress`), else the
 * line printed last; servers that are starting; calls. Looked at now and then and reported when it changed, so that a
 * cell that prints a million lines or makes a million calls pays nothing for it.
 */
import type { CellProgress } from '../cell.ts';
import type { ProgressFrame } from '../protocol/frames.ts';

/** Often enough for a person who watches, seldom enough for a client that keeps every notification. Chosen. */
const LOOK_INTERVAL_MS = 500;
const MAX_LINE_CHARS = 120;

/** Calls of the cell that runs. */
export interface CallCounts {
  readonly done: number;
  readonly running: number;
}

export interface ProgressSources {
  calls(): CallCounts;
  /** Names of the servers that are being started for this session. */
  startingServers(): readonly string[];
  /** Whether a question waits for the person's answer. */
  isAsking(): boolean;
}

export interface ProgressWatch {
  /** Text the cell wrote to stdout or stderr. */
  addOutput(text: string): void;
  /** What the code says of itself. */
  setStated(stated: Omit<ProgressFrame, 'type'>): void;
  stop(): void;
}

/** Watches one cell until `stop`. */
export function watchProgress(report: (progress: CellProgress) => void, sources: ProgressSources): ProgressWatch {
  let line = '';
  let stated: Omit<ProgressFrame, 'type'> | undefined;
  let reported = '';

  const timer = setInterval(() => {
    const progress = describe(stated, line, sources);
    const text = JSON.stringify(progress);
    if (progress !== undefined && text !== reported) {
      reported = text;
      report(progress);
    }
  }, LOOK_INTERVAL_MS);
  timer.unref();

  return {
    addOutput(text) {
      line = lastLine(text) ?? line;
    },
    setStated(next) {
      stated = next;
    },
    stop: () => clearInterval(timer),
  };
}

function describe(
  stated: Omit<ProgressFrame, 'type'> | undefined,
  line: string,
  sources: ProgressSources,
): CellProgress | undefined {
  const starting = sources.startingServers();
  const { done, running } = sources.calls();
  const parts = [
    sources.isAsking() ? 'waiting for the answer to a question' : '',
    stated === undefined ? line : describeStated(stated),
    starting.length === 0 ? '' : `starting ${starting.join(', ')}`,
    done + running === 0 ? '' : `${done} ${done === 1 ? 'call' : 'calls'} done, ${running} running`,
  ].filter((part) => part !== '');
  if (parts.length === 0) {
    return undefined;
  }
  return { message: parts.join('; '), percent: percentOf(stated), isRunning: true };
}

function describeStated({ done, total, message }: Omit<ProgressFrame, 'type'>): string {
  const words = message === undefined ? '' : ` ${cut(message)}`;
  return `${done}${total === undefined ? '' : `/${total}`}${words}`;
}

function percentOf(stated: Omit<ProgressFrame, 'type'> | undefined): number | undefined {
  if (stated?.total === undefined || stated.total <= 0) {
    return undefined;
  }
  return Math.min(100, Math.max(0, (100 * stated.done) / stated.total));
}

/** The last line of a text that is not blank, as it stands after its carriage returns; looked for near the end alone. */
function lastLine(text: string): string | undefined {
  const lines = text
    .slice(-4 * MAX_LINE_CHARS)
    .split(/[\r\n]/)
    .map((part) => part.trim());
  const found = lines.findLast((part) => part !== '');
  return found === undefined ? undefined : cut(found);
}

function cut(text: string): string {
  return (text.length > MAX_LINE_CHARS ? `${text.slice(0, MAX_LINE_CHARS)}…` : text).toWellFormed();
}
