/**
 * The answer to a cell: its arguments are checked, and it is run. If it outlives the patience of its client, the answer comes before the
 * client gives up, with what was printed so far, and the cell goes on. What it prints after that, and its end, come with the code `# wait`,
 * or else with the next answer of its session.
 */
import {
  type CellAnswer,
  type CellClock,
  type CellRequest,
  DEFAULT_SESSION,
  NO_OUTPUT,
  type ShownAnswer,
} from '../../core/base/cell.ts';
import { Countdown } from '../../core/base/countdown.ts';
import { createDeferred } from '../../core/base/deferred.ts';
import { BridgeError, type ErrorCode, reportError, toBridgeError } from '../../core/base/errors.ts';
import { useWhenThere } from '../../core/base/maybe-promise.ts';
import { createOutputBuffer } from '../../core/session/output.ts';
import { BY_CODE } from '../../core/session/run-cell.ts';
import { type CellArguments, checkRunArguments } from './arguments.ts';
import type { RunPythonCall } from './front-tool.ts';
import { RelayedPerson } from './relayed-person.ts';
import type { RunPythonOptions } from './run-python.ts';
import type { Undelivered } from './undelivered.ts';

/** Cells that go on without a request at the same time. If there are more, their requests wait for the end. Chosen. */
const MAX_ALONE = 16;
/** Code that is about an earlier cell of its session, and is not run itself. */
const ABOUT_EARLIER = /^\s*#[ \t]*(wait|stop)\b[^\n]*\s*$/;
/** In the reason with which the official SDKs cancel a request that has reached its time limit. */
const TIMED_OUT = /timed out|-32001/i;
const ANSWERED_BEFORE = 'its call was answered before';
const CANCELLED = 'its call was cancelled';

/** Runs a cell. Never rejects. */
type RunCell = (request: CellRequest) => Promise<CellAnswer>;

/** The answer to one call, when its cell has ended. Refused arguments and failures of the bridge are answers, too. */
export function answerCell(options: RunPythonOptions, call: RunPythonCall): Promise<CellAnswer> {
  return answerThrough(options, call, (request, run) => run(request));
}

/** The same, but before the client gives up. */
export function answerInTime(options: RunPythonOptions, call: RunPythonCall, long: LongCells): Promise<ShownAnswer> {
  return answerThrough(options, call, (request, run, { isBackground }) =>
    long.answer(request, isBackground ? 0 : call.patienceMs, run),
  );
}

async function answerThrough<Answer>(
  options: RunPythonOptions,
  call: RunPythonCall,
  answer: (request: CellRequest, run: RunCell, given: CellArguments) => Promise<Answer>,
): Promise<Answer | CellAnswer> {
  const { bridge, defaultTimeoutSeconds, maxTimeoutSeconds, observer, untilRoom } = options;
  let cell: Pick<CellArguments, 'servers' | 'session' | 'timeoutSeconds'> = {
    servers: [],
    session: DEFAULT_SESSION,
    timeoutSeconds: defaultTimeoutSeconds,
  };
  const fail = (thrown: unknown): CellAnswer => {
    observer?.cellFailed(thrown);
    if (!(thrown instanceof BridgeError)) {
      options.logger.error(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
    }
    return { ...cell, ...failureOf(toBridgeError(thrown)) };
  };
  const run: RunCell = async (request) => {
    try {
      const found = bridge.get();
      const made = found instanceof Promise ? await found : found;
      const ended = await made.runCell(request);
      observer?.cellEnded();
      return ended;
    } catch (thrown) {
      return fail(thrown);
    }
  };
  try {
    const given = await checkRunArguments(call.given, {
      defaultTimeoutSeconds,
      maxTimeoutSeconds,
      listServers: () => useWhenThere(bridge.get(), (made) => made.listServers()),
    });
    const { code, servers, session, timeoutSeconds } = given;
    cell = { servers, session, timeoutSeconds };
    observer?.cellBegins();
    const { isFresh, signal, onOutput, onProgress, person, wantsView } = call;
    const timeoutMs = timeoutSeconds * 1000;
    const parts = { signal, onOutput, onProgress, untilRoom, person, isFresh, wantsView };
    return await answer({ code, servers, session, timeoutMs, ...parts }, run, given);
  } catch (thrown) {
    return fail(thrown);
  }
}

export class LongCells {
  readonly #undelivered: Undelivered;
  /** Those that have not ended, oldest first. */
  readonly #cells: LongCell[] = [];

  constructor(undelivered: Undelivered) {
    this.#undelivered = undelivered;
  }

  /**
   * The answer to code, within `patienceMs` if that is given. Time in which a person is asked does not count. Code such as `# wait` gets
   * that of the oldest cell of its session.
   */
  async answer(request: CellRequest, patienceMs: number | undefined, run: RunCell): Promise<ShownAnswer> {
    const about = ABOUT_EARLIER.exec(request.code)?.[1];
    const earlier = this.#cells.find(({ session }) => session === request.session);
    if (about === undefined) {
      return this.#run(request, patienceMs, run);
    }
    if (earlier === undefined) {
      // An earlier bridge may have left something to say, which the next cell of the session does, even if it is a comment.
      const runComment: RunCell = async (comment) => withNotice(NOTHING_RUNS, await run(comment));
      return this.#undelivered.takeOldest(request.session) ?? this.#run(request, patienceMs, runComment);
    }
    if (about === 'stop') {
      earlier.interrupt(BY_CODE);
    }
    return this.#await(earlier, request, patienceMs);
  }

  #run(request: CellRequest, patienceMs: number | undefined, run: RunCell): Promise<ShownAnswer> {
    const cell = new LongCell(
      request,
      this.#cells.find(({ session }) => session === request.session),
    );
    const answer = this.#await(cell, request, patienceMs);
    // After the request waits, which has the progress from the first.
    this.#start(cell, run);
    return answer;
  }

  #start(cell: LongCell, run: RunCell): void {
    this.#cells.push(cell);
    cell.start(run);
    void cell.ended.then((answer) => {
      this.#cells.splice(this.#cells.indexOf(cell), 1);
      // If a person has cancelled code that had not begun, nothing is to be said.
      if (cell.unread !== undefined && !(cell.unread === CANCELLED && answer.cell === undefined)) {
        this.#undelivered.add(answer, cell.unread);
      }
    });
  }

  async #await(cell: LongCell, request: CellRequest, patienceMs: number | undefined): Promise<ShownAnswer> {
    const mayLeave = (): boolean => this.#cells.filter(({ isAlone }) => isAlone).length < MAX_ALONE;
    const end = await cell.next(request, patienceMs, mayLeave);
    if (typeof end !== 'string') {
      // What is kept for the session is not for an answer that no one reads.
      return cell.unread === undefined ? this.#undelivered.addTo(end) : end;
    }
    return end === 'left' ? this.#undelivered.addTo(cell.soFar()) : goneAnswer(request);
  }
}

/** Why a request waits no longer: the answer comes before its client gives up, or the client has done so. */
type WaitEnd = 'left' | 'gone';

interface Waiting {
  readonly request: CellRequest;
  readonly patience: Countdown | undefined;
  /** Whether its client does not read an answer any more. */
  readonly isCancelled: () => boolean;
  readonly done: (end: CellAnswer | WaitEnd) => void;
}

/** A cell for which one request after the other may wait. */
class LongCell {
  readonly session: string;
  readonly #end = createDeferred<CellAnswer>();
  /** What no answer has shown of it. */
  readonly ended = this.#end.promise;
  readonly #request: CellRequest;
  /** The cell of the session that ran or waited when it came. */
  #earlier: LongCell | undefined;
  readonly #interrupt = new AbortController();
  /** What no answer has shown. */
  #output = freshOutput();
  /** How many answers have said that it goes on. */
  #parts = 0;
  /** Undefined until the code runs. */
  #clock: CellClock | undefined;
  /** Why no one has read its end; undefined if a request has it. */
  unread: string | undefined;
  #waiting: Waiting | undefined;
  readonly #person: RelayedPerson | undefined;

  constructor(request: CellRequest, earlier: LongCell | undefined) {
    this.session = request.session;
    this.#request = request;
    this.#earlier = earlier;
    void earlier?.ended.then(() => {
      this.#earlier = undefined;
    });
    this.#person = request.person && new RelayedPerson(request.person);
  }

  /** Once, after the first `next`. */
  start(run: RunCell): void {
    const { onClock, onOutput, onProgress } = this.#request;
    const ended = run({
      ...this.#request,
      signal: this.#interrupt.signal,
      onProgress: onProgress && ((progress) => this.#waiting?.request.onProgress?.(progress)),
      onOutput: (stream, text, droppedBytes) => {
        this.#output[stream].add(text, droppedBytes);
        onOutput?.(stream, text, droppedBytes);
      },
      onClock: (clock) => {
        this.#clock = clock;
        onClock?.(clock);
      },
      person: this.#person,
    });
    void ended.then((answer) => {
      const waiting = this.#waiting;
      this.unread = waiting === undefined ? ANSWERED_BEFORE : waiting.isCancelled() ? CANCELLED : undefined;
      const rest = this.#rest(answer);
      waiting?.done(rest);
      // Of a cell that was cancelled, the session repeats the notices itself.
      this.#end.resolve(answer.status === 'cancelled' ? { ...rest, notices: [] } : rest);
    });
  }

  /** Whether no request waits for it. */
  get isAlone(): boolean {
    return this.#waiting === undefined;
  }

  interrupt(reason: unknown): void {
    this.#interrupt.abort(reason);
  }

  /** Waits for its end, at most for `patienceMs` if it `mayLeave` the cell alone then. A request that waits already is answered now. */
  next({ signal, ...request }: CellRequest, patienceMs: number | undefined, mayLeave: () => boolean) {
    return new Promise<CellAnswer | WaitEnd>((resolve) => {
      const onAbort = (): void => {
        if (TIMED_OUT.test(String(signal?.reason))) {
          waiting.done('gone');
        } else {
          this.interrupt(signal?.reason);
        }
      };
      const leave = (): void => {
        if (mayLeave()) {
          waiting.done('left');
        }
      };
      const waiting: Waiting = {
        request,
        isCancelled: () => signal?.aborted === true,
        patience: patienceMs === undefined ? undefined : new Countdown(patienceMs, leave),
        done: (end) => {
          waiting.patience?.stop();
          signal?.removeEventListener('abort', onAbort);
          this.#waiting = undefined;
          this.#person?.attach(undefined);
          resolve(end);
        },
      };
      this.#waiting?.done('left');
      this.#waiting = waiting;
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted === true) {
        onAbort();
      }
      this.#person?.attach({ person: request.person, hold: () => waiting.patience?.hold() });
    });
  }

  /** For a client that does not wait any longer. */
  soFar(): ShownAnswer {
    this.#parts += 1;
    const { servers, timeoutMs } = this.#request;
    const common = { servers, session: this.session, timeoutSeconds: timeoutMs / 1000 };
    return { status: 'running', ...this.#takeOutput(), ...common, notices: [this.#describe()] };
  }

  /** The answer without what others have shown of it. */
  #rest(answer: CellAnswer): CellAnswer {
    return this.#parts === 0 ? answer : { ...answer, ...this.#takeOutput() };
  }

  #takeOutput(): Pick<CellAnswer, 'stdout' | 'stderr'> {
    const { stderr, stdout } = this.#output;
    this.#output = freshOutput();
    return { stdout: stdout.take(), stderr: stderr.take() };
  }

  #describe(): string {
    const where = this.session === DEFAULT_SESSION ? '' : ` in session '${this.session}'`;
    const wait = `the code \`# wait\`${where}`;
    if (this.#clock === undefined) {
      return this.#earlier === undefined
        ? `The code has not begun, because its sandbox is still starting. To wait for it, run ${wait}.`
        : `The code has not begun, because an earlier cell of this session still runs; it begins after that. To wait for the earlier cell, run ${wait}; to end it, \`# stop\`. Other sessions are free.`;
    }
    const state = `The cell goes on, for at most ${Math.ceil(this.#clock.leftMs() / 1000)} s more.`;
    const question =
      this.#person?.hasQuestion === true ? ' It has a question for the person, who is asked while you wait.' : '';
    const advice =
      this.#parts === 1
        ? `To wait for it, run ${wait}; to end it, \`# stop\`. Other sessions are free.`
        : `Rather than wait again, work in another session or tell the person: after its end, the next answer${where} has the rest. It may end if this client exits.`;
    return `${state}${question} ${advice}`;
  }
}

function freshOutput() {
  return { stdout: createOutputBuffer(), stderr: createOutputBuffer() };
}

const NOTHING_RUNS = 'No earlier cell of this session is running.';

function withNotice(notice: string, answer: CellAnswer): CellAnswer {
  return { ...answer, notices: [notice, ...answer.notices] };
}

/** No one reads it. */
function goneAnswer(request: CellRequest): ShownAnswer {
  return { ...emptyAnswer(request), status: 'running', notices: [] };
}

function emptyAnswer({ servers, session, timeoutMs }: CellRequest) {
  return { stdout: NO_OUTPUT, stderr: NO_OUTPUT, servers, session, timeoutSeconds: timeoutMs / 1000 };
}

/** Codes with which `checkRunArguments` rejects. */
const REFUSED_ARGUMENTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['ARGUMENT_INVALID', 'SERVER_NOT_AVAILABLE']);

function failureOf(error: BridgeError) {
  const status = REFUSED_ARGUMENTS.has(error.code) ? 'validation_error' : 'error';
  return { status, stdout: NO_OUTPUT, stderr: NO_OUTPUT, error: reportError(error), notices: [] } as const;
}
