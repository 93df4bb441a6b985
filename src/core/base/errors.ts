/**
 * The errors of the bridge: one class, one table of codes, and how they are rendered. `message` says what failed, with value,
 * limit and unit; `hint` is one next step. Each must make sense by itself, because a model sees nothing but the text. An
 * exception in the user's code is a result with a traceback, not a `BridgeError`.
 */
import { explainSchemaIssues } from './schema-issues.ts';

interface ErrorCodeEntry {
  /** What happened, in one clause. */
  readonly meaning: string;
  /** Who can fix it. */
  readonly fixedBy: 'user' | 'model' | 'us';
  /** Whether the same request can succeed later without a change. */
  readonly retry: boolean;
  /** The exit code of the command line; from BSD's sysexits.h where it has one that fits. */
  readonly exitCode: number;
}

/**
 * Every code of the bridge. A test pins them, another compares them with Python's `errors.py`, and a third provokes each of
 * them. `cli/help/error-texts.ts` has a page for each.
 */
// biome-ignore format: a table, one row for each code.
export const ERROR_CODES = {
  ARGUMENT_INVALID: { meaning: 'an argument of run_python is invalid', fixedBy: 'model', retry: false, exitCode: 64 },
  USAGE_INVALID: { meaning: 'the command line is invalid', fixedBy: 'user', retry: false, exitCode: 64 },
  CONFIG_INVALID: { meaning: 'a setting or a server file is invalid', fixedBy: 'user', retry: false, exitCode: 78 },
  ENGINE_UNAVAILABLE: { meaning: 'no sandbox engine is available', fixedBy: 'user', retry: true, exitCode: 69 },
  ENGINE_FAILED: { meaning: 'the engine could not run the sandbox', fixedBy: 'user', retry: true, exitCode: 69 },
  IMAGE_MISSING: { meaning: 'the sandbox image is not on this machine', fixedBy: 'user', retry: true, exitCode: 69 },
  IMAGE_PULLING: { meaning: 'the sandbox image is still being pulled', fixedBy: 'model', retry: true, exitCode: 75 },
  IMAGE_UNSUITABLE: { meaning: 'the sandbox image has no usable Python', fixedBy: 'user', retry: false, exitCode: 69 },
  SESSION_START_TIMEOUT: { meaning: 'the sandbox was not ready in time', fixedBy: 'user', retry: true, exitCode: 75 },
  SESSION_LOST: { meaning: 'the sandbox ended while a cell was running', fixedBy: 'model', retry: true, exitCode: 70 },
  SESSION_LIMIT: { meaning: 'too many sessions are open', fixedBy: 'model', retry: true, exitCode: 75 },
  HTTP_BUSY: { meaning: 'a client exceeds a limit of the HTTP server, or the server is ending', fixedBy: 'user', retry: true, exitCode: 75 },
  HTTP_REFUSED: { meaning: 'an HTTP request is invalid or may not be made', fixedBy: 'user', retry: false, exitCode: 77 },
  CHECK_FAILED: { meaning: 'the cell was certain to fail, so it was not run', fixedBy: 'model', retry: false, exitCode: 65 },
  CELL_DEADLINE: { meaning: 'the cell reached its deadline', fixedBy: 'model', retry: false, exitCode: 124 },
  CELL_CANCELLED: { meaning: 'the client cancelled the cell', fixedBy: 'model', retry: true, exitCode: 130 },
  LIMIT_CALLS: { meaning: 'the cell made too many calls', fixedBy: 'model', retry: false, exitCode: 70 },
  LIMIT_ARTIFACT: {
    meaning: 'an artifact is too large, or there are too many',
    fixedBy: 'model',
    retry: false,
    exitCode: 70,
  },
  LIMIT_FRAME: { meaning: 'a protocol frame was larger than the limit', fixedBy: 'model', retry: false, exitCode: 70 },
  LIMIT_RESULT: { meaning: 'a result was larger than the limit', fixedBy: 'model', retry: false, exitCode: 70 },
  PROTOCOL_VIOLATION: { meaning: 'a protocol frame was malformed', fixedBy: 'us', retry: false, exitCode: 70 },
  CALL_REFUSED: { meaning: 'the sandbox may not make this call now', fixedBy: 'model', retry: false, exitCode: 70 },
  CALL_TIMEOUT: { meaning: 'a call reached its deadline', fixedBy: 'model', retry: true, exitCode: 75 },
  CALL_CANCELLED: { meaning: 'a call was cancelled', fixedBy: 'model', retry: true, exitCode: 75 },
  SERVER_NOT_AVAILABLE: { meaning: 'the server is disabled, or not loaded in this session', fixedBy: 'model', retry: false, exitCode: 70 },
  SERVER_UNKNOWN: { meaning: 'no server with that name is configured', fixedBy: 'model', retry: false, exitCode: 70 },
  SERVER_START_FAILED: { meaning: 'the server did not start', fixedBy: 'user', retry: true, exitCode: 69 },
  SERVER_UNREACHABLE: { meaning: 'the remote server is down or cannot be reached', fixedBy: 'user', retry: true, exitCode: 69 },
  LOGIN_REQUIRED: { meaning: 'the remote server requires a login', fixedBy: 'user', retry: false, exitCode: 77 },
  LOGIN_FAILED: { meaning: 'the login to a remote server failed', fixedBy: 'user', retry: true, exitCode: 77 },
  SECRET_UNAVAILABLE: { meaning: 'a secret of the server could not be read, so the server was not started', fixedBy: 'user', retry: true, exitCode: 69 },
  SERVER_EXITED: { meaning: 'the server exited before it answered', fixedBy: 'user', retry: true, exitCode: 69 },
  SERVER_PROTOCOL: { meaning: 'the answer of the server is not valid MCP', fixedBy: 'user', retry: false, exitCode: 76 },
  CAPABILITY_MISSING: { meaning: 'the server does not offer what the call needs: resources or prompts', fixedBy: 'model', retry: false, exitCode: 70 },
  TOOL_UNKNOWN: { meaning: 'the server has no tool with that name', fixedBy: 'model', retry: false, exitCode: 70 },
  TOOL_ARGUMENT_INVALID: { meaning: 'an argument does not match the tool; nothing was sent', fixedBy: 'model', retry: false, exitCode: 70 },
  TOOL_CHANGED: { meaning: 'the tool definition differs from the accepted one; nothing was sent', fixedBy: 'user', retry: false, exitCode: 77 },
  CALL_NOT_RECORDED: { meaning: 'the recording that is replayed has no such call', fixedBy: 'user', retry: false, exitCode: 70 },
  OUTCOME_UNKNOWN: { meaning: 'the call was sent before the run was interrupted, and may have been made', fixedBy: 'user', retry: false, exitCode: 70 },
  TOOL_FAILED: { meaning: 'the tool reported an error', fixedBy: 'model', retry: false, exitCode: 70 },
  ARTIFACT_UNKNOWN: { meaning: 'no artifact with that name is saved', fixedBy: 'model', retry: false, exitCode: 70 },
  POLICY_DENIED: { meaning: 'a policy denies the call; nothing was sent', fixedBy: 'user', retry: false, exitCode: 77 },
  POLICY_LIMIT: { meaning: 'the call exceeds a limit of a policy', fixedBy: 'user', retry: true, exitCode: 77 },
  APPROVAL_DENIED: { meaning: 'the person denied the call', fixedBy: 'user', retry: false, exitCode: 77 },
  APPROVAL_TIMEOUT: { meaning: 'the person did not answer in time', fixedBy: 'user', retry: true, exitCode: 75 },
  APPROVAL_UNAVAILABLE: { meaning: 'a policy requires approval, but no one can be asked', fixedBy: 'user', retry: false, exitCode: 77 },
  PACKAGE_UNAVAILABLE: { meaning: 'a Python package could not be installed', fixedBy: 'user', retry: true, exitCode: 69 },
  STATE_WRITE_FAILED: { meaning: 'the bridge could not write to the state directory', fixedBy: 'user', retry: true, exitCode: 73 },
  AUDIT_UNAVAILABLE: { meaning: 'the audit record is required, but cannot be written', fixedBy: 'user', retry: true, exitCode: 74 },
  INTERNAL: { meaning: 'a bug in the bridge', fixedBy: 'us', retry: false, exitCode: 70 },
} as const satisfies Record<string, ErrorCodeEntry>;

export type ErrorCode = keyof typeof ERROR_CODES;

interface BridgeErrorOptions {
  readonly hint?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly cause?: unknown;
}

/** An error with a stable code. Every error that leaves the bridge is one of these. */
export class BridgeError extends Error {
  override readonly name: string = 'BridgeError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: BridgeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.data = options.data ?? {};
  }
}

/** `CODE: message` and, on a second line, `Hint: …`: the text that models and people see. */
export function renderError(error: BridgeError): string {
  const first = `${error.code}: ${error.message}`;
  return error.hint === undefined ? first : `${first}\nHint: ${error.hint}`;
}

/** An error as data: what a command prints instead of its result when called with `--json`. */
export interface ErrorReport {
  /** Left out for an exception in the user's code. */
  readonly code?: ErrorCode;
  /** What failed. For an exception, its traceback. */
  readonly message: string;
  /** One next step, if there is one. */
  readonly hint?: string;
}

export function reportError({ code, hint, message }: BridgeError): ErrorReport {
  return { code, message, ...(hint !== undefined && { hint }) };
}

/** `{"error": …}` on one line, so that it also suits commands that print one object per line. */
export function renderErrorReport(error: ErrorReport): string {
  return `${JSON.stringify({ error })}\n`;
}

/** The message of anything thrown, in sentences; never empty. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) {
    return thrown.message === '' ? thrown.name : explainSchemaIssues(thrown.message);
  }
  return String(thrown);
}

/** Anything thrown as a `BridgeError`: itself if it is one, otherwise `INTERNAL` with the original as the cause. */
export function toBridgeError(thrown: unknown): BridgeError {
  if (thrown instanceof BridgeError) {
    return thrown;
  }
  return new BridgeError('INTERNAL', messageOf(thrown), {
    cause: thrown,
    hint: 'This is a bug in the bridge. The log on stderr has the details.',
  });
}
