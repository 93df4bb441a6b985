/**
 * Asks the person about calls. The calls of one cell that come together are asked about in one question, and those that
 * come while it is open in the next. What was allowed holds for a server and a tool, whatever the arguments: for the cell,
 * or until the sandbox of the session ends. What was refused stays refused for the rest of the cell, the same call only.
 */
import { createHash } from 'node:crypto';
import { type CancelSignal, CancelSource } from '../base/cancel.ts';
import type { Reply } from '../base/cell.ts';
import { BridgeError, type ErrorCode, toBridgeError } from '../base/errors.ts';
import type { Approval, Approvals, CallToApprove } from '../calls/contract.ts';
import { stringifyExact } from '../protocol/exact-json.ts';
import type { Asker } from '../session/asker.ts';
import type { CallContext } from '../session/dispatch.ts';
import { type ApprovalChoice, approvalForm, readChoices, type ShownCall } from './approval-form.ts';

/** Calls of one `gather` come within milliseconds; a person does not notice this. Chosen. */
const COLLECT_MS = 50;
/** Different calls in one form; further ones are in the next. Chosen. */
const MAX_CALLS_PER_FORM = 10;

export interface CellApprovalsOptions {
  /** Masks the secrets of all servers. */
  readonly mask: (message: Record<string, unknown>) => Record<string, unknown>;
  /** Where the person can allow a call for good. */
  readonly policyFile: string;
}

/** The real `Approvals`. */
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
        throw unavailable(call, context, options.policyFile);
      }
      const ofCell = getOrMake(byCell, asker, () => new CellApprovals(asker, context.session, grants, options));
      return ofCell.approve(call, context);
    },
  };
}

/** Calls that are exactly alike. */
interface Entry {
  readonly key: string;
  readonly call: CallToApprove;
  /** Each settles one of them: with why it is not made, or by what it may be. */
  readonly waiting: Set<(end: Approval | BridgeError) => void>;
  /** Called when none of them waits any more. */
  onEmpty?: () => void;
}

class CellApprovals {
  readonly #asker: Asker;
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
    this.#session = session;
    this.#grantsOfSession = grants;
    this.#options = options;
  }

  approve(call: CallToApprove, { signal }: CallContext): Promise<Approval> {
    if (signal.aborted) {
      return Promise.reject(givenUp(call));
    }
    const key = callKey(call);
    const refused = this.#refused.get(key);
    if (refused !== undefined) {
      return Promise.reject(refused);
    }
    const grant = this.#grantOf(call);
    if (grant !== undefined) {
      return Promise.resolve(grant);
    }
    const entry = this.#collected.get(key) ?? { key, call, waiting: new Set() };
    this.#collected.set(key, entry);
    void this.#askSoon();
    return waitIn(entry, signal);
  }

  /** One loop for all calls of the cell: a question at a time, with what has come until then. */
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

  /** What is to be asked about next. Calls that were allowed meanwhile are let go, and those that were given up are left out. */
  #takeBatch(): Entry[] {
    const batch: Entry[] = [];
    for (const entry of this.#collected.values()) {
      const grant = this.#grantOf(entry.call);
      if (grant !== undefined) {
        settle(entry, grant);
      } else if (entry.waiting.size > 0) {
        batch.push(entry);
      }
      this.#collected.delete(entry.key);
      if (batch.length === MAX_CALLS_PER_FORM) {
        break;
      }
    }
    return batch;
  }

  async #askAbout(batch: readonly Entry[]): Promise<void> {
    const takeBack = new CancelSource();
    batch.forEach((entry) => {
      entry.onEmpty = () => {
        if (batch.every(({ waiting }) => waiting.size === 0)) {
          takeBack.abort();
        }
      };
    });
    try {
      const form = approvalForm(
        this.#session,
        batch.map((entry) => this.#show(entry)),
      );
      const reply = await this.#asker.ask(form, takeBack.signal);
      const choices = readChoices(reply, batch.length);
      batch.forEach((entry, index) => this.#apply(entry, choices[index] ?? 'no', reply));
    } catch (error) {
      batch.forEach((entry) => settle(entry, explain(entry.call, toBridgeError(error), this.#options.policyFile)));
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

  #show({ call, waiting }: Entry): ShownCall {
    const { server, tool, reason, line } = call;
    const text = line === undefined ? undefined : this.#asker.code.split(/\r\n?|\n/)[line - 1];
    const masked = this.#options.mask({ given: call.arguments, text, tool });
    return {
      server,
      tool: String(masked['tool']),
      reason,
      arguments: masked['given'] as ShownCall['arguments'],
      count: waiting.size,
      line: line === undefined || text === undefined ? undefined : { number: line, text: String(masked['text']) },
    };
  }

  #grantOf(call: CallToApprove): Approval | undefined {
    const key = toolKey(call);
    return this.#grantsOfSession.has(key) ? 'session' : this.#grants.has(key) ? 'cell' : undefined;
  }
}

/** Waits until the entry is settled, or `signal` aborts. */
function waitIn(entry: Entry, signal: CancelSignal): Promise<Approval> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => done(givenUp(entry.call));
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

function givenUp(call: CallToApprove): BridgeError {
  return notCalled(call, 'CALL_CANCELLED', 'it was given up');
}

function settle({ waiting }: Entry, end: Approval | BridgeError): void {
  [...waiting].forEach((done) => done(end));
}

function denied(call: CallToApprove, { action, content }: Reply): BridgeError {
  const closed = 'the person was asked and closed the question without an answer';
  const empty = 'the person was asked, and the reply holds no answer';
  const isEmpty = action === 'accept' && Object.keys(content ?? {}).length === 0;
  const why = action === 'cancel' ? closed : isEmpty ? empty : 'the person was asked and said no';
  return notCalled(call, 'APPROVAL_DENIED', why, {
    hint: 'Do without the call, or ask the person what they would rather have.',
  });
}

function unavailable(call: CallToApprove, { job }: CallContext, policyFile: string): BridgeError {
  const client = 'this client cannot ask (it offers no elicitation; exec asks at a terminal only)';
  const who = job === undefined ? client : 'a background job cannot ask';
  const hint =
    job === undefined ? howToAllow(call, policyFile) : `Make the call in a cell. ${howToAllow(call, policyFile)}`;
  return notCalled(call, 'APPROVAL_UNAVAILABLE', `${call.reason}, and ${who}`, { hint });
}

/** Why a question came to nothing, said of one of the calls it was about. */
function explain(call: CallToApprove, error: BridgeError, policyFile: string): BridgeError {
  const hint = error.hint ?? howToAllow(call, policyFile);
  return notCalled(call, error.code, error.message, { hint, cause: error });
}

/** The rule that allows a call for good. */
export function howToAllow({ server, tool }: CallToApprove, policyFile: string): string {
  const rule = JSON.stringify({ effect: 'allow', server, tool });
  return `The person alone can allow it: with ${rule} as the first of "rules" in ${policyFile}.`;
}

function notCalled(
  { server, tool }: CallToApprove,
  code: ErrorCode,
  why: string,
  options: { readonly hint?: string; readonly cause?: unknown } = {},
): BridgeError {
  return new BridgeError(code, `${server}.${tool} was not called: ${why}`, { ...options, data: { server, tool } });
}

function toolKey({ server, tool }: CallToApprove): string {
  return JSON.stringify([server, tool]);
}

/** Arguments may be megabytes; the key is kept as long as the cell runs. */
function callKey(call: CallToApprove): string {
  return createHash('sha256').update(toolKey(call)).update(stringifyExact(call.arguments)).digest('base64');
}

function getOrMake<Key extends object, Value>(map: WeakMap<Key, Value>, key: Key, make: () => Value): Value {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}
