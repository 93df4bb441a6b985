/**
 * The errors of the bridge: one base class, one table of codes.
 * `message` says what failed, with value, limit and unit; `hint` is one next step. Both stand alone, because the
 * model that reads them sees only text. An exception inside user code is a result with a traceback, not one of these.
 */

interface ErrorCodeEntry {
  /** What happened, in one clause. */
  readonly meaning: string;
  /** Who can mend it. */
  readonly fixedBy: 'user' | 'model' | 'us';
  /** Whether the same request can succeed later without a change. */
  readonly retry: boolean;
  /** Exit code of the command line; the numbers follow BSD sysexits.h where one fits. */
  readonly exitCode: number;
}

/**
 * Every code the bridge can answer with. Frozen by a pin test; Python's `errors.py` is compared with it, `error-pages.ts` has
 * a page for each, and a test makes each happen.
 */
// biome-ignore format: one row per code reads like the table it is.
export const ERROR_CODES = {
  ARGUMENT_INVALID: { meaning: 'an argument of run_python was refused', fixedBy: 'model', retry: false, exitCode: 64 },
  USAGE_INVALID: { meaning: 'the command line was not understood', fixedBy: 'user', retry: false, exitCode: 64 },
  CONFIG_INVALID: { meaning: 'a setting or a server file was refused', fixedBy: 'user', retry: false, exitCode: 78 },
  ENGINE_UNAVAILABLE: { meaning: 'no engine could be used', fixedBy: 'user', retry: true, exitCode: 69 },
  ENGINE_FAILED: { meaning: 'the engine refused or failed to run the sandbox', fixedBy: 'user', retry: true, exitCode: 69 },
  IMAGE_MISSING: { meaning: 'the image of the sandbox is not on this machine', fixedBy: 'user', retry: true, exitCode: 69 },
  IMAGE_PULLING: { meaning: 'the image of the sandbox is still being pulled', fixedBy: 'model', retry: true, exitCode: 75 },
  IMAGE_UNSUITABLE: { meaning: 'the image has no usable Python', fixedBy: 'user', retry: false, exitCode: 69 },
  SESSION_START_TIMEOUT: { meaning: 'the sandbox did not become ready in time', fixedBy: 'user', retry: true, exitCode: 75 },
  SESSION_LOST: { meaning: 'the sandbox ended while a cell was running', fixedBy: 'model', retry: true, exitCode: 70 },
  SESSION_LIMIT: { meaning: 'too many sessions are open', fixedBy: 'model', retry: true, exitCode: 75 },
  CHECK_FAILED: { meaning: 'the cell was not run, because it was certain to fail', fixedBy: 'model', retry: false, exitCode: 65 },
  CELL_DEADLINE: { meaning: 'the cell reached its deadline', fixedBy: 'model', retry: false, exitCode: 124 },
  CELL_CANCELLED: { meaning: 'the client cancelled the cell', fixedBy: 'model', retry: true, exitCode: 130 },
  LIMIT_CALLS: { meaning: 'the cell made too many calls', fixedBy: 'model', retry: false, exitCode: 70 },
  LIMIT_ARTIFACT: {
    meaning: 'an artifact is larger than the limit, or there are too many',
    fixedBy: 'model',
    retry: false,
    exitCode: 70,
  },
  LIMIT_FRAME: { meaning: 'a frame was larger than the limit', fixedBy: 'model', retry: false, exitCode: 70 },
  LIMIT_RESULT: { meaning: 'a result was larger than the limit', fixedBy: 'model', retry: false, exitCode: 70 },
  PROTOCOL_VIOLATION: { meaning: 'a frame was malformed', fixedBy: 'us', retry: false, exitCode: 70 },
  CALL_REFUSED: { meaning: 'a call from the sandbox is not allowed now', fixedBy: 'model', retry: false, exitCode: 70 },
  CALL_TIMEOUT: { meaning: 'a call reached its deadline', fixedBy: 'model', retry: true, exitCode: 75 },
  CALL_CANCELLED: { meaning: 'a call was cancelled', fixedBy: 'model', retry: true, exitCode: 75 },
  SERVER_NOT_AVAILABLE: { meaning: 'the server is not loaded in this session, or it is disabled', fixedBy: 'model', retry: false, exitCode: 70 },
  SERVER_UNKNOWN: { meaning: 'no server of that name is configured', fixedBy: 'model', retry: false, exitCode: 70 },
  SERVER_START_FAILED: { meaning: 'the server did not start', fixedBy: 'user', retry: true, exitCode: 69 },
  SERVER_UNREACHABLE: { meaning: 'the remote server could not be reached, or is down', fixedBy: 'user', retry: true, exitCode: 69 },
  LOGIN_REQUIRED: { meaning: 'the remote server wants a login', fixedBy: 'user', retry: false, exitCode: 77 },
  LOGIN_FAILED: { meaning: 'a login at a remote server did not succeed', fixedBy: 'user', retry: true, exitCode: 77 },
  SECRET_UNAVAILABLE: { meaning: 'a secret of the server could not be read; it was not started', fixedBy: 'user', retry: true, exitCode: 69 },
  SERVER_EXITED: { meaning: 'the server ended before it answered', fixedBy: 'user', retry: true, exitCode: 69 },
  SERVER_PROTOCOL: { meaning: 'the server answered something that is not MCP', fixedBy: 'user', retry: false, exitCode: 76 },
  CAPABILITY_MISSING: { meaning: 'the server offers no resources or no prompts', fixedBy: 'model', retry: false, exitCode: 70 },
  TOOL_UNKNOWN: { meaning: 'the server has no tool of that name', fixedBy: 'model', retry: false, exitCode: 70 },
  TOOL_ARGUMENT_INVALID: { meaning: 'an argument does not fit the tool; nothing was sent', fixedBy: 'model', retry: false, exitCode: 70 },
  TOOL_CHANGED: { meaning: 'the definition of the tool is not the one that was accepted; nothing was sent', fixedBy: 'user', retry: false, exitCode: 77 },
  TOOL_FAILED: { meaning: 'the tool itself reported an error', fixedBy: 'model', retry: false, exitCode: 70 },
  POLICY_DENIED: { meaning: 'a policy does not allow the call; nothing was sent', fixedBy: 'user', retry: false, exitCode: 77 },
  POLICY_LIMIT: { meaning: 'a call went over a limit of a policy', fixedBy: 'user', retry: true, exitCode: 77 },
  APPROVAL_DENIED: { meaning: 'the person was asked and did not allow the call', fixedBy: 'user', retry: false, exitCode: 77 },
  APPROVAL_TIMEOUT: { meaning: 'the person was asked and did not answer in time', fixedBy: 'user', retry: true, exitCode: 75 },
  APPROVAL_UNAVAILABLE: { meaning: 'a policy wants a person to be asked, and nobody can be', fixedBy: 'user', retry: false, exitCode: 77 },
  STATE_WRITE_FAILED: { meaning: 'the state directory could not be written', fixedBy: 'user', retry: true, exitCode: 73 },
  AUDIT_UNAVAILABLE: { meaning: 'a record is required and cannot be written', fixedBy: 'user', retry: true, exitCode: 74 },
  INTERNAL: { meaning: 'a fault of the bridge itself', fixedBy: 'us', retry: false, exitCode: 70 },
} as const satisfies Record<string, ErrorCodeEntry>;

export type ErrorCode = keyof typeof ERROR_CODES;

interface BridgeErrorOptions {
  readonly hint?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly cause?: unknown;
}

/** A failure with a stable code. Every error that leaves the bridge is one of these. */
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

/** `CODE: message` and, on its own line, `Hint: …`: the text shown to models and people. */
export function renderError(error: BridgeError): string {
  const first = `${error.code}: ${error.message}`;
  return error.hint === undefined ? first : `${first}\nHint: ${error.hint}`;
}

/** The message of anything that was thrown; never empty. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) {
    return thrown.message === '' ? thrown.name : thrown.message;
  }
  return String(thrown);
}

/** Anything thrown, as a `BridgeError`: itself if it is one, else `INTERNAL` with the original as cause. */
export function toBridgeError(thrown: unknown): BridgeError {
  if (thrown instanceof BridgeError) {
    return thrown;
  }
  return new BridgeError('INTERNAL', messageOf(thrown), {
    cause: thrown,
    hint: 'This is a fault of the bridge; the log on stderr has the details.',
  });
}
