/** Why a request to a remote server failed, in terms that can be explained to people. */
import { messageOf } from '../../../core/base/errors.ts';

/**
 * `unreachable`: the network failed, or the server reports that it is down. `protocol`: the answer is not MCP. `login`: the
 * server requires other credentials. `session`: the server has forgotten this session; it did nothing, and a new connection
 * may be opened.
 */
export type RemoteFailureKind = 'unreachable' | 'protocol' | 'login' | 'session';

interface RemoteFailureOptions {
  /** Status of the HTTP response, if there was one. */
  readonly status?: number | undefined;
  readonly cause?: unknown;
  /** The next step, if it is another one than for most failures of this kind. */
  readonly hint?: string;
}

/** `message` is a predicate whose subject is the server: "answered HTTP 500". */
export class RemoteFailure extends Error {
  override readonly name = 'RemoteFailure';
  readonly kind: RemoteFailureKind;
  readonly status: number | undefined;
  readonly hint: string | undefined;

  constructor(kind: RemoteFailureKind, message: string, options: RemoteFailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.status = options.status;
    this.hint = options.hint;
  }
}

/** The `RemoteFailure` among an error and its causes. The SDK's client wraps our errors in its own. */
export function remoteFailureIn(error: unknown): RemoteFailure | undefined {
  let current = error;
  for (let depth = 0; current instanceof Error && depth < 10; depth += 1) {
    if (current instanceof RemoteFailure) {
      return current;
    }
    current = current.cause;
  }
  return undefined;
}

/** A network error as a `RemoteFailure`. When several addresses fail, Node throws one `AggregateError` without a message. */
export function unreachable(error: unknown): RemoteFailure {
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const text = first instanceof Error && first.message !== '' ? first.message : String(first);
  return new RemoteFailure('unreachable', `could not be reached: ${text}`, { cause: error });
}

/** The connection was lost after the answer had begun. */
export function brokenOff(error: unknown): RemoteFailure {
  return new RemoteFailure('unreachable', `broke off its answer before it was complete: ${messageOf(error)}`, {
    cause: error,
  });
}

/**
 * Whether a refusal is protection against DNS rebinding: the server accepts only the host names it knows. The phrases are
 * those of the MCP SDKs and of Playwright.
 */
export function refusesHostName(status: number | undefined, text: string): boolean {
  return status === 403 && /\binvalid host\b|only allowed at|host (?:header |name )?(?:is )?not allowed/i.test(text);
}
