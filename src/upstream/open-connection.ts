/**
 * Opens the connection to a server. A process is started here; the code for remote servers is loaded only if there is one.
 * The SDK's client does the handshake of both protocol eras.
 */
import { isObject, type JsonObject } from '../base/is-object.ts';
import type { ProcessDefinition, UpstreamDefinition } from '../base/server-definition.ts';
import { childEnvironment } from './child-env.ts';
import {
  type ConnectOptions,
  createTraffic,
  establish,
  explainHandshake,
  type ServerConnection,
} from './connection.ts';
import { Deadline } from './deadline.ts';
import { Failures } from './failures.ts';
import { type HandshakeMode, performHandshake } from './handshake.ts';
import { createResultMask } from './result-mask.ts';
import { createMask, secretsOf } from './secrets.ts';
import { StdioClientTransport } from './stdio-transport.ts';

/**
 * Starts or reaches the server and does the handshake. Rejects with `SERVER_START_FAILED` or, for a remote server, with
 * `SERVER_UNREACHABLE`, `SERVER_PROTOCOL` or `LOGIN_REQUIRED`; nothing is left running then.
 */
export async function openConnection(
  definition: UpstreamDefinition,
  options: ConnectOptions,
): Promise<ServerConnection> {
  options.onStep?.('resolved');
  const connection =
    definition.url === undefined
      ? await openProcess(definition, options)
      : await (await import('./http/open-remote.ts')).openRemote(definition, options);
  options.onStep?.('ready');
  return connection;
}

async function openProcess(definition: ProcessDefinition, options: ConnectOptions): Promise<ServerConnection> {
  const { legacyServers, logger } = options;
  const mode = legacyServers.has(definition.definitionHash) ? 'initialize' : 'probe';
  try {
    return await attempt(definition, options, mode);
  } catch (error) {
    if (!(error instanceof WrongModeError)) {
      throw error;
    }
    logger.debug(`Server '${definition.name}' ${error.message}; starting it again`);
    const connection = await attempt(definition, options, error.mode);
    if (error.mode === 'initialize') {
      legacyServers.add(definition.definitionHash);
    }
    return connection;
  }
}

/** The server may work with another handshake, which takes a new process. */
class WrongModeError extends Error {
  readonly mode: HandshakeMode;

  constructor(reason: string, mode: HandshakeMode) {
    super(reason);
    this.mode = mode;
  }
}

async function attempt(
  definition: ProcessDefinition,
  options: ConnectOptions,
  mode: HandshakeMode,
): Promise<ServerConnection> {
  const failures = new Failures(definition);
  let isModern = false;
  const traffic = createTraffic(options);
  const transport = new StdioClientTransport({
    ...definition,
    env: childEnvironment(options.env, definition.env),
    guardian: options.guardian,
    logger: options.logger,
    lines: traffic.requests,
    mask: createResultMask(options.masksSecrets ? secretsOf(definition) : []),
    maskText: createMask(definition),
    intercept(message, bytes) {
      isModern ||= isDiscovery(message);
      return traffic.intercept(message, bytes);
    },
  });
  traffic.attach(transport);
  try {
    await transport.start();
  } catch (error) {
    throw failures.notSpawned(error);
  }
  options.onStep?.('started');
  const deadline = new Deadline(options.startTimeoutMs, options.signal);
  try {
    const { elicitation } = traffic;
    const client = await performHandshake(transport, { ...options, mode, elicitation, signal: deadline.signal });
    return await establish(definition, { ...traffic, client, transport, failures });
  } catch (error) {
    const { endedItself } = transport;
    await transport.close();
    if (mode === 'probe' && !deadline.signal.aborted && (endedItself || isModern)) {
      // Servers of some older SDKs exit at the first request that is not `initialize`.
      throw endedItself
        ? new WrongModeError('exited when it received server/discover', 'initialize')
        : new WrongModeError('answered server/discover only after it was sent initialize', 'patient');
    }
    throw endedItself
      ? failures.endedAtStart(await transport.exited, transport.lastStderrLines())
      : failures.notReady(explainHandshake(error, options, deadline.signal), transport.lastStderrLines());
  } finally {
    deadline.clear();
  }
}

/** Whether a message is the answer of a 2026-07-28 or later server to `server/discover`. */
function isDiscovery({ result }: JsonObject): boolean {
  return isObject(result) && Array.isArray(result['supportedVersions']);
}
