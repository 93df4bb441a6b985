/**
 * The front of the egress: an HTTP proxy for one sandbox (RFC 9110, section 9.3.6; RFC 9112, section 3.2.2). It ends TLS with certificates
 * of the bridge's own authority and gives each request to a handler, which judges and sends it. Whatever the sandbox writes, nothing here
 * throws, and every connection ends.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { HandleEgress } from '../../core/base/egress-exchange.ts';
import { toBridgeError } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import type { EgressAuthority } from './authority.ts';
import { EgressConnection } from './connection.ts';
import { endToEnd, inPairs } from './hop-by-hop.ts';
import { MalformedRequest, renderRefusal, renderRefusalBytes } from './refusal.ts';
import { RequestBody } from './request-body.ts';
import { sendAnswer } from './send-answer.ts';
import { isName, readTarget, readTunnel } from './target.ts';

/** The longest head of a request. Chosen: twice what servers accept by default, for tokens and cookies. */
const MAX_HEAD_BYTES = 32 * 1024;
/** Of one sandbox, whose relay has at most 64. Chosen: a lost end of a few must not block the next. */
const MAX_CONNECTIONS = 96;
/** The first byte of TLS: a record of the type handshake (RFC 8446, section 5.1). No method of HTTP begins with it. */
const TLS_HANDSHAKE = 0x16;
const HTTPS_PORT = 443;

interface EgressFrontOptions {
  readonly authority: EgressAuthority;
  readonly handle: HandleEgress;
  readonly logger: Logger;
}

export class EgressFront {
  readonly #authority: EgressAuthority;
  readonly #handle: HandleEgress;
  readonly #logger: Logger;
  /** Parses and writes HTTP; it never listens, so none of its own timeouts is at work. */
  readonly #server: Server;
  readonly #connections = new Set<EgressConnection>();
  /** By the stream from the sandbox, and by that inside of TLS. */
  readonly #bySocket = new WeakMap<Duplex, EgressConnection>();
  #isClosed = false;

  constructor({ authority, handle, logger }: EgressFrontOptions) {
    this.#authority = authority;
    this.#handle = handle;
    this.#logger = logger;
    this.#server = createServer({ maxHeaderSize: MAX_HEAD_BYTES, requireHostHeader: false, keepAliveTimeout: 0 });
    this.#server
      .on('request', (request, response) => this.#onRequest(request, response, false))
      .on('checkContinue', (request, response) => this.#onRequest(request, response, true))
      .on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => this.#onConnect(request, socket, head))
      .on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => this.#onClientError(error, socket));
  }

  /** Takes a connection of the sandbox. Its end is that of the stream. */
  accept(stream: Duplex): void {
    if (this.#isClosed || this.#connections.size >= MAX_CONNECTIONS) {
      stream.on('error', () => undefined).destroy();
      return;
    }
    const connection = new EgressConnection(stream, () => this.#connections.delete(connection));
    this.#connections.add(connection);
    // A client that knows no proxy speaks to its host at once.
    stream.once('data', (first: Buffer) => this.#enter(connection, first));
  }

  /** Ends all connections, and takes no more. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections) {
      connection.destroy();
    }
  }

  #speakHttp(connection: EgressConnection, socket: Duplex): void {
    this.#bySocket.set(socket, connection);
    this.#server.emit('connection', socket);
  }

  #onRequest(request: IncomingMessage, response: ServerResponse, isExpectant: boolean): void {
    const connection = this.#bySocket.get(request.socket);
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    connection?.queue((signal) => this.#serve(connection, { request, response, isExpectant, signal }));
  }

  async #serve(connection: EgressConnection, { request, response, isExpectant, signal }: Exchange): Promise<void> {
    const onProgress = connection.progress;
    // If it is not told to go on, Node ends the connection after the answer: the client does not send the body then.
    const onFirstRead = () => {
      if (isExpectant && !response.headersSent) {
        response.writeContinue();
      }
    };
    const body = new RequestBody(request, { onFirstRead, onProgress });
    try {
      const url = readTarget(request, connection.tunnel, connection.scheme);
      // `Expect` is answered here, so it is not passed on.
      const headers = endToEnd(inPairs(request.rawHeaders)).filter(([name]) => name.toLowerCase() !== 'expect');
      const answer = await this.#handle({ method: request.method ?? '', url, headers, body, signal });
      await sendAnswer(response, answer, { signal, onProgress });
    } catch (error) {
      this.#refuse(connection, response, error);
    } finally {
      body.destroy();
    }
  }

  /** Says why there is no answer. In the middle of one, only the end of the connection can. */
  #refuse(connection: EgressConnection, response: ServerResponse, thrown: unknown): void {
    const error = toBridgeError(thrown);
    this.#logger.debug(`Egress: ${error.code}: ${error.message}`);
    if (response.headersSent || connection.isEnding) {
      connection.destroy();
      return;
    }
    const closes = error instanceof MalformedRequest;
    const { status, reason, headers, body } = renderRefusal(error);
    response.sendDate = false;
    response.writeHead(status, reason, [...headers, ...(closes ? ['Connection', 'close'] : [])]).end(body);
    if (closes) {
      connection.end();
    }
  }

  #onConnect(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined || connection.isEnding || connection.isBusy) {
      (connection ?? socket).destroy();
      return;
    }
    try {
      if (connection.tunnel !== undefined) {
        throw new MalformedRequest(400, 'there is no CONNECT in a tunnel');
      }
      connection.tunnel = readTunnel(request);
    } catch (error) {
      this.#endWith(connection, socket, error);
      return;
    }
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    connection.waitForHead();
    if (head.length > 0) {
      this.#enter(connection, head);
    } else {
      socket.once('data', (first: Buffer) => this.#enter(connection, first));
    }
  }

  /** Goes on with what the first bytes are: TLS, or HTTP. */
  #enter(connection: EgressConnection, first: Buffer): void {
    const { stream } = connection;
    stream.pause();
    stream.unshift(first);
    if (first[0] === TLS_HANDSHAKE) {
      this.#speakTls(connection);
    } else {
      this.#speakHttp(connection, stream);
      stream.resume();
    }
  }

  #speakTls(connection: EgressConnection): void {
    const { stream, tunnel } = connection;
    const host = tunnel?.host.replaceAll(/^\[|\]$/g, '');
    const tls = new TLSSocket(stream, {
      isServer: true,
      // Without a tunnel, the handshake must say which host is meant.
      ...(host !== undefined && { secureContext: this.#authority.contextFor(host) }),
      ALPNProtocols: ['http/1.1'],
      SNICallback: (name, done) => {
        const named = name.toLowerCase();
        if (host === undefined && isName(named)) {
          connection.tunnel = { host: named, port: HTTPS_PORT };
          done(null, this.#authority.contextFor(named));
        } else {
          // Undefined: the context from above.
          done(named === host ? null : new Error('another host than that of the connection'), undefined);
        }
      },
    });
    tls.on('error', (error) => this.#logger.debug(`Egress: TLS with the sandbox failed: ${error.message}`));
    // Node does the same in both directions, but does not say so.
    tls.once('close', () => stream.destroy());
    stream.once('close', () => tls.destroy());
    connection.scheme = 'https';
    this.#speakHttp(connection, tls);
  }

  /** What cannot be parsed. Also errors of the connection itself, after which nobody reads an answer. */
  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    const connection = this.#bySocket.get(socket);
    if (connection?.isEnding === true) {
      return;
    }
    const code = error.code ?? '';
    if (connection === undefined || connection.isBusy || !code.startsWith('HPE_')) {
      (connection ?? socket).destroy();
      return;
    }
    const isLong = code === 'HPE_HEADER_OVERFLOW';
    const text = isLong
      ? `the head of the request is longer than ${MAX_HEAD_BYTES} bytes`
      : `this is not HTTP/1.1: ${code}`;
    this.#endWith(connection, socket, new MalformedRequest(isLong ? 431 : 400, text));
  }

  /** Where Node has no response to write to. */
  #endWith(connection: EgressConnection, socket: Duplex, error: unknown): void {
    const refusal = toBridgeError(error);
    this.#logger.debug(`Egress: ${refusal.message}`);
    connection.end();
    socket.removeAllListeners('data').resume();
    socket.end(renderRefusalBytes(refusal));
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether the client waits to be told to send the body. */
  readonly isExpectant: boolean;
  readonly signal: AbortSignal;
}
