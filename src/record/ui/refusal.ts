/** Why a request is not answered as it wishes. */
import { type BridgeError, type ErrorCode, toBridgeError } from '../../core/base/errors.ts';

export class UiRefusal extends Error {
  readonly status: number;
  readonly hint: string | undefined;
  readonly code: ErrorCode;

  constructor(status: number, message: string, hint?: string, code: ErrorCode = 'HTTP_REFUSED') {
    super(message);
    this.status = status;
    this.hint = hint;
    this.code = code;
  }
}

/** For what someone asked that is not there, or not possible. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  USAGE_INVALID: 400,
  SERVER_UNKNOWN: 404,
  SERVER_NOT_AVAILABLE: 409,
  TOOL_UNKNOWN: 404,
  CALL_REFUSED: 422,
  CONFIG_INVALID: 422,
  HTTP_BUSY: 429,
};

export interface RefusedAnswer {
  readonly status: number;
  readonly json: { readonly error: { readonly code: ErrorCode; readonly message: string; readonly hint?: string } };
}

/** Anything thrown as an answer. What a bridge refused keeps its status. */
export function refusedAnswer(thrown: unknown): RefusedAnswer {
  const error = thrown instanceof UiRefusal ? thrown : toBridgeError(thrown);
  const { code, hint, message } = error;
  const status = error instanceof UiRefusal ? error.status : statusOf(error);
  return { status, json: { error: { code, message, ...(hint !== undefined && { hint }) } } };
}

function statusOf({ code, data }: BridgeError): number {
  const { status } = data;
  const isPassedOn = typeof status === 'number' && status >= 400 && status < 600;
  return isPassedOn ? status : (STATUSES[code] ?? 502);
}
