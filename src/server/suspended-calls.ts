/**
 * Calls of `run_python` that take several requests (MCP 2026-07-28: basic/patterns/mrtr). A server of that era cannot ask
 * its client: it answers the request with its question, and the client sends the request again with the reply. Meanwhile
 * the cell waits here, found again by a token that nobody can guess and that is good for one request.
 */
import { randomBytes } from 'node:crypto';
import { ProtocolError, ProtocolErrorCode, type Result, type ServerContext } from '@modelcontextprotocol/server';
import type { CellAnswer, CellProgress, Person, Question, Reply } from '../base/cell.ts';
import type { RenderedAnswer } from '../render/render.ts';
import { cutEnd } from '../render/truncate.ts';
import { type ElicitationRequest, readModes, readReply, toRequest } from './client-person.ts';
import { createProgressReporter, type ProgressReporter } from './progress-notifications.ts';
import type { RunPythonCall } from './run-python.ts';

/** Of the token; nobody guesses 256 bits. */
const TOKEN_BYTES = 32;
/** How long an answer waits for a client that went away with a question. Chosen. */
const KEPT_ANSWER_MS = 600_000;
/** Answers that wait so; the oldest goes first. Each is bounded by what one answer may show. Chosen. */
const MAX_KEPT_ANSWERS = 16;
/** Progress that waits for the next request of a call; the oldest goes first. Chosen. */
const MAX_KEPT_PROGRESS = 100;
/** What the next answer of the session tells of one that nobody took. Chosen. */
const MAX_TOLD_CHARS = 2_000;

export interface SuspendedCallsOptions {
  /** Runs a cell to its answer; rejects never. */
  readonly answer: (call: RunPythonCall) => Promise<CellAnswer>;
  readonly render: (answer: CellAnswer) => Promise<RenderedAnswer>;
  /** For the capabilities a client declares with each request. */
  readonly capabilitiesOf: (context: ServerContext) => unknown;
}

/** A request that waits for the answer, or for the next question. */
interface Leg {
  readonly settle: (result: Result) => void;
  readonly progress: ProgressReporter | undefined;
}

interface OpenQuestion {
  readonly key: string;
  readonly request: ElicitationRequest;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

/** The calls of one client, over all its connections. */
export class SuspendedCalls {
  readonly #options: SuspendedCallsOptions;
  readonly #byToken = new Map<string, Call>();
  /** What the next answer of each session has to tell. */
  readonly #untold = new Map<string, string[]>();

  constructor(options: SuspendedCallsOptions) {
    this.#options = options;
  }

  /**
   * Serves one request: begins a call, or goes on with the one that its token names. Gives the answer, or the next
   * question. Rejects with -32602 for a token that is unknown, used or too old, or that belongs to other arguments.
   */
  async serve(given: unknown, context: ServerContext): Promise<Result> {
    const token = context.mcpReq.requestState<string>();
    const call = token === undefined ? this.#begin(given, context) : this.#find(token, given);
    if (token !== undefined) {
      this.#byToken.delete(token);
      call.takeReplies(context.mcpReq.inputResponses);
    }
    return call.next(context);
  }

  #begin(given: unknown, context: ServerContext): Call {
    const call = new Call(JSON.stringify(given), (suspended) => this.#mint(suspended));
    const { form, url } = readModes(this.#options.capabilitiesOf(context));
    // A client that wants progress asks for it from its first request on.
    const wantsProgress = context.mcpReq._meta?.progressToken !== undefined;
    void this.#run(call, {
      given,
      signal: call.signal,
      onProgress: wantsProgress ? (progress) => call.report(progress) : undefined,
      person: form ? call.person(url) : undefined,
    });
    return call;
  }

  async #run(call: Call, request: RunPythonCall): Promise<void> {
    const answer = await this.#options.answer(request);
    const notices = [...this.#takeUntold(answer.session), ...answer.notices];
    const rendered = await this.#options.render({ ...answer, notices });
    if (!call.finish({ ...rendered })) {
      this.#keep(call, answer, rendered);
    }
  }

  #find(token: string, given: unknown): Call {
    const call = this.#byToken.get(token);
    if (call === undefined) {
      throw refusal('it is unknown, was used before, or has expired');
    }
    if (call.fingerprint !== JSON.stringify(given)) {
      throw refusal('it belongs to a call with other arguments');
    }
    return call;
  }

  #mint(call: Call): string {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    this.#byToken.set(token, call);
    return token;
  }

  /** Nobody waits for this answer: it stays for a client that comes back late, and the session's next answer tells of it. */
  #keep(call: Call, answer: CellAnswer, rendered: RenderedAnswer): void {
    const untold = this.#untold.get(answer.session) ?? [];
    this.#untold.set(answer.session, [...untold, describeUntaken(answer, rendered)].slice(-MAX_KEPT_ANSWERS));
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

  #takeUntold(session: string): string[] {
    const untold = this.#untold.get(session) ?? [];
    this.#untold.delete(session);
    return untold;
  }
}

/** One call, over all the requests it takes. */
class Call {
  readonly fingerprint: string;
  readonly #mint: (call: Call) => string;
  readonly #cancel = new AbortController();
  #leg: Leg | undefined;
  #question: OpenQuestion | undefined;
  #questions = 0;
  #result: Result | undefined;
  /** Reported while no request waited. */
  #progress: CellProgress[] = [];

  constructor(fingerprint: string, mint: (call: Call) => string) {
    this.fingerprint = fingerprint;
    this.#mint = mint;
  }

  get signal(): AbortSignal {
    return this.#cancel.signal;
  }

  get isOver(): boolean {
    return this.#result !== undefined;
  }

  cancel(): void {
    this.#cancel.abort();
  }

  person(opensPages: boolean): Person {
    return { opensPages, ask: (question, signal) => this.#ask(question, signal) };
  }

  report(progress: CellProgress): void {
    if (this.#leg === undefined) {
      this.#progress = [...this.#progress, progress].slice(-MAX_KEPT_PROGRESS);
    } else {
      this.#leg.progress?.report(progress);
    }
  }

  /** The replies to the question that is open; others come too late and are passed over. */
  takeReplies(replies: Readonly<Record<string, unknown>> | undefined): void {
    const question = this.#question;
    const reply = question && replies?.[question.key];
    if (question === undefined || reply === undefined) {
      return;
    }
    this.#question = undefined;
    try {
      question.resolve(readReply(reply));
    } catch (error) {
      question.reject(error as Error);
    }
  }

  /** What the request that now waits is answered with: the end of the call, or a question. */
  next(context: ServerContext): Promise<Result> {
    const { signal } = context.mcpReq;
    const progress = createProgressReporter(context);
    return new Promise<Result>((resolve) => {
      const onAbort = (): void => this.cancel();
      const settle = (result: Result): void => {
        signal.removeEventListener('abort', onAbort);
        progress?.stop();
        this.#leg = undefined;
        resolve(result);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#leg = { settle, progress };
      this.#progress.splice(0).forEach((kept) => progress?.report(kept));
      this.#settleLeg();
    });
  }

  /** Whether a request waited for it. */
  finish(result: Result): boolean {
    this.#result = result;
    return this.#settleLeg();
  }

  #ask(question: Question, signal: AbortSignal): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      this.#questions += 1;
      const open = { key: `question_${this.#questions}`, request: toRequest(question), resolve, reject };
      const takeBack = (): void => {
        this.#question = this.#question === open ? undefined : this.#question;
        reject(new Error('the question was taken back'));
      };
      signal.addEventListener('abort', takeBack, { once: true });
      this.#question = open;
      this.#settleLeg();
    });
  }

  #settleLeg(): boolean {
    const leg = this.#leg;
    if (leg === undefined) {
      return false;
    }
    if (this.#result !== undefined) {
      leg.settle(this.#result);
    } else if (this.#question !== undefined) {
      const { key, request } = this.#question;
      leg.settle({ resultType: 'input_required', inputRequests: { [key]: request }, requestState: this.#mint(this) });
    }
    return this.#leg === undefined;
  }
}

function refusal(why: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `The requestState cannot be used: ${why}.`);
}

function describeUntaken({ cell, status }: CellAnswer, { content }: RenderedAnswer): string {
  const which = cell === undefined ? 'An earlier call' : `Cell ${cell}`;
  const text = cutEnd(content[0].text, MAX_TOLD_CHARS);
  return `${which} asked the person, and its client did not come back in time; it ended with status ${status}, and nobody took its answer:\n${text}`;
}
