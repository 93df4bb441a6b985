/** Allows, refuses or asks about each call, as the user's policies say, and enforces their limits. */

import { CancelSource } from '../../core/base/cancel.ts';
import { Countdown } from '../../core/base/countdown.ts';
import { BridgeError } from '../../core/base/errors.ts';
import {
  type Approval,
  type Approvals,
  type CallGate,
  type CallOutcome,
  type Decision,
  failed,
  isSent,
  type PassOn,
  type ToolCall,
} from '../../core/calls/contract.ts';
import { parametersOf } from '../../core/catalog/parameters.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import { ResultBytes } from '../../core/protocol/result-bytes.ts';
import { holdWhileAsking } from '../../core/session/asker.ts';
import type { CurrentPolicies } from './current-policies.ts';
import { type CompiledLimit, countCall, overLimit } from './rules/limits.ts';
import { Policies } from './rules/policies.ts';

/** For what is decided without any. */
const NO_POLICIES = new Policies(undefined, new Map());

export function createPolicyGate(current: CurrentPolicies, approvals: Approvals): CallGate {
  return (call, next) => {
    const policies = current() ?? (call.server.least && NO_POLICIES);
    return policies === undefined ? next(call) : judge(new JudgedCall(call, { current, approvals }, policies), next);
  };
}

async function judge(judged: JudgedCall, next: PassOn): Promise<CallOutcome> {
  const outcome = await judged.make(next).catch(failed);
  return { ...outcome, decision: judged.decision, approval: judged.approval, waitedMs: judged.waitedMs };
}

interface Judges {
  readonly current: CurrentPolicies;
  readonly approvals: Approvals;
}

/** One call, and what was decided about it so far. */
class JudgedCall {
  decision: Decision;
  approval: Approval | undefined;
  waitedMs: number | undefined;
  #call: ToolCall;
  readonly #judges: Judges;
  /** The policies that made `decision`. */
  #policies: Policies | undefined;

  constructor(call: ToolCall, judges: Judges, policies: Policies) {
    this.#call = call;
    this.#judges = judges;
    this.#policies = policies;
    this.decision = policies.decide(call);
  }

  /** Rejects if the call may not be made. */
  async make(next: PassOn): Promise<CallOutcome> {
    const { effect, reason } = this.decision;
    if (effect === 'deny') {
      throw deniedCall(this.#call, reason);
    }
    this.#markDryRun();
    const call = this.#call;
    const limits = this.#policies?.of(call.server, call.tool).limits ?? [];
    // Counted before the person is asked, so that code cannot flood them with questions.
    const refusal = countCall(limits, call.context, performance.now());
    if (refusal !== undefined) {
      throw refusal;
    }
    if (effect === 'ask') {
      await this.#askUnlessDry(reason);
    } else if (limits.length === 0) {
      return next(call);
    }
    return this.#sendInLimits(limits, next);
  }

  #markDryRun(): void {
    if (this.decision.effect === 'dry-run') {
      this.#call = { ...this.#call, isDryRun: true };
    }
  }

  async #askUnlessDry(reason: string): Promise<void> {
    if (isSent(this.#call)) {
      await this.#ask(reason);
    }
  }

  async #ask(reason: string): Promise<void> {
    const { server, tool, arguments: given, line, context } = this.#call;
    const { name, alias, inputSchema, isMethod } = tool;
    // The bridge itself names the arguments of methods.
    const parameters = isMethod === true ? Object.keys(given) : parametersOf(inputSchema).list.map((one) => one.name);
    const toApprove = { server: server.name, tool: name, alias, arguments: given, parameters, reason, line };
    const askedAt = performance.now();
    try {
      this.approval = await this.#judges.approvals.approve(toApprove, context);
    } finally {
      this.waitedMs = (this.waitedMs ?? 0) + performance.now() - askedAt;
    }
  }

  /** The deadline starts when the call is sent: time spent waiting for a person or in a queue does not count. */
  async #sendInLimits(limits: readonly CompiledLimit[], next: PassOn): Promise<CallOutcome> {
    const { context } = this.#call;
    const taken: CompiledLimit[] = [];
    try {
      for (const limit of limits.filter(({ callsInFlight }) => callsInFlight !== undefined)) {
        await limit.counts.inFlight.take(context.signal);
        taken.push(limit);
      }
      await this.#decideAgain();
      const outcome = await sendBeforeDeadline(this.#call, shortest(limits), next);
      return outcome.ok ? withinSize(outcome, limits) : outcome;
    } finally {
      taken.forEach(({ counts }) => counts.inFlight.release());
    }
  }

  /** Refuses a call that the policies forbade while it waited. The person is not asked about a call twice. */
  async #decideAgain(): Promise<void> {
    const { current } = this.#judges;
    for (let now = current(); now !== this.#policies; now = current()) {
      this.#policies = now;
      const decision = now?.decide(this.#call);
      if (decision === undefined || decision.effect === 'allow' || this.decision.effect === decision.effect) {
        continue;
      }
      this.decision = decision;
      if (decision.effect === 'deny') {
        throw deniedCall(this.#call, decision.reason);
      }
      this.#markDryRun();
      if (decision.effect === 'ask') {
        await this.#askUnlessDry(decision.reason);
      }
    }
  }
}

/** `POLICY_DENIED` for a call that was not sent. */
export function deniedCall(
  { server, tool }: { server: { readonly name: string }; tool: { readonly name: string } },
  reason: string,
): BridgeError {
  return policyDenied(`${server.name}.${tool.name} was not called: ${reason}`);
}

export function policyDenied(message: string): BridgeError {
  return new BridgeError('POLICY_DENIED', message, {
    hint: 'Only the user can change the policy. Continue without this call, or tell the user what you need it for.',
  });
}

function shortest(limits: readonly CompiledLimit[]): CompiledLimit | undefined {
  return limits
    .filter(({ deadlineMs }) => deadlineMs !== undefined)
    .toSorted((left, right) => (left.deadlineMs ?? 0) - (right.deadlineMs ?? 0))[0];
}

/** The clock stops while the server asks the person something. */
async function sendBeforeDeadline(
  call: ToolCall,
  limit: CompiledLimit | undefined,
  next: PassOn,
): Promise<CallOutcome> {
  if (limit?.deadlineMs === undefined) {
    return next(call);
  }
  const { signal, asker } = call.context;
  const cancel = new CancelSource();
  const abort = (): void => cancel.abort();
  let isLate = false;
  const clock = new Countdown(limit.deadlineMs, () => {
    isLate = true;
    abort();
  });
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) {
    abort();
  }
  try {
    const context = { ...call.context, signal: cancel.signal, asker: asker && holdWhileAsking(asker, clock) };
    const outcome = await next({ ...call, context });
    return isLate && !outcome.ok ? failed(late(limit.place, limit.deadlineMs)) : outcome;
  } finally {
    clock.stop();
    signal.removeEventListener('abort', abort);
  }
}

function late(place: string, deadlineMs: number): BridgeError {
  const clause = `the call was cancelled after ${deadlineMs / 1_000} s, the deadline in ${place}`;
  return overLimit(
    clause,
    'The call had been sent, so the server may have done part of the work. Check before you repeat it.',
    true,
  );
}

function withinSize(outcome: Extract<CallOutcome, { ok: true }>, limits: readonly CompiledLimit[]): CallOutcome {
  const bounded = limits.filter(({ resultBytes }) => resultBytes !== undefined);
  if (bounded.length === 0) {
    return outcome;
  }
  const { result } = outcome;
  const bytes = result instanceof ResultBytes ? result.writtenBytes : Buffer.byteLength(stringifyExact(result ?? null));
  const exceeded = bounded.find(({ resultBytes = bytes }) => bytes > resultBytes);
  if (exceeded === undefined) {
    return outcome;
  }
  const [size, limit] = [bytes, exceeded.resultBytes].map((count) => count?.toLocaleString('en-US'));
  const clause = `the call was made, but its result has ${size} bytes; ${exceeded.place} allows ${limit}`;
  return failed(overLimit(clause, 'Ask the tool for less, for example with a filter or in pages.', true));
}
