/** Failures as data: what every command prints in place of its result when it is called with `--json`. */
import { type BridgeError, ERROR_CODES, type ErrorCode } from './errors.ts';

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

/** The parts of a text that `renderError` made, also before a traceback; any other text is all message. */
export function readErrorText(text: string): ErrorReport {
  const [, code = '', message = '', hint, more] = /^([A-Z_]+): ([^\n]*)(?:\nHint: ([^\n]*))?(\n.*)?$/s.exec(text) ?? [];
  if (!Object.hasOwn(ERROR_CODES, code)) {
    return { message: text };
  }
  return { code: code as ErrorCode, message: `${message}${more ?? ''}`, ...(hint !== undefined && { hint }) };
}

/** `{"error": …}` on one line, so that it also fits where a command prints one object a line. */
export function renderErrorReport(error: ErrorReport): string {
  return `${JSON.stringify({ error })}\n`;
}
