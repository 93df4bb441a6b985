/**
 * A connection to one MCP server, however the server is reached: what it offers the rest of the bridge, and how it is made
 * from a transport, the SDK's client and the requests that bypass that client.
 */
import type { Client, JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { CancelSignal } from '../../core/base/cancel.ts';
import type { HandleEgress } from '../../core/base/egress-exchange.ts';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { workingFolder } from '../../core/base/home.ts';
import type { JsonObject } from '../../core/base/is-object.ts';
import type { Logger } from '../../core/base/log.ts';
import type { UpstreamDefinition } from '../../core/base/server-definition.ts';
import { RequestError } from '../../core/protocol/server-requests.ts';
import { ServerQuestions } from './elicitation-protocol.ts';
import type { Failures, NotReady } from './failures.ts';
import type { Guardian } from './guardian.ts';
import { type ElicitationOffer, envelopeOf } from './handshake.ts';
import { remoteFailureIn } from './http/remote-failure.ts';
import type { InviteLogin } from './oauth/authorization.ts';
import type { LoginStore } from './oauth/login-store.ts';
import type { ServerObserver } from './observer.ts';
import type { StartLimits } from './package-runner.ts';
import { type Answer, type RequestLimits, Requests } from './requests.ts';
import type { ServerExit } from './server-process.ts';
import type { UpstreamTool } from './tool-list.ts';

/** What a server says about itself, and where it runs. */
export interface ServerInfo {
  readonly name: string;
  /** For example `2025-11-25`. */
  readonly protocolVersion: string;
  readonly serverName: string | undefined;
  readonly serverVersion: string | undefined;
  readonly instructions: string | undefined;
  readonly capabilities: JsonObject;
  /** `cwd` and `pid` are undefined for a remote server. */
  readonly cwd: string | undefined;
  readonly pid: number | undefined;
}

export interface ServerConnection {
  readonly info: ServerInfo;
  /** Resolves when the server is gone, for whatever reason. Never rejects. */
  readonly exited: Promise<ServerExit>;
  isOpen(): boolean;
  /**
   * Rejects with `RequestError`, with the `BridgeError`s `SERVER_EXITED`, `SERVER_UNREACHABLE`, `SERVER_PROTOCOL` and
   * `LOGIN_REQUIRED`, and with `SessionLostError`.
   */
  request(method: string, params: JsonObject, limits: RequestLimits): Promise<Answer>;
  /** Like `request`, but resolves with the unparsed line of the response. */
  requestLine(method: string, params: JsonObject, limits: RequestLimits): Promise<Buffer>;
  /**
   * Records what calls of the listed tools must repeat in headers, and returns the tools that may be called. Undefined if
   * calls on this connection need no such knowledge.
   */
  readonly admitTools?: ((tools: readonly UpstreamTool[]) => AdmittedTools) | undefined;
  /** What is missing from the tools that it lists, one clause each, if it is made of a description. */
  readonly notices?: (() => readonly string[]) | undefined;
  /** Sends a request of code's own to the API with the credentials of the entry; undefined if the entry allows none. */
  readonly sendEgress?: HandleEgress | undefined;
  /** The `SERVER_EXITED` error for this exit, with the end of stderr. */
  failureOf(exit: ServerExit): BridgeError;
  close(): Promise<void>;
}

/** The listed tools that may be called on a connection, and a notice for each of the others. */
export interface AdmittedTools {
  readonly tools: readonly UpstreamTool[];
  readonly notices: readonly string[];
}

/** The SDK's transport, with what the bridge also needs to know. Implemented for stdio, Streamable HTTP and HTTP+SSE. */
export interface ServerTransport extends Transport {
  /** Resolves when the connection is gone and everything received has been read. Never rejects. */
  readonly exited: Promise<ServerExit>;
  /** Process id, if the bridge started a process. */
  readonly pid?: number | null;
  /** Whether the server ended without being asked to. */
  readonly endedItself: boolean;
  /** Whether new messages are refused while answers still arrive. New messages need a new connection. */
  readonly isLost?: boolean;
  /** See `ServerConnection.admitTools`. Only over Streamable HTTP. */
  admitTools?(tools: readonly UpstreamTool[]): AdmittedTools;
  /** The last lines that the server wrote to stderr; empty for a remote server. */
  lastStderrLines(): string;
}

/** `resolved`: the references in its entry have values; `started`: its process runs; `ready`: the handshake is done. */
export type StartStep = 'resolved' | 'started' | 'ready';

export interface ConnectOptions extends StartLimits {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly guardian: Guardian;
  readonly logger: Logger;
  /** How long a server may take to answer `server/discover` before it is sent `initialize`. */
  readonly probeTimeoutMs: number;
  /** Aborts the start and stops the process. */
  readonly signal: CancelSignal;
  /** Where compiled descriptions of APIs are kept; undefined if they are not. */
  readonly descriptionsDir?: string | undefined;
  /** What the placeholders of keys in sandboxes derive from. Rejects if that cannot be read. */
  readonly egressSeed?: (() => Promise<Buffer>) | undefined;
  /** Logins at remote servers; undefined if there are none. */
  readonly logins: LoginStore | undefined;
  /** Where a person can log in who cannot use a terminal of this machine. */
  readonly inviteLogin?: InviteLogin | undefined;
  /** Hashes of definitions whose server exits when it receives `server/discover`. Read and extended. */
  readonly legacyServers: Set<string>;
  /** Called for each `notifications/tools/list_changed`. */
  readonly onToolsChanged: () => void;
  /** Called when the server asks the person something while no call can ask. */
  readonly onUnasked: () => void;
  /** Whether secrets of the entry are masked in the messages of the server. */
  readonly masksSecrets: boolean;
  /** Called as a start proceeds. A step is reported twice if the server has to be started in another way. */
  readonly onStep?: ((step: StartStep) => void) | undefined;
  /** Called when a package runner has been started, with a function that returns the last line of its stderr. */
  readonly onRunner?: ((runner: string, said: () => string) => void) | undefined;
  readonly observer?: ServerObserver | undefined;
  /** The kinds of questions to the person that the bridge announces to the server; read when the server starts. */
  readonly elicitation: () => ElicitationOffer;
}

/** The server forgot this session and did nothing: the request may be sent again on a new connection. */
export class SessionLostError extends Error {
  /** The error to report if the second attempt fails too. */
  readonly failure: BridgeError;

  constructor(failure: BridgeError) {
    super(failure.message);
    this.failure = failure;
  }
}

/** The bridge's own traffic on one transport: its requests, and the questions of the server. */
interface Traffic {
  readonly requests: Requests;
  /** What the handshake tells the server. */
  readonly elicitation: ElicitationOffer;
  /** Sees every message before the SDK does; true keeps the message from the SDK. */
  readonly intercept: (message: JsonObject, bytes: number) => boolean;
  /** Sets the transport, which needs `requests` and `intercept` to be created. */
  attach(transport: ServerTransport): void;
}

export function createTraffic({
  elicitation: offer,
  onToolsChanged,
  onUnasked,
}: Pick<ConnectOptions, 'elicitation' | 'onToolsChanged' | 'onUnasked'>): Traffic {
  let transport: ServerTransport | undefined;
  const send = (message: JSONRPCMessage): Promise<void> =>
    transport?.send(message) ?? Promise.reject(new Error('Not connected'));
  const requests = new Requests(send);
  const elicitation = offer();
  // Without an offer, the SDK refuses the questions.
  const questions = elicitation && new ServerQuestions(requests, send, onUnasked);
  return {
    requests,
    elicitation,
    attach(opened) {
      transport = opened;
    },
    intercept(message, bytes) {
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
          // The SDK would only drop them, and servers send floods of them.
          return true;
        case 'elicitation/create':
          questions?.accept(message);
          return questions !== undefined;
        case 'notifications/cancelled':
          return questions?.cancel(message['params']) === true;
        default:
          return false;
      }
    },
  };
}

interface Parts extends Pick<Traffic, 'requests' | 'elicitation'> {
  readonly client: Client;
  readonly transport: ServerTransport;
  readonly failures: Failures;
}

/** Builds the connection from its parts, once the handshake is done. */
export async function establish(definition: UpstreamDefinition, parts: Parts): Promise<ServerConnection> {
  const { client, transport, requests, failures, elicitation } = parts;
  const protocolVersion = client.getNegotiatedProtocolVersion() ?? 'unknown';
  const envelope = await envelopeOf(client, elicitation);
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
  const explain = async (error: unknown): Promise<never> => {
    if (!(error instanceof RequestError) || error.kind !== 'closed') {
      throw error;
    }
    const explanation = explainSend(error.cause, failures);
    // Only a broken pipe means that the end of the process will follow. Waiting for it in other cases could hang.
    const isOfPipe = definition.url === undefined || error.cause === undefined;
    throw explanation ?? (isOfPipe ? failureOf(await transport.exited) : failures.ofUnknown(error.cause));
  };
  return {
    info: {
      name: definition.name,
      protocolVersion,
      serverName: client.getServerVersion()?.name,
      serverVersion: client.getServerVersion()?.version,
      instructions: client.getInstructions(),
      capabilities: { ...client.getServerCapabilities() },
      cwd: definition.url === undefined ? (definition.cwd ?? workingFolder()) : undefined,
      pid: transport.pid ?? undefined,
    },
    exited: transport.exited,
    isOpen: () => isOpen && transport.isLost !== true,
    request: (method, params, limits) => requests.request(method, params, limits).catch(explain),
    requestLine: (method, params, limits) => requests.requestLine(method, params, limits).catch(explain),
    // Headers that repeat arguments exist since 2026-07-28, like the envelope.
    admitTools: envelope === undefined ? undefined : transport.admitTools?.bind(transport),
    failureOf,
    close: () => transport.close(),
  };
}

/** The connection with its requests watched. */
export function observeConnection(
  connection: ServerConnection,
  observer: ServerObserver | undefined,
): ServerConnection {
  if (observer === undefined) {
    return connection;
  }
  const { protocolVersion } = connection.info;
  return {
    ...connection,
    request: (method, params, limits) =>
      observer.request({ method, params, protocolVersion }, (watched) =>
        connection.request(method, params, { ...limits, ...watched }),
      ),
    requestLine: (method, params, limits) =>
      observer.request({ method, params, protocolVersion }, (watched) =>
        connection.requestLine(method, params, { ...limits, ...watched }),
      ),
  };
}

/** What a failed send means for a remote server; undefined for the pipe of a process that ended. */
function explainSend(cause: unknown, failures: Failures): Error | undefined {
  const failure = remoteFailureIn(cause);
  if (failure === undefined) {
    return cause instanceof BridgeError ? cause : undefined;
  }
  const explained = failures.ofRemote(failure, true);
  return failure.kind === 'session' ? new SessionLostError(explained) : explained;
}

/** Since 2026-07-28, servers send changes of their tools only to subscribers. */
function subscribeToTools(client: Client): void {
  if (client.getServerCapabilities()?.tools?.listChanged === true) {
    // Not awaited: calls need no subscription, and without one the list of the last start stays in use.
    client.listen({ toolsListChanged: true }).catch((error: unknown) => client.onerror?.(new Error(messageOf(error))));
  }
}

/** Why a handshake failed. `overdue` says which time limit has passed, if one has. */
export function explainHandshake(error: unknown, stopped: CancelSignal, overdue: string | undefined): NotReady {
  if (stopped.aborted) {
    return { reason: 'it was stopped while it was starting' };
  }
  return overdue === undefined ? { reason: messageOf(error) } : { reason: overdue, isLate: true };
}
