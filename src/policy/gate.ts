/** Lets a call through, has a person asked, or refuses it, as the policies of the person say, and holds their limits. */

import type { Approval, Approvals, CallToApprove } from '../approvals/approvals.ts';
import { CancelSource } from '../base/cancel.ts';
import { Countdown } from '../base/countdown.ts';
import { BridgeError } from '../base/errors.ts';
import type { CallGate } from '../calls/tool-calls.ts';
import { stringifyExact } from '../protocol/exact-json.ts';
import { holdWhileAsking } from '../session/asker.ts';
import type { CallContext } from '../session/dispatch.ts';
import type { CurrentPolicies } from './current-policies.ts';
import type { Decision, PolicyTool } from './rules/decision.ts';
import { type CompiledLimit, countCall, overLimit } from './rules/limits.ts';
import type { Policies } from './rules/policies.ts';

/** What a policy is asked about: a call of a tool, or of a method for resources and prompts. */
export interface GuardedCall {
  readonly server: { readonly name: string; readonly alias: string };
  readonly tool: PolicyTool;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The line of the cell that leads to the call, as the sandbox says. */
  readonly line?: number | undefined;
  readonly context: CallContext;
  /** What is decided about it; set here, for the record. */
  decision?: Decision;
  /** By what the person allowed it, when they were asked; set here, too. */
  approval?: Approval;
}

/** Sends a call, with what cancels it and how it reaches the person in place of those of its context. */
type Send = (way: Pick<CallContext, 'signal' | 'asker'>) => Promise<unknown>;

/** Makes the call when it may be made. */
export type Guard = (call: GuardedCall, send: Send) => Promise<unknown>;

export function createGuard(current: CurrentPolicies, approvals: Approvals): Guard {
  return (call, send) => {
    const policies = current();
    if (policies === undefined) {
      return send(call.context);
    }
    const decision = policies.decide(call);
    call.decision = decision;
    if (decision.effect === 'deny') {
      return Promise.reject(deniedCall(call, decision.reason));
    }
    const { limits } = policies.of(call.server, call.tool);
    if (decision.effect === 'allow' && limits.length === 0) {
      return send(call.context);
    }
    // Counted before anybody is asked, so that code cannot flood a person with questions.
    const refusal = countCall(limits, call.context, performance.now());
    if (refusal !== undefined) {
      return Promise.reject(refusal);
    }
    const ask = async (reason: string): Promise<void> => {
      call.approval = await approvals.approve(toApprove(call, reason), call.context);
    };
    const asked = decision.effect === 'ask' ? ask(decision.reason) : undefined;
    const recheck = (): Promise<void> | undefined =>
      current() === policies ? undefined : decideAgain(call, policies, { current, ask });
    return sendInLimits(call, limits, { asked, recheck, send });
  };
}

interface Deciding {
  readonly current: CurrentPolicies;
  readonly ask: (reason: string) => Promise<void>;
}

/** A call that waited for a person or a place is not made when a policy forbids it by now. Nobody is asked about it twice. */
async function decideAgain(call: GuardedCall, before: Policies, { current, ask }: Deciding): Promise<void> {
  let judged: Policies | undefined = before;
  for (let now = current(); now !== judged; now = current()) {
    judged = now;
    const decision = now?.decide(call);
    if (decision === undefined || decision.effect === 'allow' || call.decision?.effect === decision.effect) {
      continue;
    }
    call.decision = decision;
    if (decision.effect === 'deny') {
      throw deniedCall(call, decision.reason);
    }
    await ask(decision.reason);
  }
}

/** The guard as a gate around calls of tools. */
export function createPolicyGate(guard: Guard): CallGate {
  return (call, proceed) =>
    guard(call, (way) => {
      const { context } = call;
      return proceed(way === context ? call : { ...call, context: { ...context, ...way } });
    });
}

/** `POLICY_DENIED` for a call, before any of it was sent. */
export function deniedCall({ server, tool }: Pick<GuardedCall, 'server' | 'tool'>, reason: string): BridgeError {
  return new BridgeError('POLICY_DENIED', `${server.name}.${tool.name} was not called: ${reason}`, {
    hint: 'Only the person who runs this can change it. Do without the call, or tell them what it would be for.',
  });
}

function toApprove({ server, tool, arguments: given, line }: GuardedCall, reason: string): CallToApprove {
  return { server: server.name, tool: tool.name, arguments: given, reason, line };
}

interface Sending {
  readonly asked: Promise<void> | undefined;
  /** Rejects when the policies changed meanwhile and the call may not be made any more. */
  readonly recheck: () => Promise<void> | undefined;
  readonly send: Send;
}

/** The deadline of a call begins when it is sent: neither a person who thinks nor a queue uses it up. */
async function sendInLimits(
  { context }: GuardedCall,
  limits: readonly CompiledLimit[],
  { asked, recheck, send }: Sending,
): Promise<unknown> {
  await asked;
  const taken: CompiledLimit[] = [];
  try {
    for (const limit of limits.filter(({ callsInFlight }) => callsInFlight !== undefined)) {
      await limit.counts.inFlight.take(context.signal);
      taken.push(limit);
    }
    await recheck();
    const result = await beforeDeadline(context, shortest(limits), send);
    checkSize(result, limits);
    return result;
  } finally {
    taken.forEach(({ counts }) => counts.inFlight.release());
  }
}

function shortest(limits: readonly CompiledLimit[]): CompiledLimit | undefined {
  return limits
    .filter(({ deadlineMs }) => deadlineMs !== undefined)
    .toSorted((left, right) => (left.deadlineMs ?? 0) - (right.deadlineMs ?? 0))[0];
}

/** The clock stands still while the server asks the person something. */
async function beforeDeadline(context: CallContext, limit: CompiledLimit | undefined, send: Send): Promise<unknown> {
  if (limit?.deadlineMs === undefined) {
    return send(context);
  }
  const { signal, asker } = context;
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
    return await send({ signal: cancel.signal, asker: asker && holdWhileAsking(asker, clock) });
  } catch (error) {
    throw isLate ? late(limit.place, limit.deadlineMs) : error;
  } finally {
    clock.stop();
    signal.removeEventListener('abort', abort);
  }
}

function late(place: string, deadlineMs: number): BridgeError {
  const clause = `the call was cancelled after ${deadlineMs / 1_000} s, which ${place} allows`;
  return overLimit(clause, 'It was sent, so the server may have done a part of it.', true);
}

function checkSize(result: unknown, limits: readonly CompiledLimit[]): void {
  const bounded = limits.filter(({ resultBytes }) => resultBytes !== undefined);
  if (bounded.length === 0) {
    return;
  }
  const bytes = Buffer.byteLength(stringifyExact(result ?? null));
  for (const { resultBytes = bytes, place } of bounded) {
    if (bytes > resultBytes) {
      const [size, limit] = [bytes, resultBytes].map((count) => count.toLocaleString('en-US'));
      const clause = `the call was made, but its result has ${size} bytes, and ${place} allows ${limit}`;
      throw overLimit(clause, 'Ask the tool for less, for example by a filter or a page.', true);
    }
  }
}
