/** A connection on which hands were shaken: requests past the SDK's client, its own messages, and how both end. */
import type { Client } from '@modelcontextprotocol/client';
import type { CancelSignal } from '../base/cancel.ts';
import { BridgeError, messageOf } from '../base/errors.ts';
import type { JsonObject } from '../base/is-object.ts';
import type { UpstreamDefinition } from '../base/server-definition.ts';
import { type ConnectOptions, type ServerConnection, SessionLostError } from './connection.ts';
import type { ElicitationOffer } from './elicit.ts';
import type { ServerQuestions } from './elicitation.ts';
import type { Failures, NotReady } from './failures.ts';
import { envelopeOf } from './handshake.ts';
import { remoteFailureIn } from './http/remote-failure.ts';
import { RequestError, type Requests } from './requests.ts';
import type { ServerExit } from './server-process.ts';
import type { ServerTransport } from './transport.ts';

/** What an open connection is made of. */
interface Parts {
  readonly client: Client;
  readonly transport: ServerTransport;
  readonly requests: Requests;
  readonly failures: Failures;
  /** What the server was told in the handshake. */
  readonly elicitation: ElicitationOffer;
}

/** The connection that these parts are, once hands were shaken. */
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
    // Only a pipe that cannot be written to is one that ends: nothing else may wait for an end that may never come.
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
      cwd: definition.url === undefined ? (definition.cwd ?? process.cwd()) : undefined,
      pid: transport.pid ?? undefined,
    },
    exited: transport.exited,
    isOpen: () => isOpen && transport.isLost !== true,
    request: (method, params, limits) => requests.request(method, params, limits).catch(explain),
    requestLine: (method, params, limits) => requests.requestLine(method, params, limits).catch(explain),
    // Headers that repeat arguments came with 2026-07-28, as the envelope did.
    admitTools: envelope === undefined ? undefined : transport.admitTools?.bind(transport),
    failureOf,
    close: () => transport.close(),
  };
}

/** What a message that could not be sent means at a remote server; undefined for the pipe of a process that ended. */
function explainSend(cause: unknown, failures: Failures): Error | undefined {
  const failure = remoteFailureIn(cause);
  if (failure === undefined) {
    return cause instanceof BridgeError ? cause : undefined;
  }
  const explained = failures.ofRemote(failure, true);
  return failure.kind === 'session' ? new SessionLostError(explained) : explained;
}

/** From 2026-07-28 on, news about tools come to those who ask for them. */
function subscribeToTools(client: Client): void {
  if (client.getServerCapabilities()?.tools?.listChanged === true) {
    // Not awaited: calls need no subscription, and without one the list is that of the last start.
    client.listen({ toolsListChanged: true }).catch((error: unknown) => client.onerror?.(new Error(messageOf(error))));
  }
}

interface Interceptors {
  /** Undefined when nobody can be asked: then the SDK refuses. */
  readonly questions: ServerQuestions | undefined;
  readonly onToolsChanged: () => void;
}

/** Answers to our requests, questions to the person and news about tools are taken; floods the SDK would only drop are dropped here. */
export function intercept(message: JsonObject, bytes: number, requests: Requests, others: Interceptors): boolean {
  const { questions, onToolsChanged } = others;
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
    case 'elicitation/create':
      questions?.accept(message);
      return questions !== undefined;
    case 'notifications/cancelled':
      return questions?.cancel(message['params']) === true;
    default:
      return false;
  }
}

/** Why hands were not shaken. */
export function explainHandshake(error: unknown, options: ConnectOptions, deadline: CancelSignal): NotReady {
  if (options.signal.aborted) {
    return { reason: 'it was ended while it was starting' };
  }
  return deadline.aborted
    ? { reason: `no answer to initialize within ${options.startTimeoutMs / 1000} s`, isLate: true }
    : { reason: messageOf(error) };
}
