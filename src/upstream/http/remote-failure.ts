/** Why a request to a remote server has no answer, in terms that can be explained to people. */
import type { BridgeError } from '../../base/errors.ts';

/**
 * `unreachable`: the network, or the server says that it is down. `protocol`: what came is not MCP. `login`: it wants
 * other credentials. `session`: it has forgotten this connection; nothing was done, and a new one may be opened.
 */
export type RemoteFailureKind = 'unreachable' | 'protocol' | 'login' | 'session';

interface RemoteFailureOptions {
  /** Status of the HTTP answer, if there was one. */
  readonly status?: number | undefined;
  /** Scope that was missing, for `login`. */
  readonly scope?: string | undefined;
  readonly cause?: unknown;
}

/** `message` is a clause with the server as its subject: "answered HTTP 500". */
export class RemoteFailure extends Error {
  override readonly name = 'RemoteFailure';
  readonly kind: RemoteFailureKind;
  readonly status: number | undefined;
  readonly scope: string | undefined;

  constructor(kind: RemoteFailureKind, message: string, options: RemoteFailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.status = options.status;
    this.scope = options.scope;
  }
}

/** The failure among an error and its causes; the SDK's client puts errors of its own around ours. */
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

/** A network error as a clause; Node puts several addresses that failed into one error without a message. */
export function unreachable(error: unknown): RemoteFailure {
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const text = first instanceof Error && first.message !== '' ? first.message : String(first);
  return new RemoteFailure('unreachable', `could not be reached: ${text}`, { cause: error });
}

/**
 * Whether a refusal is a server's defence against DNS rebinding: it answers under the name it knows itself by. In the words
 * of the MCP SDKs and of Playwright.
 */
export function refusesHostName(status: number | undefined, text: string): boolean {
  return status === 403 && /\binvalid host\b|only allowed at|host (?:header |name )?(?:is )?not allowed/i.test(text);
}

/** What renews the credentials of a connection: the login of a user. */
export interface Authorization {
  /** What belongs into `Authorization` now, read anew each time; undefined when there is nothing. */
  header(): Promise<string | undefined>;
  /**
   * Called when the server refused `used` with this `WWW-Authenticate`. Resolves when there is another one to try;
   * rejects with a `BridgeError` (`LOGIN_REQUIRED`) when a person has to act. Never opens a browser.
   */
  renew(refusal: TokenRefusal): Promise<void>;
  /** What of it must not be shown; the same array as long as the login is the same. */
  secrets(): readonly string[];
  /** The `LOGIN_REQUIRED` for a scope that the user did not grant yet. */
  lacksScope(scope: string | undefined): BridgeError;
}

export interface TokenRefusal {
  readonly used: string | undefined;
  readonly challenge: string | undefined;
}
