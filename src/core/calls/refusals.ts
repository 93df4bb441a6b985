/** Which errors mean that nothing was sent to the server. */
import type { BridgeError, ErrorCode } from '../base/errors.ts';

/** Codes that a call fails with only before it is sent. */
const NOT_SENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'POLICY_DENIED',
  'TOOL_CHANGED',
  'APPROVAL_DENIED',
  'APPROVAL_TIMEOUT',
  'APPROVAL_UNAVAILABLE',
  'AUDIT_UNAVAILABLE',
]);

/** Whether a call that failed with this error was refused before it was sent. */
export function isRefusal({ code, data }: BridgeError): boolean {
  return NOT_SENT.has(code) || (code === 'POLICY_LIMIT' && data['was_made'] === false);
}
