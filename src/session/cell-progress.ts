/**
 * How far a running cell is, for a client that asked: what the code says of itself (`runtime.progress`) and what tools
 * report, or the line printed last; servers that are starting; calls. The state is looked at now and then and reported when it
 * changed, so that a cell that prints a million lines or makes a million calls pays nothing for it. The first and the last
 * report of the code and of each call do not wait for that look: a burst is over before it comes.
 */
import type { CellProgress } from '../base/cell.ts';
import { escapeControls } from '../base/log.ts';
import type { ProgressFrame } from '../protocol/frames.ts';
import type { CallProgress } from './call-progress.ts';

/** Often enough for a person who watches, seldom enough for a client that keeps every notification. Chosen. */
const LOOK_INTERVAL_MS = 500;
/** Reports that leave between two looks, at first and in the long run: thousands of calls must not flood the client. Chosen. */
const MAX_BURST = 100;
const REFILL_PER_LOOK = 10;
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

/** What a server reports of one call. */
export interface ToolProgress extends CallProgress {
  /** Server and tool, as `files.search`. */
  readonly tool: string;
}

/** Takes the reports on calls, which are distinguished by their number in the sandbox. */
export interface CallWatch {
  /** As often as the server likes. */
  noteCall(call: number, report: ToolProgress): void;
  /** The call is about to be answered. */
  endCall(call: number): void;
}

export interface ProgressWatch extends CallWatch {
  /** Text the cell wrote to stdout or stderr. */
  addOutput(text: string): void;
  /** What the code says of itself. */
  setStated(stated: Stated): void;
  /** Sends what is held back. Nothing is sent afterwards. */
  stop(): void;
}

type Stated = Omit<ProgressFrame, 'type'>;

/** Watches one cell until `stop`. */
export function watchProgress(report: (progress: CellProgress) => void, sources: ProgressSources): ProgressWatch {
  const news = new News(report, sources);
  let isStopped = false;
  const timer = setInterval(() => news.look(), LOOK_INTERVAL_MS);
  timer.unref();
  return {
    addOutput: (text) => news.addOutput(text),
    setStated: (stated) => isStopped || news.setStated(stated),
    noteCall: (call, next) => isStopped || news.noteCall(call, next),
    endCall: (call) => isStopped || news.endCall(call),
    stop() {
      isStopped = true;
      clearInterval(timer);
      news.sendRest();
    },
  };
}

/** What is known of a cell, and how much of it the client knows. */
class News {
  readonly #report: (progress: CellProgress) => void;
  readonly #sources: ProgressSources;
  #line = '';
  #stated: Stated | undefined;
  /** The newest report of each call that runs; the call that reported last is the last one. */
  readonly #calls = new Map<number, ToolProgress>();
  /** What was not sent yet: calls by their number, and what the code says. */
  readonly #unsent = new Set<number | 'stated'>();
  #allowance = MAX_BURST;
  #reported = '';

  constructor(report: (progress: CellProgress) => void, sources: ProgressSources) {
    this.#report = report;
    this.#sources = sources;
  }

  addOutput(text: string): void {
    this.#line = lastLine(text) ?? this.#line;
  }

  setStated(stated: Stated): void {
    // Code that does several things one after the other counts anew for each.
    const isFirst = this.#stated === undefined || isComplete(this.#stated);
    this.#stated = stated;
    this.#unsent.add('stated');
    if (isFirst || isComplete(stated)) {
      this.#sendNow('stated');
    }
  }

  noteCall(call: number, report: ToolProgress): void {
    const isFirst = !this.#calls.delete(call);
    this.#calls.set(call, { ...report, message: report.message && shorten(report.message) });
    this.#unsent.add(call);
    if (isFirst) {
      this.#sendNow(call);
    }
  }

  endCall(call: number): void {
    this.#sendNow(call);
    this.#unsent.delete(call);
    this.#calls.delete(call);
  }

  look(): void {
    this.#allowance = Math.min(MAX_BURST, this.#allowance + REFILL_PER_LOOK);
    this.#send(undefined, false);
  }

  sendRest(): void {
    [...this.#unsent].forEach((what) => this.#sendNow(what));
  }

  /** Sends what was not sent yet without waiting for the next look, unless too much was sent so already. */
  #sendNow(what: number | 'stated'): void {
    if (this.#allowance > 0 && this.#unsent.has(what)) {
      this.#allowance -= 1;
      this.#send(what === 'stated' ? undefined : what, true);
    }
  }

  /** Sends the state with the report of one call, or of the one that reported last. */
  #send(call: number | undefined, isNews: boolean): void {
    const shown = call ?? [...this.#calls.keys()].at(-1);
    const tool = shown === undefined ? undefined : this.#calls.get(shown);
    this.#unsent.delete('stated');
    this.#unsent.delete(shown ?? 'stated');
    const progress = describe({ stated: this.#stated, line: this.#line, tool }, this.#sources);
    const text = JSON.stringify(progress);
    if (progress !== undefined && (isNews || text !== this.#reported)) {
      this.#reported = text;
      this.#report(progress);
    }
  }
}

interface Said {
  readonly stated: Stated | undefined;
  /** What the code printed last. */
  readonly line: string;
  readonly tool: ToolProgress | undefined;
}

function describe({ stated, line, tool }: Said, sources: ProgressSources): CellProgress | undefined {
  const starting = sources.startingServers();
  const { done, running } = sources.calls();
  const ofCode = stated === undefined ? line : describeStated(stated);
  const ofTool = tool === undefined ? '' : describeStated({ ...tool, done: tool.progress });
  const parts = [
    sources.isAsking() ? 'waiting for the answer to a question' : '',
    // Code that passes on what a tool reports says the same.
    ofCode === ofTool ? '' : escapeControls(ofCode),
    tool === undefined ? '' : escapeControls(`${cut(tool.tool)} ${ofTool}`),
    starting.length === 0 ? '' : `starting ${starting.join(', ')}`,
    done + running === 0 ? '' : `${done} ${done === 1 ? 'call' : 'calls'} done, ${running} running`,
  ].filter((part) => part !== '');
  if (parts.length === 0) {
    return undefined;
  }
  return { message: parts.join('; '), percent: percentOf(stated), isRunning: true };
}

function describeStated({ done, total, message }: Stated): string {
  const words = message === undefined ? '' : ` ${cut(shorten(message))}`;
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

function isComplete({ done, total }: Stated): boolean {
  return done === total;
}

/** One line of a message, which may have megabytes: of a mere part of it V8 would keep the whole. */
function shorten(message: string): string {
  const start = message.slice(0, 4 * MAX_LINE_CHARS).replace(/\s+/g, ' ');
  return message.length > MAX_LINE_CHARS ? Buffer.from(start).toString() : start;
}

function cut(text: string): string {
  return (text.length > MAX_LINE_CHARS ? `${text.slice(0, MAX_LINE_CHARS)}…` : text).toWellFormed();
}
