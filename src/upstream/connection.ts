/**
 * One running server and the MCP connection to it. The SDK's client does the handshake of both protocol eras; tool
 * calls and tool lists go past it (see requests.ts). Nothing is offered to servers: no sampling, elicitation or roots.
 */
import type { Client } from '@modelcontextprotocol/client';
import { type BridgeError, messageOf } from '../errors.ts';
import type { Logger } from '../log.ts';
import { VERSION } from '../package.ts';
import { childEnvironment } from './child-env.ts';
import { createDeadline, unlessAborted } from './deadline.ts';
import type { JsonObject, UpstreamDefinition } from './definition.ts';
import { Failures } from './failures.ts';
import type { Guardian } from './guardian.ts';
import { type Answer, RequestError, type RequestLimits, Requests } from './requests.ts';
import { type ServerExit, StdioTransport } from './stdio-transport.ts';

const CLIENT_INFO = { name: 'mcp-server-code-execution-mode', version: VERSION };
/** A cold `npx` or `uvx` downloads the server first. Chosen. */
export const SERVER_START_TIMEOUT_MS = 60_000;
/**
 * A server that does not know `server/discover` answers with an error at once; one that stays silent is asked to
 * `initialize` after this long. Chosen; of 31 real servers none stayed silent.
 */
const PROBE_TIMEOUT_MS = 5_000;

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
  /** `SERVER_EXITED` for this end, with the end of stderr. */
  failureOf(exit: ServerExit): BridgeError;
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly guardian: Guardian;
  readonly logger: Logger;
  readonly startTimeoutMs: number;
  /** Ends the start; the process is stopped. */
  readonly signal: AbortSignal;
  /** Hashes of definitions whose server ends when it is asked for `server/discover`. Read and added to. */
  readonly legacyServers: Set<string>;
  /** Called for each `notifications/tools/list_changed`. */
  readonly onToolsChanged: () => void;
}

/** Starts the server and connects to it. Rejects with `SERVER_START_FAILED`; nothing is left running then. */
export async function openConnection(definition: UpstreamDefinition, options: ConnectOptions): Promise<Connection> {
  const { legacyServers, logger } = options;
  if (legacyServers.has(definition.definitionHash)) {
    return attempt(definition, options, 'legacy');
  }
  try {
    return await attempt(definition, options, 'auto');
  } catch (error) {
    if (!(error instanceof EndedDuringProbeError)) {
      throw error;
    }
    // Some servers of older SDKs end at the first request that is not `initialize`: a new process, asked the old way.
    logger.debug(`Server '${definition.name}' ended when asked for its era; starting it again with initialize`);
    const connection = await attempt(definition, options, 'legacy');
    legacyServers.add(definition.definitionHash);
    return connection;
  }
}

class EndedDuringProbeError extends Error {}

type Handshake = 'auto' | 'legacy';

async function attempt(
  definition: UpstreamDefinition,
  options: ConnectOptions,
  handshake: Handshake,
): Promise<Connection> {
  const failures = new Failures(definition);
  // The transport hands messages to the requests, and the requests write to the transport: the loop is closed here.
  const requests: Requests = new Requests((message) => transport.send(message));
  const transport: StdioTransport = new StdioTransport({
    ...definition,
    env: childEnvironment(options.env, definition.env),
    guardian: options.guardian,
    logger: options.logger,
    intercept: (message, bytes) => intercept(message, bytes, requests, options.onToolsChanged),
  });
  try {
    await transport.start();
  } catch (error) {
    throw failures.notSpawned(error);
  }
  const deadline = createDeadline(options.startTimeoutMs, options.signal);
  try {
    const client = await handshakeWith(transport, options, handshake, deadline.signal);
    return await describe(definition, { client, transport, requests, failures });
  } catch (error) {
    const { endedItself } = transport;
    await transport.close();
    if (endedItself && handshake === 'auto' && !deadline.signal.aborted) {
      throw new EndedDuringProbeError();
    }
    throw endedItself
      ? failures.endedAtStart(await transport.exited, transport.lastStderrLines())
      : failures.notReady(explainHandshake(error, options, deadline.signal), transport.lastStderrLines());
  } finally {
    deadline.clear();
  }
}

async function handshakeWith(
  transport: StdioTransport,
  options: ConnectOptions,
  handshake: Handshake,
  signal: AbortSignal,
): Promise<Client> {
  const sdk = await import('@modelcontextprotocol/client');
  const client = new sdk.Client(CLIENT_INFO, {
    capabilities: {},
    inputRequired: { autoFulfill: false },
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_TIMEOUT_MS } },
  });
  client.onerror = (error) => options.logger.debug(`MCP client: ${messageOf(error)}`);
  await unlessAborted(
    client.connect(transport, {
      timeout: options.startTimeoutMs,
      ...(handshake === 'legacy' ? { prior: { kind: 'legacy' as const } } : {}),
    }),
    signal,
  );
  return client;
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
  if (client.getProtocolEra() === 'modern') {
    await useModernEra(client, requests, protocolVersion);
  }
  let isOpen = true;
  void transport.exited.then(() => {
    isOpen = false;
    requests.close();
  });
  const failureOf = (exit: ServerExit): BridgeError => failures.exited(exit, transport.lastStderrLines());
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
    async request(method, params, limits) {
      try {
        return await requests.request(method, params, limits);
      } catch (error) {
        if (error instanceof RequestError && error.kind === 'closed') {
          throw failureOf(await transport.exited);
        }
        throw error;
      }
    },
    failureOf,
    close: () => transport.close(),
  };
}

/** From 2026-07-28 on every message says who speaks which version, and changes of the list are subscribed to. */
async function useModernEra(client: Client, requests: Requests, protocolVersion: string): Promise<void> {
  const sdk = await import('@modelcontextprotocol/client');
  requests.setEnvelope({
    [sdk.PROTOCOL_VERSION_META_KEY]: protocolVersion,
    [sdk.CLIENT_INFO_META_KEY]: CLIENT_INFO,
    [sdk.CLIENT_CAPABILITIES_META_KEY]: {},
  });
  if (client.getServerCapabilities()?.tools?.listChanged === true) {
    // Not awaited: calls need no subscription. A server without it is asked again for its list by the next start.
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
    case 'notifications/message':
    case 'notifications/progress':
      return true;
    default:
      return false;
  }
}

function explainHandshake(error: unknown, options: ConnectOptions, deadline: AbortSignal): string {
  if (options.signal.aborted) {
    return 'the bridge is closing';
  }
  return deadline.aborted ? `no answer to initialize within ${options.startTimeoutMs / 1000} s` : messageOf(error);
}

/** Loads the client half of the SDK, 90 ms that the first call need not wait for. Starts nothing. */
export async function preloadClient(): Promise<void> {
  await import('@modelcontextprotocol/client');
}
