/**
 * Connections to servers that are started here. The SDK's client does the handshake of both protocol eras; tool calls and
 * tool lists go past it (see requests.ts).
 */
import { isObject, type JsonObject } from '../base/is-object.ts';
import type { ProcessDefinition } from '../base/server-definition.ts';
import { childEnvironment } from './child-env.ts';
import type { ConnectOptions, ServerConnection } from './connection.ts';
import { Deadline } from './deadline.ts';
import { ServerQuestions } from './elicitation.ts';
import { establish, explainHandshake, intercept } from './establish.ts';
import { Failures } from './failures.ts';
import { type HandshakeMode, shakeHands } from './handshake.ts';
import { createMask } from './mask.ts';
import { Requests } from './requests.ts';
import { createResultMask } from './result-mask.ts';
import { secretsOf } from './secrets.ts';
import { StdioClientTransport } from './stdio-transport.ts';

/** Starts the server and connects to it. Rejects with `SERVER_START_FAILED`; nothing is left running then. */
export async function openProcess(definition: ProcessDefinition, options: ConnectOptions): Promise<ServerConnection> {
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

/** The server may work when it is asked in another way, which takes a new process. */
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
  // The transport hands messages to the requests, and the requests write to the transport: the loop is closed here.
  const requests: Requests = new Requests((message) => transport.send(message));
  const elicitation = options.elicitation();
  const questions = elicitation && new ServerQuestions(requests, (message) => transport.send(message));
  const transport: StdioClientTransport = new StdioClientTransport({
    ...definition,
    env: childEnvironment(options.env, definition.env),
    guardian: options.guardian,
    logger: options.logger,
    lines: requests,
    mask: createResultMask(options.masksSecrets ? secretsOf(definition) : []),
    maskText: createMask(definition),
    intercept(message, bytes) {
      isModern ||= isDiscovery(message);
      return intercept(message, bytes, requests, { questions, onToolsChanged: options.onToolsChanged });
    },
  });
  try {
    await transport.start();
  } catch (error) {
    throw failures.notSpawned(error);
  }
  options.onStep?.('started');
  const deadline = new Deadline(options.startTimeoutMs, options.signal);
  try {
    const client = await shakeHands(transport, { ...options, mode, elicitation, signal: deadline.signal });
    return await establish(definition, { client, transport, requests, failures, elicitation });
  } catch (error) {
    const { endedItself } = transport;
    await transport.close();
    if (mode === 'probe' && !deadline.signal.aborted && (endedItself || isModern)) {
      // Servers of some older SDKs end at the first request that is not `initialize`.
      throw endedItself
        ? new WrongModeError('ended when it was asked for its era', 'initialize')
        : new WrongModeError('told its era after it was asked to initialize', 'patient');
    }
    throw endedItself
      ? failures.endedAtStart(await transport.exited, transport.lastStderrLines())
      : failures.notReady(explainHandshake(error, options, deadline.signal), transport.lastStderrLines());
  } finally {
    deadline.clear();
  }
}

/** Whether a message is the answer of a server that speaks 2026-07-28 or later to `server/discover`. */
function isDiscovery({ result }: JsonObject): boolean {
  return isObject(result) && Array.isArray(result['supportedVersions']);
}
