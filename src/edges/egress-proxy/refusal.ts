/** How a request that is not sent, or whose answer did not come, is answered: so that a person sees why in what `requests` or urllib raise. */
import { STATUS_CODES } from 'node:http';
import { BridgeError, type ErrorCode, reportError } from '../../core/base/errors.ts';

/** `requests` and urllib show nothing but the reason phrase; tools that log it have lines of about this length. Chosen. */
const MAX_REASON_CHARS = 200;

/** A request that does not get to the broker, because it is not one that a client of HTTP would write. */
export class MalformedRequest extends BridgeError {
  readonly status: number;

  constructor(status: number, message: string) {
    super('HTTP_REFUSED', message);
    this.status = status;
  }
}

/** Their status is 403, because libraries try again after a 5xx: that would ask the person again, or use up a limit. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'APPROVAL_DENIED',
  'APPROVAL_TIMEOUT',
  'APPROVAL_UNAVAILABLE',
  'AUDIT_UNAVAILABLE',
  'CALL_NOT_RECORDED',
  'CALL_REFUSED',
  'HTTP_REFUSED',
  'LIMIT_CALLS',
  'LIMIT_RESULT',
  'POLICY_DENIED',
  'POLICY_LIMIT',
  'SECRET_UNAVAILABLE',
  'SERVER_NOT_AVAILABLE',
  'SERVER_UNKNOWN',
]);
const TIMEOUTS: ReadonlySet<ErrorCode> = new Set(['CALL_TIMEOUT', 'CELL_DEADLINE']);

function statusOf(error: BridgeError): number {
  if (error instanceof MalformedRequest) {
    return error.status;
  }
  return REFUSALS.has(error.code) ? 403 : TIMEOUTS.has(error.code) ? 504 : 502;
}

interface RenderedRefusal {
  readonly status: number;
  readonly reason: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export function renderRefusal(error: BridgeError): RenderedRefusal {
  const body = Buffer.from(JSON.stringify({ error: reportError(error) }));
  return {
    status: statusOf(error),
    reason: reasonPhrase(error.message),
    headers: ['Content-Type', 'application/json', 'Content-Length', `${body.length}`, 'X-Bridge-Error', error.code],
    body,
  };
}

/** The same as the bytes of an answer after which the connection ends. */
export function renderRefusalBytes(error: BridgeError): Buffer {
  const { status, reason, headers, body } = renderRefusal(error);
  const lines = headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));
  const head = [`HTTP/1.1 ${status} ${reason}`, ...lines, 'Connection: close', '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

/** One line of ASCII, not too long. */
export function reasonPhrase(text: string): string {
  const ascii = text.replaceAll(/\s+/g, ' ').replaceAll(/[^\x20-\x7e]/g, '?');
  return ascii.length <= MAX_REASON_CHARS ? ascii : `${ascii.slice(0, MAX_REASON_CHARS - 3)}...`;
}

/** The reason phrase of a status that has no other. */
export function usualReason(status: number): string {
  return STATUS_CODES[status] ?? '';
}
