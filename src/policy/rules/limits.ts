/**
 * Limits of one policy. Each entry is one budget, which all calls that it matches use up together; its counts outlive a
 * change of the file as long as the entry itself is the same.
 */
import { BridgeError } from '../../base/errors.ts';
import { type Caller, CallsOfCell, CallsOfMinute } from './counts.ts';
import { InFlight } from './in-flight.ts';
import { type PolicyPlace, placed } from './rules.ts';
import type { Limit, Policy } from './schema.ts';
import type { Selector } from './selectors.ts';

export interface CompiledLimit extends Selector {
  /** `limits[0] of FILE`. */
  readonly place: string;
  /** The same for the same entry of the same file. */
  readonly key: string;
  readonly callsPerCell: number | undefined;
  readonly callsPerMinute: number | undefined;
  readonly callsInFlight: number | undefined;
  readonly resultBytes: number | undefined;
  readonly deadlineMs: number | undefined;
  readonly counts: Counts;
}

interface Counts {
  readonly ofCell: CallsOfCell;
  readonly ofMinute: CallsOfMinute;
  readonly inFlight: InFlight;
}

/** Counts by the key of their limit. */
export type KeptCounts = ReadonlyMap<string, Counts>;

/** The limits of a policy; their counts go on from `kept`. Of equal entries the first alone counts. */
export function compileLimits(policy: Policy, place: PolicyPlace, kept: KeptCounts): CompiledLimit[] {
  const limits = policy.limits.map((limit, index): CompiledLimit => {
    const { callsPerCell, callsPerMinute, callsInFlight, resultBytes, deadline, ...selector } = limit;
    const key = JSON.stringify([place.file, place.path, limit]);
    const bounds = { callsPerCell, callsPerMinute, callsInFlight, resultBytes, deadlineMs: deadline };
    const counts = kept.get(key) ?? newCounts(limit);
    return { ...selector, ...bounds, place: placed(place, `limits[${index}]`), key, counts };
  });
  return limits.filter(({ key }, index) => limits.findIndex((other) => other.key === key) === index);
}

function newCounts({ callsPerMinute = 1, callsInFlight = 1 }: Limit): Counts {
  return {
    ofCell: new CallsOfCell(),
    ofMinute: new CallsOfMinute(callsPerMinute),
    inFlight: new InFlight(callsInFlight),
  };
}

/** Counts a call in each of the limits, or in none: then it gives the refusal, `POLICY_LIMIT`. */
export function countCall(limits: readonly CompiledLimit[], caller: Caller, nowMs: number): BridgeError | undefined {
  for (const limit of limits) {
    const refusal = exceeded(limit, caller, nowMs);
    if (refusal !== undefined) {
      return refusal;
    }
  }
  for (const { counts, callsPerCell, callsPerMinute } of limits) {
    if (callsPerCell !== undefined) {
      counts.ofCell.add(caller);
    }
    if (callsPerMinute !== undefined) {
      counts.ofMinute.add(nowMs);
    }
  }
  return undefined;
}

function exceeded(limit: CompiledLimit, caller: Caller, nowMs: number): BridgeError | undefined {
  const { counts, callsPerCell, callsPerMinute, place } = limit;
  if (callsPerCell !== undefined && counts.ofCell.count(caller) >= callsPerCell) {
    const hint = 'Do with fewer calls, or go on in another cell.';
    return overLimit(`${place} allows ${counted(callsPerCell)} in one cell`, hint);
  }
  const waitMs = callsPerMinute === undefined ? 0 : counts.ofMinute.waitMs(nowMs);
  if (callsPerMinute !== undefined && waitMs > 0) {
    const seconds = Math.ceil(waitMs / 1_000);
    return overLimit(`${place} allows ${counted(callsPerMinute)} in a minute`, `The next is possible in ${seconds} s.`);
  }
  return undefined;
}

/** @param clause which limit was reached and what became of the call. */
export function overLimit(clause: string, hint: string, wasMade = false): BridgeError {
  return new BridgeError('POLICY_LIMIT', wasMade ? clause : `the call was not made: ${clause}`, { hint });
}

function counted(calls: number): string {
  return calls === 1 ? '1 call' : `${calls.toLocaleString('en-US')} calls`;
}
