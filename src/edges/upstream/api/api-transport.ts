/**
 * An API as an MCP server: answers the messages of the bridge's own client in this process. Tools come from the compiled
 * description, and a call of one becomes an HTTP request. Answers go through the same intake as those of other servers, so the same
 * bounds hold for them, and secrets are masked.
 */
import type { Readable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { EgressSource } from '../../../core/base/egress.ts';
import { isObject, type JsonObject } from '../../../core/base/is-object.ts';
import { MIN_RESULT_BYTES } from '../../../core/base/limits.ts';
import { stringifyExact } from '../../../core/protocol/exact-json.ts';
import { JsonScan } from '../../../core/protocol/json-scan.ts';
import { RequestError } from '../../../core/protocol/server-requests.ts';
import type { ServerTransport } from '../connection.ts';
import { Arriving, TooMuchAtOnceError } from '../http/arriving.ts';
import { decodersOf } from '../http/content-coding.ts';
import { BodyTooLongError, type HttpResponse } from '../http/http-client.ts';
import { brokenOff } from '../http/remote-failure.ts';
import { isMessageId, LINE_TOO_LONG, type MessageHandlers, type MessageId, MessageIntake } from '../message-intake.ts';
import type { ServerExit } from '../server-process.ts';
import type { ApiClient } from './api-client.ts';
import type { ApiDescription } from './description.ts';
import { around, type Exchange, isJsonAnswer, onlyReads, requestOf, resultOf } from './exchange.ts';

const PROTOCOL_VERSION = '2025-11-25';
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
/** The documented limit of results. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** Of an answer that says why it failed. Chosen. */
const MAX_ERROR_BYTES = 1024 * 1024;
const FAILED = 400;
const UNAUTHORIZED = 401;
/** `jsonrpc`, `id` and `result`; and in this, `content` and `structuredContent`. */
const MEMBERS = 3;
const RESULT_MEMBERS = 2;

const ONLY_READS_KEY = 'bridge/only-reads';
/** In `_meta` of a call that was let through as one that only reads. */
export const ONLY_READS: JsonObject = { [ONLY_READS_KEY]: true };

export interface ApiTransportOptions extends MessageHandlers {
  readonly url: URL;
  readonly client: Pick<ApiClient, 'send' | 'close'>;
  readonly description: ApiDescription;
  /** What the entry allows; undefined if its tools are those of a description. */
  readonly egress?: EgressSource | undefined;
  /** What to do about a refused credential, as a sentence. */
  readonly onRefused: string;
  /** Called when the file of the description has changed. */
  readonly onDescriptionChanged: () => void;
}

export class ApiTransport implements ServerTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  readonly endedItself = false;
  readonly exited: Promise<ServerExit>;

  readonly #options: ApiTransportOptions;
  readonly #intake: MessageIntake;
  readonly #arriving = new Arriving();
  /** The requests to the API, and the lists that are being read. */
  readonly #running = new Map<MessageId, AbortController>();
  #resolveExited: (exit: ServerExit) => void = () => undefined;
  #isClosed = false;

  constructor(options: ApiTransportOptions) {
    this.#options = options;
    this.#intake = new MessageIntake(options, (message) => this.onmessage?.(message as unknown as JSONRPCMessage));
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
  }

  lastStderrLines(): string {
    return '';
  }

  async start(): Promise<void> {}

  /** Resolves when a request has been answered. Rejects with a `RemoteFailure` or `LOGIN_REQUIRED`. */
  async send(message: JSONRPCMessage): Promise<void> {
    const sent = message as unknown as JsonObject;
    this.#intake.noteSent(sent);
    const { id, method } = sent;
    const params = isObject(sent['params']) ? sent['params'] : {};
    if (method === 'notifications/cancelled') {
      this.#running.get(params['requestId'] as MessageId)?.abort();
      return;
    }
    if (!isMessageId(id)) {
      return;
    }
    const abort = new AbortController();
    this.#running.set(id, abort);
    try {
      await this.#answer(id, String(method), params, abort.signal);
    } catch (error) {
      if (!abort.signal.aborted) {
        throw error;
      }
    } finally {
      this.#running.delete(id);
      this.#intake.forget(id);
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) {
      return;
    }
    this.#isClosed = true;
    [...this.#running.values()].forEach((abort) => abort.abort());
    this.#intake.close();
    this.#options.client.close();
    this.#resolveExited({ exitCode: undefined, signal: undefined });
    this.onclose?.();
  }

  async #answer(id: MessageId, method: string, params: JsonObject, signal: AbortSignal): Promise<void> {
    switch (method) {
      case 'initialize':
        return this.#deliver(id, this.#introduce());
      case 'ping':
        return this.#deliver(id, {});
      case 'tools/list':
        return this.#list(id, params['cursor'], signal);
      case 'tools/call':
        return this.#call(id, params, signal);
      default:
        return this.#intake.failRequest(id, METHOD_NOT_FOUND, `${method} is not offered`);
    }
  }

  #introduce(): JsonObject {
    const { title, version, instructions } = this.#options.description.current.about;
    return {
      protocolVersion: PROTOCOL_VERSION,
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: title, version },
      ...(instructions === '' ? {} : { instructions }),
    };
  }

  /** Each line of tools is a page, so none of them is parsed here. */
  async #list(id: MessageId, cursor: unknown, signal: AbortSignal): Promise<void> {
    const { description } = this.#options;
    const page = cursor === undefined ? 0 : Number(cursor);
    if (page === 0) {
      await description.refresh(signal);
    }
    const { toolLines } = description.current;
    const next = page + 1 < toolLines.length ? `,"nextCursor":"${page + 1}"` : '';
    this.#intake.handleLine(
      Buffer.concat([
        Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":`),
        toolLines[page] ?? Buffer.from('[]'),
        Buffer.from(`${next}}}`),
      ]),
    );
  }

  async #call(id: MessageId, { name, arguments: given, _meta: meta }: JsonObject, signal: AbortSignal): Promise<void> {
    const { client, description, onDescriptionChanged } = this.#options;
    if (description.hasChanged()) {
      onDescriptionChanged();
      await description.refresh(signal);
    }
    const operation = description.current.operations.get(String(name));
    if (operation === undefined) {
      this.#intake.failRequest(id, INVALID_PARAMS, `Unknown tool: ${String(name)}`);
      return;
    }
    if (isObject(meta) && meta[ONLY_READS_KEY] === true && !onlyReads(operation)) {
      // The gates have decided by the tools as they were listed.
      onDescriptionChanged();
      const text = 'its description has changed, and it can now change something. Look at it again before you call it';
      this.#intake.failRequest(id, INVALID_PARAMS, text);
      return;
    }
    const args = isObject(given) ? given : {};
    try {
      const request = requestOf(operation, args, this.#options);
      const response = await client.send({ ...request, signal });
      await this.#read(id, { operation, args, url: request.url, response });
    } catch (error) {
      // An argument that cannot be sent, or an answer beyond the bounds.
      if (!(error instanceof RequestError)) {
        throw error;
      }
      this.#intake.failRequest(id, error.code ?? INVALID_PARAMS, error.message);
    }
  }

  async #read(id: MessageId, exchange: Exchange): Promise<void> {
    const body = await this.#bodyOf(id, exchange.response);
    if (body === undefined) {
      return;
    }
    if (body.length >= MIN_RESULT_BYTES && isJsonAnswer(exchange)) {
      const { before, after } = around(body);
      const start = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${before}`);
      const line = Buffer.concat([start, body, Buffer.from(`${after}}}`)]);
      if (isOneValue(line, line.length - 2)) {
        this.#intake.handleLine(line);
        return;
      }
    }
    this.#deliver(id, this.#explained(resultOf(exchange, body), exchange.response.status), body.length);
  }

  /** Says who can do something about a refused credential. */
  #explained(result: JsonObject, status: number): JsonObject {
    const [block] = result['content'] as readonly JsonObject[];
    if (status !== UNAUTHORIZED || typeof block?.['text'] !== 'string') {
      return result;
    }
    const wanted = this.#options.description.current.about.credentials.map(({ field, kind }) => field ?? kind);
    const what = wanted.length === 0 ? '' : ` The description asks for: ${wanted.join(' or ')}.`;
    const text = `${block['text']}\n${this.#options.onRefused}${what}`;
    return { ...result, content: [{ ...block, text }] };
  }

  /** Undefined if it was too long, which the caller is then told. */
  async #bodyOf(id: MessageId, response: HttpResponse): Promise<Buffer | undefined> {
    try {
      return await this.#arriving.read(decoded(response), response.status < FAILED ? MAX_BODY_BYTES : MAX_ERROR_BYTES);
    } catch (error) {
      response.body.destroy();
      if (error instanceof TooMuchAtOnceError || error instanceof BodyTooLongError) {
        this.#intake.failRequest(id, LINE_TOO_LONG, error.message);
        return undefined;
      }
      throw error instanceof Error && error.name === 'AbortError' ? error : brokenOff(error);
    }
  }

  #deliver(id: MessageId, result: JsonObject, bytes?: number): void {
    const message = { jsonrpc: '2.0', id, result };
    this.#intake.handleMessage(message, bytes ?? stringifyExact(message).length);
  }
}

/**
 * Whether the structured content of this response is one JSON value that ends where the body does: a body that closes the braces around it
 * could be read as another message. Whatever is in doubt is parsed alone instead.
 */
function isOneValue(line: Buffer, end: number): boolean {
  const scan = new JsonScan();
  scan.push(line);
  const scanned = scan.end();
  const content = scanned?.result.get('structuredContent');
  const isWhole = content !== undefined && line.subarray(content.end, end).toString('latin1').trim() === '';
  return isWhole && scanned?.members.size === MEMBERS && scanned.result.size === RESULT_MEMBERS;
}

/** Some APIs compress although the request does not allow it. What comes out counts, so a small body cannot become a large one. */
function decoded(response: HttpResponse): HttpResponse {
  const decoders = decodersOf(response.headers['content-encoding']) ?? [];
  const body = decoders.reduce<Readable>((from, decoder) => {
    from.on('error', (error) => decoder.destroy(error));
    return from.pipe(decoder);
  }, response.body);
  return { ...response, body };
}
