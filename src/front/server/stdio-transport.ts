/**
 * MCP over a pair of byte streams: one JSON-RPC message per line (MCP specification 2025-11-25, "stdio").
 * The SDK's own transport (2.4.0) is not used: it copies the whole buffer for every chunk (40 MB took 9 s), closes the
 * connection at 10 MB, and adds a listener for each message that waits to be written.
 */
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { messageOf } from '../../core/base/errors.ts';
import { collectAfterPiece } from '../../core/base/garbage.ts';
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import { type LargeText, largeTextsIn, withPieces } from '../../core/base/large-text.ts';
import { MAX_CLIENT_LINE_BYTES, MAX_JSON_DEPTH, MAX_UNREAD_BYTES } from '../../core/base/limits.ts';
import { isDeeperThan } from '../../core/protocol/json-depth.ts';
import { type DroppedLine, idOfLine, LineReader } from '../../core/protocol/line-reader.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { INVALID_REQUEST, isAnswerable, MAX_BATCH, whyInvalid, withoutNulls } from './client-message.ts';
import type { PausableTransport } from './front-connection.ts';

const INTERNAL_ERROR = -32603;
const PREVIEW_BYTES = 200;

/**
 * Ignores lines that are not JSON, because some clients print to the pipe. Takes batches apart: each of their requests is answered
 * by itself. Answers a request that it cannot read with -32600 if the request has an id. Calls `onclose` and then `onClosed` once: when `input` ends, when `output` fails because the
 * client is gone, or after `close()`.
 */
export class StdioServerTransport implements PausableTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #input: Readable;
  readonly #output: Writable;
  readonly #onClosed: () => void;
  readonly #reader = new LineReader(() => MAX_CLIENT_LINE_BYTES, {
    onLine: (line) => this.#takeLine(line),
    onOversize: (line) => this.#refuseOversize(line),
  });
  #isClosed = false;
  #drained: Promise<void> | undefined;
  /** The last of the messages that wait while a large text is written. */
  #last: Promise<void> | undefined;
  #waitingBytes = 0;

  constructor(input: Readable, output: Writable, onClosed: () => void = () => undefined) {
    this.#input = input;
    this.#output = output;
    this.#onClosed = onClosed;
  }

  async start(): Promise<void> {
    // Never removed: a write that fails late must not become an uncaught exception.
    this.#output.on('error', this.#onOutputError);
    this.#input.on('error', (error) => this.onerror?.(error));
    this.#input.on('end', this.#shut);
    this.#input.on('close', this.#shut);
    this.#input.on('data', this.#onData);
  }

  pause(): void {
    this.#input.pause();
  }

  resume(): void {
    if (!this.#isClosed) {
      this.#input.resume();
    }
  }

  /**
   * Resolves when the client has read most of what was sent, or is gone; undefined if that is so now. Cells wait for it before they
   * run.
   */
  untilRoom(): Promise<void> | undefined {
    return this.#isFull ? this.#untilNotFull() : undefined;
  }

  /** Resolves when the message was written. Rejects if the connection is closed. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) {
      throw new Error('The connection to the client is closed.');
    }
    const [text] = 'result' in message && isObject(message.result) ? largeTextsIn(message.result['contents']) : [];
    const line = `${JSON.stringify(message)}\n`;
    if (text === undefined) {
      await this.#writeLines(line);
    } else {
      await this.#inTurn(line.length, () => this.#writeLarge(line, text, message));
    }
  }

  async #writeLines(lines: string): Promise<void> {
    if (this.#last !== undefined) {
      await this.#inTurn(lines.length, () => this.#write(lines));
    } else if (!this.#output.write(lines)) {
      await this.#untilDrained();
    }
  }

  /** Nothing may come into the line of a large text. */
  async #inTurn(bytes: number, write: () => Promise<void>): Promise<void> {
    this.#waitingBytes += bytes;
    const written = (this.#last ?? Promise.resolve()).then(write);
    const last = written.then(
      () => undefined,
      () => undefined,
    );
    this.#last = last;
    try {
      await written;
    } finally {
      this.#waitingBytes -= bytes;
      this.#last = this.#last === last ? undefined : this.#last;
    }
  }

  async #write(text: string): Promise<void> {
    if (!this.#isClosed && !this.#output.write(text)) {
      await this.#untilDrained();
    }
  }

  /** One that is no longer there becomes an error. One that cannot be read to its end ends the connection: its line has begun. */
  async #writeLarge(line: string, text: LargeText, message: JSONRPCMessage): Promise<void> {
    const opened = await text.open().catch((error: unknown) => messageOf(error));
    if (typeof opened === 'string') {
      const id = 'id' in message ? message.id : null;
      await this.#write(
        `${JSON.stringify({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: opened } })}\n`,
      );
      return;
    }
    try {
      for await (const piece of withPieces(line, text, opened)) {
        await this.#write(piece);
        if (this.#isClosed) {
          return;
        }
      }
    } catch (error) {
      this.#report(messageOf(error));
      this.#shut();
    }
  }

  async close(): Promise<void> {
    this.#shut();
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#reader.push(chunk);
    // A message that is too long is dropped as it comes: 100 MB grew the bridge by 60 MiB (measured).
    collectAfterPiece(chunk.length);
  };

  readonly #onOutputError = (error: Error): void => {
    if (!this.#isClosed) {
      this.onerror?.(error);
      this.#shut();
    }
  };

  readonly #shut = (): void => {
    if (this.#isClosed) {
      return;
    }
    this.#isClosed = true;
    this.#input.off('data', this.#onData);
    this.#input.off('end', this.#shut);
    this.#input.off('close', this.#shut);
    this.#input.pause();
    this.onclose?.();
    this.#onClosed();
  };

  #takeLine(line: Buffer): void {
    if (this.#isClosed || line.length === 0) {
      return;
    }
    const read = readUntrusted(line, JSON_BOUNDS.clientMessage);
    if (!read.ok && read.isTooMuch) {
      this.#refuse([{ id: idOfLine(line), method: '' }], read.reason);
      return;
    }
    const value = read.ok ? read.value : undefined;
    const messages = [value].flat().filter(isObject);
    const count = messages.length;
    if (count === 0) {
      this.#report(`Ignored a line that is not a JSON-RPC message: ${line.toString('utf8', 0, PREVIEW_BYTES)}`);
    } else if (isDeeperThan(value, MAX_JSON_DEPTH)) {
      this.#refuse(messages, `nested deeper than ${MAX_JSON_DEPTH} levels`);
    } else if (count > MAX_BATCH) {
      this.#refuse(messages, `a batch of ${count.toLocaleString('en')} messages; the limit is ${MAX_BATCH}`);
    } else {
      messages.map(withoutNulls).forEach((message) => this.#takeMessage(message));
    }
  }

  #takeMessage(message: JsonObject): void {
    const reason = whyInvalid(message);
    if (reason !== undefined || message['jsonrpc'] !== '2.0') {
      this.#refuse([message], reason ?? '"jsonrpc" must be "2.0"');
    } else if (!this.#isClosed) {
      this.onmessage?.(message as unknown as JSONRPCMessage);
    }
  }

  #refuseOversize({ bytes, id, isMessage }: DroppedLine): void {
    const size = `a message of ${bytes.toLocaleString('en')} bytes`;
    const reason = `${size}; the limit is ${MAX_CLIENT_LINE_BYTES.toLocaleString('en')}`;
    // Treated as a request: a client's response is never that long, and the client would ignore our answer to it.
    this.#refuse(isMessage ? [{ id, method: '' }] : [], reason);
  }

  /** Answers the requests among the messages with one write: a line of them may hold hundreds of thousands. */
  #refuse(messages: readonly JsonObject[], reason: string): void {
    const error = { code: INVALID_REQUEST, message: `Invalid Request: ${reason}` };
    this.#report(error.message);
    const answers = messages.filter(isAnswerable).map(({ id }) => `${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
    if (answers.length > 0 && !this.#isClosed) {
      this.#writeLines(answers.join('')).catch((failed: unknown) => this.#report(messageOf(failed)));
    }
  }

  #report(message: string): void {
    this.onerror?.(new Error(message));
  }

  get #isFull(): boolean {
    return (
      !this.#isClosed && this.#output.writable && this.#output.writableLength + this.#waitingBytes > MAX_UNREAD_BYTES
    );
  }

  async #untilNotFull(): Promise<void> {
    while (this.#isFull) {
      await this.#untilDrained();
    }
  }

  /** One promise and one set of listeners for all waiting messages. */
  #untilDrained(): Promise<void> {
    this.#drained ??= new Promise((resolve) => {
      const events = ['drain', 'close', 'error'] as const;
      const done = (): void => {
        this.#drained = undefined;
        events.forEach((event) => this.#output.off(event, done));
        resolve();
      };
      events.forEach((event) => this.#output.on(event, done));
    });
    return this.#drained;
  }
}
