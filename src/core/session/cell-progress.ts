/**
 * The progress of a running cell, for a client that asked for it: reports of the code (`runtime.progress`) and of tools, or the
 * line printed last; starting servers; calls. The state is sampled, and reported if it changed, so that a cell that prints a
 * million lines or makes a million calls pays nothing for it. The first and last report of the code and of each call do not
 * wait for the next sample, because a burst can be over before it.
 */
import type { CellProgress } from '../base/cell.ts';
import { escapeControls } from '../base/log.ts';
import type { ProgressFrame } from '../protocol/frames.ts';
import type { CallProgress } from './call-progress.ts';

/** Frequent enough for a person, rare enough for a client that keeps every notification. Chosen. */
export const SAMPLE_INTERVAL_MS = 500;
/** Reports sent between two samples, at first and in the long run: thousands of calls must not flood the client. Chosen. */
const MAX_BURST = 100;
const REFILL_PER_SAMPLE = 10;
const MAX_LINE_CHARS = 120;

/** Tool calls of the running cell. */
export interface CallCounts {
  readonly done: number;
  readonly running: number;
}

export interface ProgressSources {
  calls(): CallCounts;
  /** The servers that are starting for this session. */
  startingServers(): readonly StartingServer[];
  /** Whether a question waits for the person's reply. */
  isAsking(): boolean;
}

/** A server that is starting. */
export interface StartingServer {
  readonly name: string;
  /** What a program says that may be downloading the server, such as `uvx: Downloading numpy (18MiB)`; undefined for others. */
  readonly preparing?: string | undefined;
}

/** A progress report of a server for one call. */
export interface ToolProgress extends CallProgress {
  /** Server and tool, such as `files.search`. */
  readonly tool: string;
}

/** Takes reports about calls, which are identified by their number in the sandbox. */
export interface CallWatch {
  /** May be called at any rate. */
  noteCall(call: number, report: ToolProgress): void;
  /** The call is about to be answered. */
  endCall(call: number): void;
}

export interface ProgressWatch extends CallWatch {
  /** Takes text that the cell wrote to stdout or stderr. */
  addOutput(text: string): void;
  /** Takes a report of the code. */
  setStated(stated: Stated): void;
  /** Sends what waits, and nothing after it. */
  stop(): void;
}

type Stated = Omit<ProgressFrame, 'type'>;

/** Watches one cell until `stop`. */
export function watchProgress(report: (progress: CellProgress) => void, sources: ProgressSources): ProgressWatch {
  const state = new CellState(report, sources);
  let isStopped = false;
  const timer = setInterval(() => state.sample(), SAMPLE_INTERVAL_MS);
  timer.unref();
  return {
    addOutput: (text) => state.addOutput(text),
    setStated: (stated) => isStopped || state.setStated(stated),
    noteCall: (call, next) => isStopped || state.noteCall(call, next),
    endCall: (call) => isStopped || state.endCall(call),
    stop() {
      isStopped = true;
      clearInterval(timer);
      state.sendRest();
    },
  };
}

/** The state of a cell, and which part of it the client has seen. */
class CellState {
  readonly #report: (progress: CellProgress) => void;
  readonly #sources: ProgressSources;
  #line = '';
  #stated: Stated | undefined;
  /** The newest report of each running call, in the order of these reports. */
  readonly #calls = new Map<number, ToolProgress>();
  /** What was not sent yet: calls by number, and the report of the code. */
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
    // Code that does several things in turn counts from the start for each.
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

  sample(): void {
    this.#allowance = Math.min(MAX_BURST, this.#allowance + REFILL_PER_SAMPLE);
    this.#send(undefined, false);
  }

  sendRest(): void {
    [...this.#unsent].forEach((what) => this.#sendNow(what));
  }

  /** Sends a waiting report before the next sample, if the allowance permits. */
  #sendNow(what: number | 'stated'): void {
    if (this.#allowance > 0 && this.#unsent.has(what)) {
      this.#allowance -= 1;
      this.#send(what === 'stated' ? undefined : what, true);
    }
  }

  /** Sends the state with the report of this call, or else of the call that reported last. */
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
  /** The line printed last. */
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
    // Code that repeats the report of a tool has the same text.
    ofCode === ofTool ? '' : escapeControls(ofCode),
    tool === undefined ? '' : escapeControls(`${cut(tool.tool)} ${ofTool}`),
    starting.length === 0 ? '' : `starting ${starting.map(describeStarting).join(', ')}`,
    done + running === 0 ? '' : `${done} ${done === 1 ? 'call' : 'calls'} done, ${running} running`,
  ].filter((part) => part !== '');
  if (parts.length === 0) {
    return undefined;
  }
  // A terminal shows the progress of a download, but a question needs the terminal.
  const isRunning = sources.isAsking() || starting.every(({ preparing }) => preparing === undefined);
  return { message: parts.join('; '), percent: percentOf(stated), isRunning };
}

function describeStarting(server: StartingServer): string {
  const preparing = describePreparing(server);
  return preparing === undefined ? escapeControls(server.name) : `${escapeControls(server.name)} (${preparing})`;
}

/** What prepares the start, short and without control characters. */
export function describePreparing({ preparing }: StartingServer): string | undefined {
  return preparing && escapeControls(cut(shorten(preparing)));
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

/** The last line that is not blank, after its last carriage return. Only the end of the text is searched. */
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

/** A message as one line. It may have megabytes; the copy prevents V8 from keeping all of it for a slice. */
function shorten(message: string): string {
  const start = message.slice(0, 4 * MAX_LINE_CHARS).replace(/\s+/g, ' ');
  return message.length > MAX_LINE_CHARS ? Buffer.from(start).toString() : start;
}

function cut(text: string): string {
  return (text.length > MAX_LINE_CHARS ? `${text.slice(0, MAX_LINE_CHARS)}…` : text).toWellFormed();
}
