/** Failures as data: what every command prints in place of its result when it is called with `--json`. */
import type { BridgeError, ErrorCode } from './errors.ts';

export interface ErrorReport {
  /** One of docs/reference/errors.md; left out for an exception of the user's own code. */
  readonly code?: ErrorCode;
  /** What failed; of an exception the traceback. */
  readonly message: string;
  /** One next step, when there is one. */
  readonly hint?: string;
}

export function reportError({ code, hint, message }: BridgeError): ErrorReport {
  return { code, message, ...(hint !== undefined && { hint }) };
}

/** `{"error": …}` on one line, so that it also fits where a command prints one object a line. */
export function renderErrorReport(error: ErrorReport): string {
  return `${JSON.stringify({ error })}\n`;
}
