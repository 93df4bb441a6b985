/** What stands around each call of a tool, whoever makes it: the record, then the pins, then the policies with the person's answer. */
import type { Approvals } from '../approvals/approvals.ts';
import { recordCalls } from '../audit/gate.ts';
import type { AuditTrail } from '../audit/trail.ts';
import { createPinGate } from '../pins/gate.ts';
import { createGuard, createPolicyGate } from '../policy/gate.ts';
import type { ConfiguredServers } from './configured-servers.ts';

export function createCallGates(
  { known, policies }: Pick<ConfiguredServers, 'known' | 'policies'>,
  approvals: Approvals,
  trail: AuditTrail | undefined,
): ReturnType<typeof recordCalls> {
  const guard = createGuard(policies, approvals);
  return recordCalls(trail, { guard, gates: [createPinGate(known), createPolicyGate(guard)] });
}
