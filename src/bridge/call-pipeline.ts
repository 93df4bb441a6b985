/** The gates around each call, whoever makes it: the record, then the pins, then the policies with the person's answer. */

import { type AuditTrail, createAuditGate, createUnmadeNote } from '../audit/index.ts';
import type { Approvals } from '../calls/contract.ts';
import { type CallPipeline, createCallPipeline } from '../calls/pipeline.ts';
import { createPinGate } from '../pins/index.ts';
import { createPolicyGate } from '../policy/index.ts';
import type { BridgeServers } from './configured-servers.ts';

export function createGatedCalls(
  { known, policies }: Pick<BridgeServers, 'known' | 'policies'>,
  approvals: Approvals,
  trail: AuditTrail | undefined,
): CallPipeline {
  const gates = [createPinGate(known), createPolicyGate(policies, approvals)];
  return trail === undefined
    ? createCallPipeline({ gates })
    : createCallPipeline({ gates: [createAuditGate(trail), ...gates], noteUnmade: createUnmadeNote(trail) });
}
