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
const ABOUT_EARLIER = /^\s*#[ \t]*(wait|stop)\s*$/;
/** In the reason with which the official SDKs cancel a request that has reached its time limit. */
const TIMED_OUT = /timed out|-32001/i;
const NOT_AWAITED = 'its client did not wait for this answer';

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
  /** Cells that no request waits for, oldest first. */
  readonly #alone: LongCell[] = [];

  constructor(undelivered: Undelivered) {
    this.#undelivered = undelivered;
  }

  /**
   * The answer to code, within `patienceMs` if that is given. Time in which a person is asked does not count. Code such as `# wait` gets
   * that of an earlier cell.
   */
  async answer(request: CellRequest, patienceMs: number | undefined, run: RunCell): Promise<ShownAnswer> {
    const about = ABOUT_EARLIER.exec(request.code)?.[1];
    if (about === undefined) {
      return this.#await(new LongCell(request, run), request, patienceMs);
    }
    const cell = this.#alone.find(({ session }) => session === request.session);
    if (cell === undefined) {
      return this.#undelivered.takeOldest(request.session) ?? nothingToWaitFor(request);
    }
    this.#forget(cell);
    if (about === 'stop') {
      cell.interrupt(BY_CODE);
    }
    return this.#await(cell, request, patienceMs);
  }

  async #await(cell: LongCell, request: CellRequest, patienceMs: number | undefined): Promise<ShownAnswer> {
    const end = await cell.next(request, patienceMs, () => this.#alone.length < MAX_ALONE);
    if (typeof end !== 'string') {
      return this.#undelivered.addTo(end);
    }
    this.#alone.push(cell);
    void cell.ended.then((answer) => {
      if (this.#forget(cell)) {
        this.#undelivered.add(cell.rest(answer), NOT_AWAITED);
      }
    });
    return end === 'left' ? this.#undelivered.addTo(cell.soFar()) : goneAnswer(request);
  }

  /** Returns whether no request waited for it. */
  #forget(cell: LongCell): boolean {
    const at = this.#alone.indexOf(cell);
    if (at !== -1) {
      this.#alone.splice(at, 1);
    }
    return at !== -1;
  }
}

/** Why a request waits no longer: the answer comes before its client gives up, or the client has done so. */
type WaitEnd = 'left' | 'gone';

interface Waiting {
  readonly request: CellRequest;
  readonly patience: Countdown | undefined;
  readonly done: (end: CellAnswer | WaitEnd) => void;
}

/** A cell for which one request after the other may wait. */
class LongCell {
  readonly session: string;
  readonly ended: Promise<CellAnswer>;
  readonly #request: CellRequest;
  readonly #interrupt = new AbortController();
  /** What no answer has shown. */
  #output = freshOutput();
  /** How many answers have said that it goes on. */
  #parts = 0;
  /** Undefined until the code runs. */
  #clock: CellClock | undefined;
  #end: CellAnswer | undefined;
  #waiting: Waiting | undefined;
  readonly #person: RelayedPerson | undefined;

  constructor(request: CellRequest, run: RunCell) {
    const { onClock, onOutput, onProgress, person, session } = request;
    this.session = session;
    this.#request = request;
    this.#person = person && new RelayedPerson(person);
    this.ended = run({
      ...request,
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
    void this.ended.then((answer) => {
      this.#end = answer;
      this.#waiting?.done(this.rest(answer));
    });
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
      if (this.#end !== undefined) {
        waiting.done(this.rest(this.#end));
      }
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
  rest(answer: CellAnswer): CellAnswer {
    return this.#parts === 0 ? answer : { ...answer, ...this.#takeOutput() };
  }

  #takeOutput(): Pick<CellAnswer, 'stdout' | 'stderr'> {
    const { stderr, stdout } = this.#output;
    this.#output = freshOutput();
    return { stdout: stdout.take(), stderr: stderr.take() };
  }

  #describe(): string {
    const where = this.session === DEFAULT_SESSION ? '' : ` in session '${this.session}'`;
    const state =
      this.#clock === undefined
        ? 'The code has not begun: an earlier cell of its session runs, or the sandbox starts.'
        : `The cell goes on, for at most ${Math.ceil(this.#clock.leftMs() / 1000)} s more.`;
    const question =
      this.#person?.hasQuestion === true ? ' It has a question for the person, who is asked while you wait.' : '';
    const advice =
      this.#parts === 1
        ? `To wait for it, run the code \`# wait\`${where}; to end it, \`# stop\`.`
        : `Do not wait for it again now; do other work, or tell the person. Once it has ended, the next answer${where} has the rest. \`# wait\` and \`# stop\` still work.`;
    return `${state}${question} ${advice}`;
  }
}

function freshOutput() {
  return { stdout: createOutputBuffer(), stderr: createOutputBuffer() };
}

function nothingToWaitFor(request: CellRequest): CellAnswer {
  const notice = 'No cell of this session goes on without a client that waits for it, and no answer is kept.';
  return { ...emptyAnswer(request), status: 'success', notices: [notice] };
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
