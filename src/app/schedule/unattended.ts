/**
 * The calls of a run without a person. What its rights cover is made. For anything else, a question is put where it lasts, and the run
 * ends once no call is under way; it goes on when the question is answered. A call that changes something is noted on disk before it is
 * sent, so that a run that was interrupted never sends it a second time.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { join } from 'node:path';
import type { CancelSignal } from '../../core/base/cancel.ts';
import type { Person, Question } from '../../core/base/cell.ts';
import { BridgeError, type ErrorCode, messageOf, toBridgeError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/units.ts';
import type { WaitingAnswer } from '../../core/base/waiting-question.ts';
import { type Approvals, type CallGate, failed, isReadOnly, isSent, type ToolCall } from '../../core/calls/contract.ts';
import { oneLine } from '../../core/catalog/visible.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import { openRegularFile, readBounded } from '../../core/state/state-files.ts';
import type { AnsweredCall, RunParts, RunQuestions, UnattendedCalls } from '../../edges/terminal/command.ts';
import { type MadeCall, type Rights, whyBeyond } from './rights.ts';

/** Questions of calls that code makes together are asked together. Chosen. */
const COLLECT_MS = 200;
const SENT_FILE = 'sent.jsonl';
const MAX_SENT_BYTES = 64 * 1024 * 1024;
const MAX_SHOWN_CHARS = 8_000;

/** In the data of errors of calls that were not even noted. */
const UNSENT = 'unsent';

export const ONCE = 'Allow once';
export const ALWAYS = 'Always allow in this schedule';
export const NO = 'Do not allow';

/** Errors of calls that were noted, but not sent: they are made when the run goes on. */
const NOT_SENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'AUDIT_UNAVAILABLE',
  'LOGIN_FAILED',
  'LOGIN_REQUIRED',
  'SECRET_UNAVAILABLE',
  'SERVER_START_FAILED',
]);
/** Errors after which it is not known whether the call was made. */
const UNKNOWN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CALL_CANCELLED',
  'CALL_TIMEOUT',
  'SERVER_EXITED',
  'SERVER_PROTOCOL',
  'SERVER_UNREACHABLE',
]);

export interface RunInHand {
  readonly schedule: string;
  readonly id: string;
  /** When it was due, for people. */
  readonly dueText: string;
  /** Absolute path. */
  readonly folder: string;
  readonly rights: Rights;
  /** Calls that it may make. */
  readonly mostCalls: number | undefined;
  readonly questions: RunQuestions;
  /** Ends the cell, because a question waits. */
  readonly stop: () => void;
  /** Told of each call that is always allowed from now on. */
  readonly onAlways: (call: MadeCall, isReading: boolean) => void;
}

export class Unattended {
  /** Calls that were sent, of which it is not known whether they were made. */
  readonly unknown: string[] = [];
  calls = 0;
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
    const sent = await SentCalls.open(join(this.#run.folder, SENT_FILE), calls, mask);
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
    };
  };

  #watchSent(sent: SentCalls): CallGate {
    return async (call, next) => {
      if (!isSent(call) || isReadOnly(call.tool) || call.tool.annotations?.['idempotentHint'] === true) {
        return next(call);
      }
      const name = oneLine(`${call.server.name}.${call.tool.name}`, MAX_SHOWN_CHARS);
      const before = sent.outcomeBefore(call);
      if (before === 'unknown') {
        this.unknown.push(name);
        return failed(outcomeUnknown(name));
      }
      if (before !== undefined) {
        return failed(before);
      }
      await sent.note(call);
      const outcome = await next(call);
      if (!outcome.ok && UNKNOWN.has(toBridgeError(outcome.error).code)) {
        this.unknown.push(name);
      }
      return outcome;
    };
  }

  /** Resolves if the call may be made; rejects if not. */
  async #admit(call: ToolCall, mask: RunParts['mask']): Promise<void> {
    const { context, server, tool } = call;
    const made = { server: server.name, tool: tool.name, arguments: mask(call.arguments) };
    this.calls += 1;
    const { mostCalls, rights } = this.#run;
    if (mostCalls !== undefined && this.calls > mostCalls) {
      throw notCalled(made, 'LIMIT_CALLS', `this run may make at most ${counted(mostCalls, 'call')}`);
    }
    const count = this.#count(JSON.stringify([made.server, made.tool]));
    const why = whyBeyond(rights, made, count);
    if (why === undefined) {
      return this.#isStopping ? never(context.signal, made) : undefined;
    }
    const about = stringifyExact([made.server, made.tool, made.arguments]);
    const answer = await this.#answerTo(about, context.signal, () => this.#questionAbout(made, why));
    const choice = answer.reply.action === 'accept' ? answer.reply.content?.['answer'] : undefined;
    if (choice === ALWAYS) {
      this.#run.onAlways(made, isReadOnly(tool));
    } else if (choice !== ONCE) {
      throw notCalled(made, 'APPROVAL_DENIED', 'the user was asked and said no');
    }
  }

  /** Never resolves without an answer: the run ends, and goes on when there is one. */
  async #answerTo(about: string, signal: CancelSignal | AbortSignal, question: () => Question): Promise<WaitingAnswer> {
    const { id: run, questions, schedule } = this.#run;
    const key = createHash('sha256')
      .update(about)
      .update(`\n${this.#count(about)}`)
      .digest('hex');
    const answer = await questions.answerTo({ schedule, run, key });
    if (answer !== undefined) {
      return answer;
    }
    await questions.ask({ schedule, run, key, question: question() });
    if (!this.#isStopping) {
      this.#isStopping = true;
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
        `    ${oneLine(JSON.stringify(name), 100)}: ${oneLine(stringifyExact(value), MAX_SHOWN_CHARS)}`,
    );
    const message = [
      `The run of ${dueText} of the schedule '${schedule}' wants to call a tool beyond its rights, and waits for your answer.`,
      `Server: ${oneLine(call.server, 100)}\nTool: ${oneLine(JSON.stringify(call.tool), 200)}\nWhy: ${why}`,
      lines.length === 0 ? 'Arguments: none' : `Arguments:\n\n${lines.join('\n')}`,
    ].join('\n\n');
    const answer = { type: 'string', enum: [ONCE, ALWAYS, NO], title: 'Your answer' };
    const requestedSchema = { type: 'object', properties: { answer }, required: ['answer'] };
    return { mode: 'form', message, requestedSchema, calls: [{ server: call.server, tool: call.tool, reason: why }] };
  }
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
  return new BridgeError(code, `${server}.${tool} was not called: ${why}`, { data: { server, tool, [UNSENT]: true } });
}

function outcomeUnknown(name: string): BridgeError {
  return new BridgeError(
    'OUTCOME_UNKNOWN',
    `${name} was sent before this run was interrupted, and whether it was made is not known, so it is not sent again`,
    { hint: 'Check at the server what it has done.' },
  );
}

/** What an interrupted run had sent, by server, tool and arguments, and what is known of the outcome. */
class SentCalls {
  readonly #path: string;
  readonly #mask: RunParts['mask'];
  readonly #sent = new Map<string, number>();
  readonly #usable = new Map<string, number>();
  readonly #failed = new Map<string, BridgeError[]>();
  /** Whether the last line was not finished. */
  #isTorn = false;

  private constructor(path: string, mask: RunParts['mask']) {
    this.#path = path;
    this.#mask = mask;
  }

  static async open(path: string, calls: readonly AnsweredCall[], mask: RunParts['mask']): Promise<SentCalls> {
    const sent = new SentCalls(path, mask);
    const data = await readBounded(path, MAX_SENT_BYTES).catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
        return Buffer.alloc(0);
      }
      throw error;
    });
    // A line that was not finished was not sent.
    const keys = data.toString('latin1').split('\n');
    sent.#isTorn = keys.pop() !== '';
    keys.forEach((key) => add(sent.#sent, key));
    for (const call of calls.filter(({ error }) => error?.data[UNSENT] !== true)) {
      const key = keyOf(call.server, call.tool, call.arguments);
      if (call.error === undefined) {
        add(sent.#usable, key, call.isUsable ? 1 : 0);
      } else if (NOT_SENT.has(call.error.code)) {
        add(sent.#sent, key, -1);
      } else {
        sent.#failed.set(key, [...(sent.#failed.get(key) ?? []), call.error]);
      }
    }
    return sent;
  }

  /**
   * Of a call for which no recorded answer is left: the error that it had, or `unknown` if it was sent before; undefined if it was
   * not sent.
   */
  outcomeBefore({ arguments: given, server, tool }: ToolCall): BridgeError | 'unknown' | undefined {
    const masked = this.#mask(given);
    const key = keyOf(server.name, tool.name, masked);
    // Answers to arguments with secrets are not used again.
    const usable = stringifyExact(masked) === stringifyExact(given) ? (this.#usable.get(key) ?? 0) : 0;
    const left = (this.#sent.get(key) ?? 0) - usable;
    if (left <= 0) {
      return undefined;
    }
    add(this.#sent, key, -1);
    const error = this.#failed.get(key)?.shift();
    return error === undefined || UNKNOWN.has(error.code) ? 'unknown' : error;
  }

  /** Resolves when it is on disk. Rejects with `STATE_WRITE_FAILED`. */
  async note({ arguments: given, server, tool }: ToolCall): Promise<void> {
    const key = keyOf(server.name, tool.name, this.#mask(given));
    try {
      const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;
      const file = await openRegularFile(this.#path, flags);
      try {
        await file.writeFile(`${this.#isTorn ? '\n' : ''}${key}\n`);
        await file.datasync();
        this.#isTorn = false;
      } finally {
        await file.close();
      }
    } catch (error) {
      throw new BridgeError('STATE_WRITE_FAILED', `${server.name}.${tool.name} was not called: ${messageOf(error)}`, {
        hint: 'A run without a person sends nothing that it cannot note before.',
      });
    }
  }
}

function add(counts: Map<string, number>, key: string, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

function keyOf(server: string, tool: string, given: Readonly<Record<string, unknown>>): string {
  return createHash('sha256')
    .update(stringifyExact([server, tool, given]))
    .digest('hex');
}
