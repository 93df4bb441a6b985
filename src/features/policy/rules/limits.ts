/**
 * The limits of one policy. Each entry is one budget that all matching calls share. Its counts survive a change of the file
 * as long as the entry itself stays the same.
 */

import { CappedMap } from '../../../core/base/capped-map.ts';
import { BridgeError } from '../../../core/base/errors.ts';
import { counted } from '../../../core/base/units.ts';
import { type Caller, CallsOfCell, CallsOfMinute, InFlight } from './counters.ts';
import { type Limit, type Policy, type PolicyPlace, placed } from './schema.ts';
import type { Selector } from './selectors.ts';

export interface CompiledLimit extends Selector {
  /** `limits[0] of FILE`. */
  readonly place: string;
  /** Identifies the entry by its file and content. */
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

/** Limits of all files that one principal has counts for; the operator writes them. Chosen. */
const MAX_SHARED = 1_000;

/**
 * Counts by the key of their limit. `shared` has those of all bridges of a principal: its limits are not higher because it uses several
 * profiles. Calls of a cell are counted apart, because two profiles can have a session of the same name.
 */
export interface LimitCounts {
  readonly kept: ReadonlyMap<string, Counts>;
  readonly shared: SharedCounts;
}

export type SharedCounts = CappedMap<string, Omit<Counts, 'ofCell'>>;

export function createSharedCounts(): SharedCounts {
  return new CappedMap(MAX_SHARED);
}

/** The limits of a policy, which continue the counts in `known`. Duplicate entries are dropped. */
export function compileLimits(policy: Policy, place: PolicyPlace, known: LimitCounts): CompiledLimit[] {
  const limits = policy.limits.map((limit, index): CompiledLimit => {
    const { callsPerCell, callsPerMinute, callsInFlight, resultBytes, deadline, ...selector } = limit;
    const key = JSON.stringify([place.file, place.path, limit]);
    const bounds = { callsPerCell, callsPerMinute, callsInFlight, resultBytes, deadlineMs: deadline };
    const counts = known.kept.get(key) ?? newCounts(key, limit, known.shared);
    return { ...selector, ...bounds, place: placed(place, `limits[${index}]`), key, counts };
  });
  return limits.filter(({ key }, index) => limits.findIndex((other) => other.key === key) === index);
}

function newCounts(key: string, { callsPerMinute = 1, callsInFlight = 1 }: Limit, shared: SharedCounts): Counts {
  const ofAll = shared.get(key) ?? {
    ofMinute: new CallsOfMinute(callsPerMinute),
    inFlight: new InFlight(callsInFlight),
  };
  shared.set(key, ofAll);
  return { ...ofAll, ofCell: new CallsOfCell() };
}

/** Counts a call toward every limit. If one is exhausted, counts it toward none and returns the refusal, `POLICY_LIMIT`. */
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
    const hint = 'Make fewer calls, or continue in another cell.';
    return overLimit(`${place} allows ${counted(callsPerCell, 'call')} per cell`, hint);
  }
  const waitMs = callsPerMinute === undefined ? 0 : counts.ofMinute.waitMs(nowMs);
  if (callsPerMinute !== undefined && waitMs > 0) {
    const seconds = Math.ceil(waitMs / 1_000);
    return overLimit(`${place} allows ${counted(callsPerMinute, 'call')} per minute`, `Try again in ${seconds} s.`);
  }
  return undefined;
}

/** @param clause which limit was exceeded and what happened to the call. */
export function overLimit(clause: string, hint: string, wasMade = false): BridgeError {
  return new BridgeError('POLICY_LIMIT', wasMade ? clause : `the call was not made: ${clause}`, {
    hint,
    data: { was_made: wasMade },
  });
}
