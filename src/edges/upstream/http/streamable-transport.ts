/**
 * MCP over Streamable HTTP (specifications 2025-11-25 with sessions, and 2026-07-28 without): each message is a POST whose
 * response is JSON or an event stream. docs/internals/decisions/026-remote-servers.md says why the SDK's transport (2.4.0) is
 * not used. The SDK's client does the handshake on this one.
 */

import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client';
import { isObject, type JsonObject } from '../../../core/base/is-object.ts';
import { stringifyExact } from '../../../core/protocol/exact-json.ts';
import { JSON_BOUNDS, readUntrusted } from '../../../core/protocol/untrusted-json.ts';
import type { AdmittedTools, ServerTransport } from '../connection.ts';
import { isMessageId, type MessageHandlers, type MessageId, MessageIntake } from '../message-intake.ts';
import type { ServerExit } from '../server-process.ts';
import type { UpstreamTool } from '../tool-list.ts';
import { discardBody, type HttpResponse } from './http-client.ts';
import { NotificationStream } from './notification-stream.ts';
import { asSdkError, type RemoteAddress, RemoteClient } from './remote-client.ts';
import { RemoteFailure } from './remote-failure.ts';
import { type HeaderParameters, modernHeaders, parameterHeaders, sortByHeaders } from './request-headers.ts';
import { mediaType, ResponseReader } from './response-reader.ts';

/** How long to wait for a server to end its session. Chosen, short because the shutdown of the bridge waits for it. */
const END_SESSION_MS = 1_000;
/** How long to wait until a server accepts that a request is cancelled. Chosen. */
const CANCEL_MS = 1_000;
const ACCEPTED_TYPES = 'application/json, text/event-stream';

export interface StreamableTransportOptions extends MessageHandlers, RemoteAddress {}

export class StreamableTransport implements ServerTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  /** Tells the SDK that ending the stream cancels a request, as of 2026-07-28. */
  readonly hasPerRequestStream = true;
  readonly exited: Promise<ServerExit>;

  readonly #options: StreamableTransportOptions;
  readonly #client: RemoteClient;
  readonly #intake: MessageIntake;
  readonly #responses: ResponseReader;
  readonly #running = new Map<MessageId | symbol, AbortController>();
  readonly #notifications: NotificationStream;
  #resolveExited: (exit: ServerExit) => void = () => undefined;
  #protocolVersion: string | undefined;
  #parameters: HeaderParameters = new Map();
  #sessionId: string | undefined;
  #closing: Promise<void> | undefined;
  #endedItself = false;
  #isSessionLost = false;
  #isOver = false;

  constructor(options: StreamableTransportOptions) {
    this.#options = options;
    this.#client = new RemoteClient(options);
    this.#intake = new MessageIntake(options, (message) => this.onmessage?.(message as unknown as JSONRPCMessage));
    this.#responses = new ResponseReader(this.#intake, (lastEventId, signal) => this.#resume(lastEventId, signal));
    this.#notifications = new NotificationStream({
      open: (headers, signal) => this.#get(headers, signal),
      onMessage: (data) => this.#intake.handleLine(data),
      onSessionLost: () => this.#loseSession(),
      log: (text) => options.logger.debug(`Server '${options.name}': ${text}`),
    });
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
  }

  get endedItself(): boolean {
    return this.#endedItself;
  }

  get isLost(): boolean {
    return this.#isSessionLost;
  }

  lastStderrLines(): string {
    return '';
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
  }

  /** Connects to nothing yet. */
  async start(): Promise<void> {}

  /**
   * Sends one message. For a request, it resolves when the response has been delivered. It rejects with an error that the
   * SDK understands: a `RemoteFailure`, or an error with one among its causes.
   */
  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    const sent = message as unknown as JsonObject;
    if (this.#isOver || this.#isSessionLost) {
      throw new RemoteFailure('session', 'is no longer connected');
    }
    this.#intake.noteSent(sent);
    if (sent['method'] === 'notifications/cancelled') {
      await this.#cancel(sent);
      return;
    }
    const id = sent['method'] !== undefined && isMessageId(sent['id']) ? sent['id'] : undefined;
    const abort = new AbortController();
    const key = id ?? Symbol('notification');
    options.requestSignal?.addEventListener('abort', () => abort.abort(), { once: true });
    this.#running.set(key, abort);
    try {
      await this.#exchange(sent, id, abort.signal);
      options.onRequestStreamEnd?.();
    } catch (error) {
      if (!abort.signal.aborted) {
        throw error;
      }
    } finally {
      this.#running.delete(key);
      if (id !== undefined) {
        this.#intake.forget(id);
      }
      this.#endIfIdle();
    }
  }

  /** Ends the session at the server, within a second, and closes every socket. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#abortAll();
    if (this.#sessionId !== undefined && !this.#isOver && !this.#isSessionLost) {
      const signal = AbortSignal.timeout(END_SESSION_MS);
      const request = { url: this.#options.url, method: 'DELETE' as const, headers: this.#headers(), signal };
      // Failure does no harm: the server may be gone, or may not support ending sessions.
      await this.#client.send(request).catch(() => undefined);
    }
    this.#end(false);
  }

  /** Other requests on this session still get their responses before the connection ends. */
  #loseSession(): void {
    this.#isSessionLost = true;
    this.#notifications.stop();
    this.#endIfIdle();
  }

  #endIfIdle(): void {
    if (this.#isSessionLost && this.#running.size === 0) {
      // Deferred, so that the caller of the failed request sees its error first.
      setImmediate(() => this.#end(true));
    }
  }

  /** Ends the connection. Later messages are refused. */
  #end(isByServer: boolean): void {
    if (this.#isOver) {
      return;
    }
    this.#isOver = true;
    this.#endedItself = isByServer;
    this.#abortAll();
    this.#intake.close();
    this.#client.close();
    this.#resolveExited({ exitCode: undefined, signal: undefined });
    this.onclose?.();
  }

  #abortAll(): void {
    this.#notifications.stop();
    [...this.#running.values()].forEach((abort) => abort.abort());
  }

  /** Servers before 2026-07-28 are sent the notification. Later ones notice that the stream was closed. */
  async #cancel(sent: JsonObject): Promise<void> {
    const id = isObject(sent['params']) ? (sent['params']['requestId'] as MessageId) : '';
    if (Object.keys(modernHeaders(sent)).length === 0) {
      // The request ends even if the server never accepts that: what it has sent so far is still in memory.
      const response = await this.#post(sent, AbortSignal.timeout(CANCEL_MS)).catch(() => undefined);
      if (response !== undefined) {
        discardBody(response);
      }
    }
    this.#running.get(id)?.abort();
  }

  async #exchange(sent: JsonObject, id: MessageId | undefined, signal: AbortSignal): Promise<void> {
    const response = await this.#post(sent, signal);
    if (response === undefined) {
      this.#options.logger.debug(`Server '${this.#options.name}' accepts no answers to its requests`);
      return;
    }
    if (response.status < 200 || response.status > 299) {
      await this.#refuse(response, sent, id);
      return;
    }
    if (sent['method'] === 'initialize') {
      const session = response.headers['mcp-session-id'];
      this.#sessionId = typeof session === 'string' ? session : undefined;
    }
    if (id === undefined) {
      discardBody(response);
      if (sent['method'] === 'notifications/initialized') {
        this.#notifications.start();
      }
      return;
    }
    await this.#responses.read(response, id, signal);
  }

  /** A refusal with a JSON-RPC error is the response to the request. Every other refusal is thrown. */
  async #refuse(response: HttpResponse, sent: JsonObject, id: MessageId | undefined): Promise<void> {
    const refused = await this.#client.refusalOf(response);
    if (sent['method'] !== 'initialize' && this.#hasForgotten(refused)) {
      this.#loseSession();
      throw new RemoteFailure('session', `has forgotten this session (HTTP ${refused.status})`, refused);
    }
    const error = sent['method'] === 'initialize' ? undefined : rpcErrorIn(refused.text);
    if (id === undefined || error === undefined) {
      throw asSdkError(refused);
    }
    this.#intake.handleMessage({ jsonrpc: '2.0', id, error }, refused.text.length);
  }

  /** The specification requires 404. Servers of some SDKs return 400 and mention the session in the text. */
  #hasForgotten({ status, text }: { readonly status: number; readonly text: string }): boolean {
    return this.#sessionId !== undefined && (status === 404 || (status === 400 && /session/i.test(text)));
  }

  admitTools(tools: readonly UpstreamTool[]): AdmittedTools {
    const { parameters, ...admitted } = sortByHeaders(tools);
    this.#parameters = parameters;
    return admitted;
  }

  async #resume(lastEventId: string, signal: AbortSignal): Promise<HttpResponse> {
    const response = await this.#get({ 'last-event-id': lastEventId }, signal);
    if (response.status !== 200 || mediaType(response) !== 'text/event-stream') {
      throw (await this.#client.refusalOf(response)).failure;
    }
    return response;
  }

  #headers(): Record<string, string> {
    return {
      ...(this.#sessionId === undefined ? {} : { 'mcp-session-id': this.#sessionId }),
      ...(this.#protocolVersion === undefined ? {} : { 'mcp-protocol-version': this.#protocolVersion }),
    };
  }

  /** Undefined for an answer that is not sent, because the server does not accept earlier ones. */
  #post(sent: JsonObject, signal: AbortSignal | undefined): Promise<HttpResponse | undefined> {
    const headers = {
      ...(sent['method'] === 'initialize' ? {} : this.#headers()),
      ...modernHeaders(sent),
      ...parameterHeaders(sent, this.#parameters),
      accept: ACCEPTED_TYPES,
      'content-type': 'application/json',
    };
    const request = { url: this.#options.url, method: 'POST' as const, headers, body: stringifyExact(sent), signal };
    return sent['method'] === undefined ? this.#client.sendAnswer(request) : this.#client.send(request);
  }

  #get(headers: Record<string, string>, signal: AbortSignal): Promise<HttpResponse> {
    const all = { ...this.#headers(), ...headers, accept: 'text/event-stream' };
    return this.#client.send({ url: this.#options.url, method: 'GET', headers: all, signal });
  }
}

function rpcErrorIn(text: string): JsonObject | undefined {
  // What is not JSON comes from a proxy or web server, and its text is quoted in the refusal.
  const read = readUntrusted(text, JSON_BOUNDS.serverMessage);
  const body = read.ok ? read.value : undefined;
  return isObject(body) && isObject(body['error']) && body['jsonrpc'] === '2.0' ? body['error'] : undefined;
}
