/**
 * Calls of tools that take several requests (MCP 2026-07-28: basic/patterns/mrtr). A server of that era cannot send
 * requests: it answers with its question, and the client sends the call again with the reply. Meanwhile the call waits here.
 * A token that cannot be guessed and works once identifies it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { ProtocolError, ProtocolErrorCode, type Result, type ServerContext } from '@modelcontextprotocol/server';
import type { CellProgress, Person, Question, Reply, ShownAnswer } from '../../core/base/cell.ts';
import { createDeferred } from '../../core/base/deferred.ts';
import { messageOf } from '../../core/base/errors.ts';
import type { RequestContext } from '../../core/session/lazy-bridge.ts';
import { readModes } from './client-facts.ts';
import { type ElicitationRequest, readReply, toRequest } from './client-person.ts';
import { type FrontCall, InvalidCall, type RunPythonCall } from './front-tool.ts';
import { createProgressReporter, type ProgressReporter } from './progress-notifications.ts';
import { declaresTasks, TASK_AFTER_MS, type TaskCall, type TaskState, type Tasks } from './tasks.ts';
import type { Undelivered } from './undelivered.ts';

/** 256 bits cannot be guessed. */
const TOKEN_BYTES = 32;
/** How long an answer is kept for a client that left a question open. Chosen. */
const KEPT_ANSWER_MS = 600_000;
/** Answers kept; the oldest is dropped first. The output limit bounds each. Chosen. */
const MAX_KEPT_ANSWERS = 16;
/** Progress reports kept for the next request of a call; the oldest is dropped first. Chosen. */
const MAX_KEPT_PROGRESS = 100;
const NOT_FETCHED = 'it asked the person, but its client did not return in time, and this answer was not delivered';

export interface SuspendedCallsOptions {
  /** Runs a cell and resolves with its answer. Never rejects. */
  readonly answer: (call: RunPythonCall) => Promise<ShownAnswer>;
  readonly undelivered: Undelivered;
  /** The capabilities that the client declares with each request. */
  readonly capabilitiesOf: (context: ServerContext) => unknown;
  /** See `RunPythonCall`. */
  readonly patienceOf: (context: ServerContext) => number | undefined;
  /** Undefined if calls do not become tasks. */
  readonly tasks?: Tasks | undefined;
}

/** How a call ended: its result, or why its arguments were refused. */
type Outcome = Result | ProtocolError;

/** A call as the client sent it. Each of its requests has the same. */
interface SentCall {
  readonly name: string;
  readonly given: unknown;
}

/** Reads the arguments of a call. Throws a protocol error if they are invalid. */
type ReadCall = () => FrontCall | Promise<FrontCall>;

/** A request that waits for the answer or the next question. */
interface WaitingRequest {
  readonly settle: (outcome: Outcome) => void;
  readonly progress: ProgressReporter | undefined;
}

interface OpenQuestion {
  readonly key: string;
  readonly request: ElicitationRequest;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

/** The calls of one client, on all its connections. */
export class SuspendedCalls {
  readonly #options: SuspendedCallsOptions;
  readonly #byToken = new Map<string, Call>();

  constructor(options: SuspendedCallsOptions) {
    this.#options = options;
  }

  /**
   * Serves one request: starts a call, which `read` reads, or continues the one of its token. Resolves with the answer or the
   * next question. Rejects with -32602 if the token is unknown, used or expired, or belongs to other arguments.
   */
  async serve(sent: SentCall, context: ServerContext, read: ReadCall): Promise<Result> {
    const token = context.mcpReq.requestState<string>();
    const call = token === undefined ? this.#begin(sent, await read(), context) : this.#find(token, sent);
    if (token !== undefined) {
      this.#byToken.delete(token);
      call.takeReplies(context.mcpReq.inputResponses);
    }
    const { tasks } = this.#options;
    const isTask = tasks !== undefined && declaresTasks(this.#options.capabilitiesOf(context));
    return call.next(context, isTask ? () => tasks.create(call) : undefined);
  }

  #begin(sent: SentCall, front: FrontCall, context: ServerContext): Call {
    const call = new Call(fingerprintOf(sent), (suspended) => this.#mint(suspended));
    const capabilities = this.#options.capabilitiesOf(context);
    const { form, url } = readModes(capabilities);
    // A client that wants progress asks for it in its first request.
    const wantsProgress = context.mcpReq._meta?.progressToken !== undefined;
    void this.#run(call, front, {
      signal: call.signal,
      onProgress: wantsProgress ? (progress) => call.report(progress) : undefined,
      person: form ? call.person(url) : undefined,
      // A client that has tasks gets one instead.
      patienceMs: declaresTasks(capabilities) ? undefined : this.#options.patienceOf(context),
    });
    return call;
  }

  async #run(call: Call, front: FrontCall, context: RequestContext & Pick<RunPythonCall, 'patienceMs'>): Promise<void> {
    if (front.kind === 'own') {
      const outcome = await front.answer(context).catch((error: unknown) => refusalOf(error));
      if (!call.finish(outcome instanceof ProtocolError ? outcome : { ...outcome })) {
        this.#keep(call);
      }
      return;
    }
    const answer = await this.#options.answer({ ...front.cell, ...context });
    const rendered = await front.render(answer);
    if (!call.finish({ ...rendered })) {
      this.#options.undelivered.add(answer, NOT_FETCHED);
      this.#keep(call);
    }
  }

  #find(token: string, sent: SentCall): Call {
    const call = this.#byToken.get(token);
    if (call === undefined) {
      throw refusal('it is unknown, was used before, or has expired');
    }
    if (call.fingerprint !== fingerprintOf(sent)) {
      throw refusal('it belongs to a call with other arguments');
    }
    return call;
  }

  #mint(call: Call): string {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    this.#byToken.set(token, call);
    return token;
  }

  /** Keeps an undelivered answer for a client that comes back late. That of a cell is repeated by the session's next answer. */
  #keep(call: Call): void {
    const kept = [...this.#byToken.values()].filter(({ isOver }) => isOver);
    kept.slice(0, -MAX_KEPT_ANSWERS).forEach((oldest) => this.#forget(oldest));
    setTimeout(() => this.#forget(call), KEPT_ANSWER_MS).unref();
  }

  #forget(call: Call): void {
    for (const [token, of] of this.#byToken) {
      if (of === call) {
        this.#byToken.delete(token);
      }
    }
  }
}

/** One call with all its requests. */
class Call implements TaskCall {
  readonly fingerprint: string;
  readonly #mint: (call: Call) => string;
  readonly #cancel = new AbortController();
  #waiting: WaitingRequest | undefined;
  #question: OpenQuestion | undefined;
  #questions = 0;
  #outcome: Outcome | undefined;
  #isCancelled = false;
  #isTask = false;
  readonly #ended = createDeferred<void>();
  readonly ended = this.#ended.promise;
  #changedAt = Date.now();
  #lastMessage: string | undefined;
  /** Reports from the time when no request waited. */
  #progress: CellProgress[] = [];

  constructor(fingerprint: string, mint: (call: Call) => string) {
    this.fingerprint = fingerprint;
    this.#mint = mint;
  }

  get signal(): AbortSignal {
    return this.#cancel.signal;
  }

  get isOver(): boolean {
    return this.#outcome !== undefined;
  }

  get changedAt(): number {
    return this.#changedAt;
  }

  /** Of the task. */
  state(): TaskState {
    const outcome = this.#outcome;
    if (outcome === undefined) {
      const { key, request } = this.#question ?? {};
      return key !== undefined
        ? { status: 'input_required', inputRequests: { [key]: request } }
        : { status: 'working', ...(this.#lastMessage !== undefined && { statusMessage: this.#lastMessage }) };
    }
    if (outcome instanceof ProtocolError) {
      return { status: 'failed', error: { code: outcome.code, message: outcome.message } };
    }
    return this.#isCancelled ? { status: 'cancelled' } : { status: 'completed', result: outcome };
  }

  cancel(reason: unknown): void {
    this.#isCancelled ||= !this.isOver;
    this.#cancel.abort(reason);
  }

  person(opensPages: boolean): Person {
    return { opensPages, ask: (question, signal) => this.#ask(question, signal) };
  }

  report(progress: CellProgress): void {
    this.#changed();
    this.#lastMessage = progress.message;
    if (this.#waiting === undefined) {
      this.#progress = [...this.#progress, progress].slice(-MAX_KEPT_PROGRESS);
    } else {
      this.#waiting.progress?.report(progress);
    }
  }

  /** Takes the reply to the open question; replies to earlier questions are ignored. */
  takeReplies(replies: Readonly<Record<string, unknown>> | undefined): void {
    const question = this.#question;
    const reply = question && replies?.[question.key];
    if (question === undefined || reply === undefined) {
      return;
    }
    this.#question = undefined;
    this.#changed();
    try {
      question.resolve(readReply(reply));
    } catch (error) {
      question.reject(error as Error);
    }
  }

  /**
   * Lets a request wait for the end of the call or the next question. If that takes long, it is answered with what `becomeTask` returns;
   * if that is undefined, it waits.
   */
  next(context: ServerContext, becomeTask?: () => Promise<Result | undefined>): Promise<Result> {
    const { signal } = context.mcpReq;
    const progress = createProgressReporter(context);
    return new Promise<Result>((resolve, reject) => {
      const onAbort = (): void => this.cancel(signal.reason);
      const timer =
        becomeTask && setTimeout(() => void becomeTask().then((task) => this.#settleAsTask(task)), TASK_AFTER_MS);
      const settle = (outcome: Outcome): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        progress?.stop();
        this.#waiting = undefined;
        if (outcome instanceof ProtocolError) {
          reject(outcome);
        } else {
          resolve(outcome);
        }
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting = { settle, progress };
      this.#progress.splice(0).forEach((kept) => progress?.report(kept));
      this.#settleWaiting();
    });
  }

  /** Returns whether a request waited for the outcome, or will ask for it. */
  finish(outcome: Outcome): boolean {
    this.#outcome = outcome;
    this.#changed();
    this.#ended.resolve();
    return this.#settleWaiting() || this.#isTask;
  }

  #settleAsTask(task: Result | undefined): void {
    if (task !== undefined && this.#waiting !== undefined) {
      this.#isTask = true;
      this.#waiting.settle(task);
    }
  }

  #changed(): void {
    this.#changedAt = Date.now();
  }

  #ask(question: Question, signal: AbortSignal): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      this.#questions += 1;
      const open = { key: `question_${this.#questions}`, request: toRequest(question), resolve, reject };
      const withdraw = (): void => {
        this.#question = this.#question === open ? undefined : this.#question;
        reject(new Error('the question was withdrawn'));
      };
      signal.addEventListener('abort', withdraw, { once: true });
      this.#question = open;
      this.#changed();
      this.#settleWaiting();
    });
  }

  #settleWaiting(): boolean {
    const waiting = this.#waiting;
    if (waiting === undefined) {
      return false;
    }
    if (this.#outcome !== undefined) {
      waiting.settle(this.#outcome);
    } else if (this.#question !== undefined) {
      const { key, request } = this.#question;
      waiting.settle({
        resultType: 'input_required',
        inputRequests: { [key]: request },
        requestState: this.#mint(this),
      });
    }
    return this.#waiting === undefined;
  }
}

/** A hash: arguments may have megabytes, and many calls wait. */
function fingerprintOf({ name, given }: SentCall): string {
  return createHash('sha256')
    .update(JSON.stringify([name, given]))
    .digest('base64');
}

function refusalOf(error: unknown): ProtocolError {
  const code = error instanceof InvalidCall ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  return error instanceof ProtocolError ? error : new ProtocolError(code, messageOf(error));
}

function refusal(why: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `The requestState cannot be used: ${why}.`);
}
