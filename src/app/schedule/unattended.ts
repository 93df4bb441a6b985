/**
 * The calls of a run without a person. What its rights cover is made. For anything else, a question is put where it lasts, and the run
 * ends once no call is under way; it goes on when the question is answered. A call that changes something is noted on disk before it is
 * sent, so that a run that was interrupted never sends it a second time.
 */
import { createHash } from 'node:crypto';
import type { CancelSignal } from '../../core/base/cancel.ts';
import type { Person, Question } from '../../core/base/cell.ts';
import { BridgeError, type ErrorCode, toBridgeError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/units.ts';
import type { WaitingAnswer } from '../../core/base/waiting-question.ts';
import { type Approvals, type CallGate, failed, isReadOnly, isSent, type ToolCall } from '../../core/calls/contract.ts';
import { oneLine } from '../../core/catalog/visible.ts';
import { canonicalJson, stringifyExact } from '../../core/protocol/exact-json.ts';
import type { AnsweredCall, RunParts, RunQuestions, UnattendedCalls } from '../../edges/terminal/command.ts';
import { type MadeCall, type Rights, whyBeyond } from './rights.ts';
import { markSent, SentCalls } from './sent-calls.ts';

/** Questions of calls that code makes together are asked together. Chosen. */
const COLLECT_MS = 200;
/** What people read before they answer. A call with more is not asked about. */
const MAX_QUESTION_CHARS = 10_000;
/** Chosen: nobody answers more about one run. */
const MAX_QUESTIONS = 20;
const TOO_MANY = `a run may ask at most ${MAX_QUESTIONS} questions`;

export const ONCE = 'Allow once';
export const ALWAYS = 'Always allow in this schedule';
export const NO = 'Do not allow';

export interface RunInHand {
  readonly schedule: string;
  readonly id: string;
  /** When it was due, for people. */
  readonly dueText: string;
  /** Absolute path. */
  readonly folder: string;
  readonly rights: Rights;
  /** Calls that it may make, and what says so. */
  readonly mostCalls: { readonly count: number; readonly by: string } | undefined;
  readonly questions: RunQuestions;
  /** Ends the cell, because a question waits. */
  readonly stop: () => void;
  /** Called for each call that the person always allows from now on. */
  readonly onAlways: (call: MadeCall, facts: { readonly count: number; readonly isReading: boolean }) => void;
}

export class Unattended {
  calls = 0;
  /** Why a question could not be asked; the run fails then, whatever its code does. */
  problem: string | undefined;
  #questions = 0;
  readonly #run: RunInHand;
  readonly #counts = new Map<string, number>();
  #underWay = 0;
  #isStopping = false;

  constructor(run: RunInHand) {
    this.#run = run;
  }

  /** Whether a question waits, so that the run has to go on later. */
  get isWaiting(): boolean {
    return this.#isStopping;
  }

  /** For questions other than those about calls. */
  readonly person: Person = {
    opensPages: false,
    ask: async (question, signal) => {
      const answer = await this.#answerTo(stringifyExact(question), signal, () => question);
      return answer.reply;
    },
  };

  /** For `BridgeOptions.unattended`. */
  readonly open = async ({ calls, mask }: RunParts): Promise<UnattendedCalls> => {
    const sent = await SentCalls.open(this.#run.folder, calls, mask);
    return {
      // The rights decide about every call, after the policies.
      approvals: { approve: async () => 'schedule' } satisfies Approvals,
      rights: async (call, next) => {
        await this.#admit(call, mask);
        this.#underWay += 1;
        try {
          return await next(call);
        } finally {
          this.#underWay -= 1;
          this.#stopWhenIdle();
        }
      },
      sent: this.#watchSent(sent),
      skip: (call) => {
        sent.skip(call);
        this.#countSkipped(call);
      },
    };
  };

  /** What the person has allowed for it is used up. */
  #countSkipped(call: AnsweredCall): void {
    this.calls += 1;
    const count = this.#count(JSON.stringify([call.server, call.tool]));
    if (whyBeyond(this.#run.rights, call, count) !== undefined) {
      this.#count(aboutOf(call));
    }
  }

  #watchSent(sent: SentCalls): CallGate {
    return async (call, next) => {
      if (!isSent(call) || isReadOnly(call.tool) || call.tool.annotations?.['idempotentHint'] === true) {
        return next(call);
      }
      const before = sent.errorBefore(call);
      if (before !== undefined) {
        return failed(before);
      }
      await sent.note(call);
      const outcome = await next(call);
      return outcome.ok ? outcome : { ...outcome, error: markSent(outcome.error) };
    };
  }

  /** Resolves if the call may be made; rejects if not. */
  async #admit(call: ToolCall, mask: RunParts['mask']): Promise<void> {
    const { context, server, tool } = call;
    const made = { server: server.name, tool: tool.name, arguments: mask(call.arguments) };
    const { mostCalls, rights } = this.#run;
    if (mostCalls !== undefined && this.calls >= mostCalls.count) {
      throw notCalled(
        made,
        'LIMIT_CALLS',
        `this run may make at most ${counted(mostCalls.count, 'call')}, by ${mostCalls.by}`,
      );
    }
    this.calls += 1;
    const count = this.#count(JSON.stringify([made.server, made.tool]));
    const why = whyBeyond(rights, made, count);
    if (why === undefined) {
      return this.#isStopping ? never(context.signal, made) : undefined;
    }
    const answer = await this.#answerTo(aboutOf(made), context.signal, () => this.#questionAbout(made, why));
    const choice = answer.reply.action === 'accept' ? answer.reply.content?.['answer'] : undefined;
    if (choice === ALWAYS) {
      this.#run.onAlways(made, { count, isReading: isReadOnly(tool) });
    } else if (choice !== ONCE) {
      throw notCalled(made, 'APPROVAL_DENIED', 'the user was asked and said no');
    }
  }

  /** Never resolves without an answer: the run ends, and goes on when there is one. */
  async #answerTo(about: string, signal: CancelSignal | AbortSignal, question: () => Question): Promise<WaitingAnswer> {
    if (this.#questions >= MAX_QUESTIONS) {
      this.problem ??= TOO_MANY;
      throw new BridgeError('APPROVAL_UNAVAILABLE', TOO_MANY);
    }
    const { id: run, questions, schedule } = this.#run;
    const key = createHash('sha256')
      .update(about)
      .update(`\n${this.#count(about)}`)
      .digest('hex');
    const answer = await questions.answerTo({ schedule, run, key });
    if (answer !== undefined) {
      return answer;
    }
    // Not after the question is written: code that ends meanwhile has not done what it asked for.
    this.#isStopping = true;
    this.#questions += 1;
    try {
      await questions.ask({ schedule, run, key, question: question() });
    } catch (error) {
      this.problem ??= `It could not ask: ${toBridgeError(error).message}.`;
      throw error;
    } finally {
      setTimeout(() => this.#stopWhenIdle(), COLLECT_MS);
    }
    return never(signal);
  }

  #stopWhenIdle(): void {
    if (this.#isStopping && this.#underWay === 0) {
      this.#run.stop();
    }
  }

  #count(what: string): number {
    const count = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, count);
    return count;
  }

  #questionAbout(call: MadeCall, why: string): Question {
    const { dueText, schedule } = this.#run;
    const lines = Object.entries(call.arguments).map(
      ([name, value]) =>
        `    ${oneLine(JSON.stringify(name), Number.POSITIVE_INFINITY)}: ${oneLine(stringifyExact(value), Number.POSITIVE_INFINITY)}`,
    );
    const message = [
      `The run of ${dueText} of the schedule '${schedule}' wants to call a tool beyond its rights, and waits for your answer.`,
      `Server: ${oneLine(call.server, 100)}\nTool: ${oneLine(JSON.stringify(call.tool), 200)}\nWhy: ${why}`,
      lines.length === 0 ? 'Arguments: none' : `Arguments:\n\n${lines.join('\n')}`,
      `'${ALWAYS}' adds these values to what its runs may do, and nothing else.`,
    ].join('\n\n');
    if (message.length > MAX_QUESTION_CHARS) {
      const [size, limit] = [message.length, MAX_QUESTION_CHARS].map((count) => count.toLocaleString('en-US'));
      const clause = `${why}, and a question with its arguments would have ${size} characters; the limit is ${limit}`;
      throw notCalled(call, 'APPROVAL_UNAVAILABLE', clause);
    }
    const answer = { type: 'string', enum: [ONCE, ALWAYS, NO], title: 'Your answer' };
    const requestedSchema = { type: 'object', properties: { answer }, required: ['answer'] };
    return { mode: 'form', message, requestedSchema, calls: [{ server: call.server, tool: call.tool, reason: why }] };
  }
}

function aboutOf({ arguments: given, server, tool }: MadeCall): string {
  return canonicalJson([server, tool, given]);
}

/** Rejects when the cell ends. */
function never(signal: CancelSignal | AbortSignal, call?: MadeCall): Promise<never> {
  return new Promise((_resolve, reject) => {
    const end = (): void =>
      reject(
        call === undefined
          ? new BridgeError('CALL_CANCELLED', 'the run waits for an answer')
          : notCalled(call, 'CALL_CANCELLED', 'the run waits for an answer'),
      );
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) {
      end();
    }
  });
}

function notCalled({ server, tool }: MadeCall, code: ErrorCode, why: string): BridgeError {
  return new BridgeError(code, `${server}.${tool} was not called: ${why}`, { data: { server, tool } });
}
