/**
 * One running server and the MCP connection to it. The SDK's client does the handshake of both protocol eras; tool
 * calls and tool lists go past it (see requests.ts).
 */
import type { Client } from '@modelcontextprotocol/client';
import type { CancelSignal } from '../cancel.ts';
import { type BridgeError, messageOf } from '../errors.ts';
import type { Logger } from '../log.ts';
import { childEnvironment } from './child-env.ts';
import { createDeadline } from './deadline.ts';
import { isJsonObject, type JsonObject, type UpstreamDefinition } from './definition.ts';
import { Failures } from './failures.ts';
import type { Guardian } from './guardian.ts';
import { envelopeOf, type HandshakeMode, shakeHands } from './handshake.ts';
import { createMask } from './mask.ts';
import { type Answer, RequestError, type RequestLimits, Requests } from './requests.ts';
import { createResultMask } from './result-mask.ts';
import { secretsOf } from './secrets.ts';
import type { ServerExit } from './server-process.ts';
import { StdioTransport } from './stdio-transport.ts';

export { preloadClient } from './handshake.ts';

/** What a server said about itself, and where it runs. */
export interface ServerInfo {
  readonly name: string;
  /** For example `2025-11-25`. */
  readonly protocolVersion: string;
  readonly serverName: string | undefined;
  readonly serverVersion: string | undefined;
  readonly instructions: string | undefined;
  readonly capabilities: JsonObject;
  readonly cwd: string;
  readonly pid: number;
}

export interface Connection {
  readonly info: ServerInfo;
  /** Resolves when the server is gone, for whatever reason. Never rejects. */
  readonly exited: Promise<ServerExit>;
  isOpen(): boolean;
  /** Rejects with `RequestError`, or with the `BridgeError` `SERVER_EXITED`. */
  request(method: string, params: JsonObject, limits: RequestLimits): Promise<Answer>;
  /** As `request`, but gives the line of the response unread. */
  requestLine(method: string, params: JsonObject, limits: RequestLimits): Promise<Buffer>;
  /** `SERVER_EXITED` for this end, with the end of stderr. */
  failureOf(exit: ServerExit): BridgeError;
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly guardian: Guardian;
  readonly logger: Logger;
  readonly startTimeoutMs: number;
  /** Time a server has to answer `server/discover` before it is asked to `initialize`. */
  readonly probeTimeoutMs: number;
  /** Ends the start; the process is stopped. */
  readonly signal: CancelSignal;
  /** Hashes of definitions whose server ends when it is asked for `server/discover`. Read and added to. */
  readonly legacyServers: Set<string>;
  /** Called for each `notifications/tools/list_changed`. */
  readonly onToolsChanged: () => void;
  /** Whether secrets of the entry are masked in what the server says. */
  readonly masksSecrets: boolean;
}

/** Starts the server and connects to it. Rejects with `SERVER_START_FAILED`; nothing is left running then. */
export async function openConnection(definition: UpstreamDefinition, options: ConnectOptions): Promise<Connection> {
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
  definition: UpstreamDefinition,
  options: ConnectOptions,
  mode: HandshakeMode,
): Promise<Connection> {
  const failures = new Failures(definition);
  let isModern = false;
  // The transport hands messages to the requests, and the requests write to the transport: the loop is closed here.
  const requests: Requests = new Requests((message) => transport.send(message));
  const transport: StdioTransport = new StdioTransport({
    ...definition,
    env: childEnvironment(options.env, definition.env),
    guardian: options.guardian,
    logger: options.logger,
    lines: requests,
    mask: createResultMask(options.masksSecrets ? secretsOf(definition) : []),
    maskText: createMask(definition),
    intercept(message, bytes) {
      isModern ||= isDiscovery(message);
      return intercept(message, bytes, requests, options.onToolsChanged);
    },
  });
  try {
    await transport.start();
  } catch (error) {
    throw failures.notSpawned(error);
  }
  const deadline = createDeadline(options.startTimeoutMs, options.signal);
  try {
    const client = await shakeHands(transport, { ...options, mode, signal: deadline.signal });
    return await describe(definition, { client, transport, requests, failures });
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

interface Parts {
  readonly client: Client;
  readonly transport: StdioTransport;
  readonly requests: Requests;
  readonly failures: Failures;
}

async function describe(definition: UpstreamDefinition, parts: Parts): Promise<Connection> {
  const { client, transport, requests, failures } = parts;
  const protocolVersion = client.getNegotiatedProtocolVersion() ?? 'unknown';
  const envelope = await envelopeOf(client);
  if (envelope !== undefined) {
    requests.setEnvelope(envelope);
    subscribeToTools(client);
  }
  let isOpen = true;
  void transport.exited.then(() => {
    isOpen = false;
    requests.close();
  });
  const failureOf = (exit: ServerExit): BridgeError => failures.exited(exit, transport.lastStderrLines());
  async function explained<Value>(answer: Promise<Value>): Promise<Value> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof RequestError && error.kind === 'closed') {
        throw failureOf(await transport.exited);
      }
      throw error;
    }
  }
  return {
    info: {
      name: definition.name,
      protocolVersion,
      serverName: client.getServerVersion()?.name,
      serverVersion: client.getServerVersion()?.version,
      instructions: client.getInstructions(),
      capabilities: { ...client.getServerCapabilities() },
      cwd: definition.cwd ?? process.cwd(),
      pid: transport.pid ?? 0,
    },
    exited: transport.exited,
    isOpen: () => isOpen,
    request: (method, params, limits) => explained(requests.request(method, params, limits)),
    requestLine: (method, params, limits) => explained(requests.requestLine(method, params, limits)),
    failureOf,
    close: () => transport.close(),
  };
}

/** From 2026-07-28 on, news about tools come to those who ask for them. */
function subscribeToTools(client: Client): void {
  if (client.getServerCapabilities()?.tools?.listChanged === true) {
    // Not awaited: calls need no subscription, and without one the list is that of the last start.
    client.listen({ toolsListChanged: true }).catch((error: unknown) => client.onerror?.(new Error(messageOf(error))));
  }
}

/** Answers to our requests and news about tools are taken; floods the SDK would only drop are dropped here. */
function intercept(message: JsonObject, bytes: number, requests: Requests, onToolsChanged: () => void): boolean {
  switch (message['method']) {
    case undefined:
      return requests.accept(message, bytes);
    case 'notifications/tools/list_changed':
      onToolsChanged();
      return true;
    case 'notifications/progress':
      requests.acceptProgress(message['params']);
      return true;
    case 'notifications/message':
      return true;
    default:
      return false;
  }
}

function explainHandshake(error: unknown, options: ConnectOptions, deadline: CancelSignal): string {
  if (options.signal.aborted) {
    return 'it was ended while it was starting';
  }
  return deadline.aborted ? `no answer to initialize within ${options.startTimeoutMs / 1000} s` : messageOf(error);
}

/** Whether a message is the answer of a server that speaks 2026-07-28 or later to `server/discover`. */
function isDiscovery({ result }: JsonObject): boolean {
  return isJsonObject(result) && Array.isArray(result['supportedVersions']);
}
