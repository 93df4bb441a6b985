/**
 * MCP over HTTP with server-sent events (specification 2024-11-05): one stream carries everything that the server sends, and
 * messages are posted to the address that its first event names. The connection ends with the stream.
 */
import { setMaxListeners } from 'node:events';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../../core/base/is-object.ts';
import { MAX_RESULT_BYTES } from '../../../core/base/limits.ts';
import { escapeControls } from '../../../core/base/log.ts';
import { stringifyExact } from '../../../core/protocol/exact-json.ts';
import type { ServerTransport } from '../connection.ts';
import { type MessageHandlers, MessageIntake } from '../message-intake.ts';
import type { ServerExit } from '../server-process.ts';
import { readEvents, StreamPosition } from './event-stream.ts';
import { discardBody, type HttpResponse } from './http-client.ts';
import { type RemoteAddress, RemoteClient } from './remote-client.ts';
import { RemoteFailure, unreachable } from './remote-failure.ts';
import { mediaType } from './response-reader.ts';
import { EventTooLongError, type SseEvent } from './sse-events.ts';

export interface SseTransportOptions extends MessageHandlers, RemoteAddress {}

export class SseTransport implements ServerTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  readonly exited: Promise<ServerExit>;

  readonly #options: SseTransportOptions;
  readonly #client: RemoteClient;
  readonly #intake: MessageIntake;
  readonly #ended = new AbortController();
  #resolveExited: (exit: ServerExit) => void = () => undefined;
  #endpoint: URL | undefined;
  #protocolVersion: string | undefined;
  #endedItself = false;

  constructor(options: SseTransportOptions) {
    this.#options = options;
    // Each message that is being posted adds a listener.
    setMaxListeners(0, this.#ended.signal);
    this.#client = new RemoteClient(options);
    this.#intake = new MessageIntake(options, (message) => this.onmessage?.(message as unknown as JSONRPCMessage));
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
  }

  get endedItself(): boolean {
    return this.#endedItself;
  }

  lastStderrLines(): string {
    return '';
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
  }

  /** Opens the stream; resolves when the server has named the address for messages. Rejects with a `RemoteFailure`. */
  async start(): Promise<void> {
    const { url } = this.#options;
    const { signal } = this.#ended;
    const response = await this.#client.send({ url, method: 'GET', headers: { accept: 'text/event-stream' }, signal });
    if (response.status !== 200) {
      throw (await this.#client.refusalOf(response)).failure;
    }
    if (mediaType(response) !== 'text/event-stream') {
      response.body.destroy();
      throw new RemoteFailure(
        'protocol',
        `answered with content of type '${mediaType(response).slice(0, 100)}'`,
        response,
      );
    }
    await this.#listen(response);
  }

  /** Posts one message; resolves when the server has accepted it. Rejects with a `RemoteFailure`. */
  async send(message: JSONRPCMessage): Promise<void> {
    const sent = message as unknown as JsonObject;
    if (this.#endpoint === undefined || this.#ended.signal.aborted) {
      throw new RemoteFailure('session', 'is no longer connected');
    }
    this.#intake.noteSent(sent);
    const version = this.#protocolVersion;
    const request = {
      url: this.#endpoint,
      method: 'POST' as const,
      headers: {
        'content-type': 'application/json',
        ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
      },
      body: stringifyExact(sent),
      signal: this.#ended.signal,
    };
    const isAnswer = sent['method'] === undefined;
    const response = await (isAnswer ? this.#client.sendAnswer(request) : this.#client.send(request));
    if (response === undefined) {
      this.#options.logger.debug(`Server '${this.#options.name}' accepts no answers to its requests`);
      return;
    }
    if (response.status < 200 || response.status > 299) {
      throw (await this.#client.refusalOf(response)).failure;
    }
    discardBody(response);
  }

  /** Closes the stream and every socket. */
  async close(): Promise<void> {
    this.#end(false);
  }

  #listen(response: HttpResponse): Promise<void> {
    return new Promise((resolve, reject) => {
      const ended = readEvents(response.body, MAX_RESULT_BYTES, new StreamPosition(), {
        onEvent: (event) => {
          if (event.name === 'endpoint') {
            this.#takeEndpoint(event).then(resolve, reject);
          } else if (event.name === 'message') {
            this.#intake.handleLine(event.data);
          }
        },
      });
      ended
        .catch((error: unknown) => {
          if (error instanceof EventTooLongError) {
            this.#intake.failDropped({
              bytes: MAX_RESULT_BYTES + 1,
              id: undefined,
              isMessage: true,
              endsAsMessage: true,
            });
          }
          reject(unreachable(error));
        })
        .finally(() => {
          reject(new RemoteFailure('protocol', 'ended its stream before it named an address for messages', response));
          this.#end(true);
        });
    });
  }

  /** The address must be on the same server, because the entry's headers are sent there. */
  async #takeEndpoint({ data }: SseEvent): Promise<void> {
    const { url } = this.#options;
    const text = data.toString('utf8');
    const endpoint = URL.canParse(text, url.href) ? new URL(text, url) : undefined;
    if (endpoint?.origin !== url.origin) {
      this.#end(true);
      const shown = escapeControls(this.#client.maskLogin(text).slice(0, 200));
      throw new RemoteFailure('protocol', `names an address on another server for messages: ${shown}`);
    }
    this.#endpoint ??= endpoint;
  }

  #end(isByServer: boolean): void {
    if (this.#ended.signal.aborted) {
      return;
    }
    this.#endedItself = isByServer;
    this.#ended.abort();
    this.#intake.close();
    this.#client.close();
    this.#resolveExited({ exitCode: undefined, signal: undefined });
    this.onclose?.();
  }
}
