/**
 * Asks the person about calls. Calls that a cell makes together share one question; calls that arrive while it is open go
 * into the next. An approval covers a server and a tool with any arguments: for the cell, or until the session's sandbox
 * ends. A refusal covers exactly that call, for the rest of the cell.
 */
import { createHash } from 'node:crypto';
import { type CancelSignal, CancelSource } from '../../core/base/cancel.ts';
import type { Reply } from '../../core/base/cell.ts';
import { type BridgeError, toBridgeError } from '../../core/base/errors.ts';
import type { Approval, Approvals, CallToApprove } from '../../core/calls/contract.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import type { Asker } from '../../core/session/asker.ts';
import type { CallContext } from '../../core/session/dispatch.ts';
import { type ApprovalChoice, approvalForm, MAX_FORM_CHARS, readChoices, type ShownCall } from './approval-form.ts';
import { CellLines } from './call-line.ts';
import { cancelled, denied, failedQuestion, tooLong, unavailable } from './refusals.ts';

/** The calls of one `gather` arrive within milliseconds, and people do not notice this delay. Chosen. */
const COLLECT_MS = 50;
/** Different calls in one form; further ones go into the next. Chosen. */
const MAX_CALLS_PER_FORM = 10;

export interface CellApprovalsOptions {
  /** Masks the secrets of all servers. */
  readonly mask: (message: Record<string, unknown>) => Record<string, unknown>;
  /** Where the user can always allow a call. */
  readonly policyFile: string;
}

/** `Approvals` for the calls that code makes. */
export function createCellApprovals(options: CellApprovalsOptions): Approvals {
  const bySandbox = new WeakMap<object, Set<string>>();
  const byCell = new WeakMap<Asker, CellApprovals>();

  return {
    async approve(call, context) {
      const { asker, sandbox = {} } = context;
      const grants = getOrMake(bySandbox, sandbox, () => new Set<string>());
      if (grants.has(toolKey(call))) {
        return 'session';
      }
      if (asker === undefined) {
        throw unavailable(call, context.job, options.policyFile);
      }
      const ofCell = getOrMake(byCell, asker, () => new CellApprovals(asker, context.session, grants, options));
      return ofCell.approve(call, context);
    },
  };
}

/** Identical calls. */
interface Entry {
  readonly key: string;
  readonly call: CallToApprove;
  /** Length of a form with this call alone. */
  readonly chars: number;
  /** One callback per call, which takes the approval, or the reason why the call is not made. */
  readonly waiting: Set<(end: Approval | BridgeError) => void>;
  /** Called when the last of them stops waiting. */
  onEmpty?: () => void;
}

class CellApprovals {
  readonly #asker: Asker;
  readonly #lines: CellLines;
  readonly #session: string;
  readonly #options: CellApprovalsOptions;
  readonly #grantsOfSession: Set<string>;
  readonly #grants = new Set<string>();
  readonly #refused = new Map<string, BridgeError>();
  /** Not asked about yet. */
  readonly #collected = new Map<string, Entry>();
  #isAsking = false;

  constructor(asker: Asker, session: string, grants: Set<string>, options: CellApprovalsOptions) {
    this.#asker = asker;
    this.#lines = new CellLines(asker.code);
    this.#session = session;
    this.#grantsOfSession = grants;
    this.#options = options;
  }

  approve(call: CallToApprove, { signal }: CallContext): Promise<Approval> {
    if (signal.aborted) {
      return Promise.reject(cancelled(call));
    }
    const key = callKey(call);
    const known = this.#knownAnswer(key, call);
    if (known !== undefined) {
      return typeof known === 'string' ? Promise.resolve(known) : Promise.reject(known);
    }
    const chars = this.#charsOf(call);
    if (chars > MAX_FORM_CHARS) {
      return Promise.reject(tooLong(call, chars, this.#options.policyFile));
    }
    const entry = this.#collected.get(key) ?? { key, call, chars, waiting: new Set() };
    this.#collected.set(key, entry);
    void this.#askSoon();
    return waitIn(entry, signal);
  }

  /** Length of a form with this call alone, or of its arguments if they are longer than any form. */
  #charsOf(call: CallToApprove): number {
    const { length } = stringifyExact(call.arguments);
    return length > MAX_FORM_CHARS ? length : approvalForm(this.#session, [this.#show(call, 1)]).message.length;
  }

  /** One loop for all calls of the cell: one question at a time, with the calls that have arrived. */
  async #askSoon(): Promise<void> {
    if (this.#isAsking) {
      return;
    }
    this.#isAsking = true;
    await new Promise((resolve) => {
      setTimeout(resolve, COLLECT_MS);
    });
    while (this.#collected.size > 0) {
      const batch = this.#takeBatch();
      if (batch.length > 0) {
        await this.#askAbout(batch);
      }
    }
    this.#isAsking = false;
  }

  /** The calls of the next question. Settles calls that were answered in the meantime and drops cancelled ones. */
  #takeBatch(): Entry[] {
    const batch: Entry[] = [];
    let chars = 0;
    for (const entry of this.#collected.values()) {
      const known = this.#knownAnswer(entry.key, entry.call);
      if (known !== undefined) {
        settle(entry, known);
      } else if (entry.waiting.size > 0) {
        chars += entry.chars;
        if (batch.length === MAX_CALLS_PER_FORM || (batch.length > 0 && chars > MAX_FORM_CHARS)) {
          break;
        }
        batch.push(entry);
      }
      this.#collected.delete(entry.key);
    }
    return batch;
  }

  async #askAbout(batch: readonly Entry[]): Promise<void> {
    const withdrawal = new CancelSource();
    batch.forEach((entry) => {
      entry.onEmpty = () => {
        if (batch.every(({ waiting }) => waiting.size === 0)) {
          withdrawal.abort();
        }
      };
    });
    try {
      const form = approvalForm(
        this.#session,
        batch.map(({ call, waiting }) => this.#show(call, waiting.size)),
      );
      const reply = await this.#asker.ask(form, withdrawal.signal);
      const choices = readChoices(reply, batch.length);
      batch.forEach((entry, index) => this.#apply(entry, choices[index] ?? 'no', reply));
    } catch (error) {
      batch.forEach((entry) =>
        settle(entry, failedQuestion(entry.call, toBridgeError(error), this.#options.policyFile)),
      );
    }
  }

  #apply(entry: Entry, choice: ApprovalChoice, reply: Reply): void {
    const { call, key } = entry;
    if (choice === 'no') {
      const error = denied(call, reply);
      this.#refused.set(key, error);
      settle(entry, error);
      return;
    }
    if (choice !== 'once') {
      (choice === 'cell' ? this.#grants : this.#grantsOfSession).add(toolKey(call));
    }
    settle(entry, choice);
  }

  #show(call: CallToApprove, count: number): ShownCall {
    const { server, tool, alias, parameters, reason, line: number } = call;
    const line = number === undefined ? undefined : this.#lines.lineOfCall(number, [tool, alias]);
    const masked = this.#options.mask({ given: call.arguments, text: line?.text, tool });
    return {
      server,
      tool: String(masked['tool']),
      reason,
      arguments: masked['given'] as ShownCall['arguments'],
      parameters,
      count,
      line: line && { ...line, text: String(masked['text']) },
    };
  }

  /** What an earlier answer says about the call. */
  #knownAnswer(key: string, call: CallToApprove): Approval | BridgeError | undefined {
    const tool = toolKey(call);
    return (
      this.#refused.get(key) ??
      (this.#grantsOfSession.has(tool) ? 'session' : this.#grants.has(tool) ? 'cell' : undefined)
    );
  }
}

/** Waits until the entry is settled, or `signal` aborts. */
function waitIn(entry: Entry, signal: CancelSignal): Promise<Approval> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => done(cancelled(entry.call));
    const done = (end: Approval | BridgeError): void => {
      signal.removeEventListener('abort', onAbort);
      if (entry.waiting.delete(done) && entry.waiting.size === 0) {
        entry.onEmpty?.();
      }
      if (typeof end === 'string') {
        resolve(end);
      } else {
        reject(end);
      }
    };
    entry.waiting.add(done);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

function settle({ waiting }: Entry, end: Approval | BridgeError): void {
  [...waiting].forEach((done) => done(end));
}

function toolKey({ server, tool }: CallToApprove): string {
  return JSON.stringify([server, tool]);
}

/** A hash, because arguments may be megabytes and the key is kept as long as the cell runs. */
function callKey(call: CallToApprove): string {
  return createHash('sha256').update(toolKey(call)).update(stringifyExact(call.arguments)).digest('base64');
}

function getOrMake<Key extends object, Value>(map: WeakMap<Key, Value>, key: Key, make: () => Value): Value {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}
