/**
 * Opens connections to remote servers. If a server refuses to initialize over Streamable HTTP, the older transport is tried
 * (specification 2025-11-25, "Transports", backwards compatibility).
 */
import { BridgeError } from '../../../core/base/errors.ts';
import type { RemoteDefinition } from '../../../core/base/server-definition.ts';
import {
  type ConnectOptions,
  createTraffic,
  establish,
  explainHandshake,
  type ServerConnection,
  type ServerTransport,
} from '../connection.ts';
import { Deadline } from '../deadline.ts';
import { Failures } from '../failures.ts';
import { type HandshakeMode, performHandshake } from '../handshake.ts';
import { createAuthorization } from '../oauth/authorization.ts';
import { unanswered } from '../package-runner.ts';
import { createChangingMask } from '../result-mask.ts';
import { createMask, secretsOf } from '../secrets.ts';
import { proxiesOf } from './proxies.ts';
import type { RemoteAddress } from './remote-client.ts';
import { remoteFailureIn } from './remote-failure.ts';
import { SseTransport, type SseTransportOptions } from './sse-transport.ts';
import { StreamableTransport } from './streamable-transport.ts';

/** How servers of some older SDKs answer an unknown method. */
const FAILS_AT_UNKNOWN: ReadonlySet<number | undefined> = new Set([500, 501]);
/** How servers that support only the older transport refuse a POST. */
const OLD_TRANSPORT_STATUSES: ReadonlySet<number | undefined> = new Set([400, 404, 405]);

/** Rejects with `SERVER_UNREACHABLE`, `SERVER_PROTOCOL`, `LOGIN_REQUIRED` and `SERVER_START_FAILED`. */
export async function openRemote(definition: RemoteDefinition, options: ConnectOptions): Promise<ServerConnection> {
  const failures = new Failures(definition);
  const deadline = new Deadline(options.startTimeoutMs, options.signal);
  const attempt: Attempt = { definition, options, deadline, failures, address: addressOf(definition, options) };
  try {
    return await openEither(attempt);
  } catch (error) {
    throw deadline.signal.aborted
      ? failures.notReady(
          explainHandshake(
            error,
            options.signal,
            deadline.signal.aborted ? unanswered(options.startTimeoutMs) : undefined,
          ),
          '',
        )
      : explain(error, failures, options);
  } finally {
    deadline.clear();
  }
}

interface Attempt {
  readonly definition: RemoteDefinition;
  readonly options: ConnectOptions;
  readonly deadline: Deadline;
  readonly failures: Failures;
  readonly address: RemoteAddress;
}

async function openEither(attempt: Attempt): Promise<ServerConnection> {
  const { transport: kind } = attempt.definition;
  if (kind === 'sse') {
    return openWith(attempt, SseTransport, 'initialize');
  }
  try {
    return await openStreamable(attempt);
  } catch (error) {
    if (!OLD_TRANSPORT_STATUSES.has(remoteFailureIn(error)?.status)) {
      throw error;
    }
    return openWith(attempt, SseTransport, 'initialize').catch(() => {
      throw error;
    });
  }
}

async function openStreamable(attempt: Attempt): Promise<ServerConnection> {
  try {
    // A sleeping server may answer late, but over HTTP it always answers, so the wait has no probe timeout.
    return await openWith(attempt, StreamableTransport, 'patient');
  } catch (error) {
    if (!FAILS_AT_UNKNOWN.has(remoteFailureIn(error)?.status)) {
      throw error;
    }
    return openWith(attempt, StreamableTransport, 'initialize');
  }
}

type TransportClass = new (options: SseTransportOptions) => ServerTransport;

async function openWith(attempt: Attempt, Kind: TransportClass, mode: HandshakeMode): Promise<ServerConnection> {
  const { definition, options, deadline, failures, address } = attempt;
  const traffic = createTraffic(options);
  const transport = new Kind({
    ...address,
    name: definition.name,
    logger: options.logger,
    lines: traffic.requests,
    mask: createChangingMask(options.masksSecrets ? secretsFor(definition, address) : () => NONE),
    maskText: createMask(definition),
    intercept: traffic.intercept,
  });
  traffic.attach(transport);
  try {
    const { elicitation } = traffic;
    const client = await performHandshake(transport, { ...options, mode, elicitation, signal: deadline.signal });
    return await establish(definition, { ...traffic, client, transport, failures });
  } catch (error) {
    await transport.close();
    throw error;
  }
}

const NONE: readonly string[] = [];

/** The secrets of the entry and of the current login. */
export function secretsFor(definition: RemoteDefinition, { authorization }: RemoteAddress): () => readonly string[] {
  const own = secretsOf(definition);
  let login = NONE;
  let all = own;
  return () => {
    const now = authorization?.secrets() ?? NONE;
    if (now !== login) {
      login = now;
      all = [...own, ...now];
    }
    return all;
  };
}

export function addressOf(definition: RemoteDefinition, { logins, env, inviteLogin }: ConnectOptions): RemoteAddress {
  const headers = Object.fromEntries(
    Object.entries(definition.headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const url = new URL(definition.url);
  const hasOwnCredentials = headers['authorization'] !== undefined || url.username !== '';
  const proxies = proxiesOf(env);
  const authorization =
    hasOwnCredentials || logins === undefined
      ? undefined
      : createAuthorization(definition, logins, { proxies, inviteLogin });
  return { url, headers, authorization, proxies };
}

function explain(error: unknown, failures: Failures, options: ConnectOptions): BridgeError {
  const failure = remoteFailureIn(error);
  if (failure !== undefined) {
    return failures.ofRemote(failure, false);
  }
  const known = bridgeErrorIn(error);
  return known ?? failures.notReady(explainHandshake(error, options.signal, undefined), '');
}

/** The SDK wraps our errors in its own. */
function bridgeErrorIn(error: unknown): BridgeError | undefined {
  return error instanceof BridgeError
    ? error
    : error instanceof Error && error.cause !== undefined
      ? bridgeErrorIn(error.cause)
      : undefined;
}
