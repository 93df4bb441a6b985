/**
 * MCP over the stdin and stdout of a server that is started here: one JSON-RPC message per line (MCP specification
 * 2025-11-25, "stdio"). The SDK's own transport (2.4.0) is not used: it copies its whole buffer for every chunk (40 MB
 * took 9 s), closes the connection at 10 MB, starts every server twice to learn its era, and leaves grandchildren.
 * Whatever a server writes, at worst the calls in flight fail; nothing here throws at the process.
 */
import type { Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { MAX_JSON_DEPTH, MAX_RESULT_BYTES } from '../limits.ts';
import type { Logger } from '../log.ts';
import { isDeeperThan } from '../protocol/codec.ts';
import { parseExact, stringifyExact } from '../protocol/exact-json.ts';
import { isJsonObject, type JsonObject } from './definition.ts';
import { waitForDrain } from './drain.ts';
import type { Guardian } from './guardian.ts';
import { type DroppedLine, idOfLine, isNoise, LineReader } from './line-reader.ts';
import type { ResultMask } from './result-mask.ts';
import { type ServerCommand, type ServerExit, ServerProcess } from './server-process.ts';

const PREVIEW_CHARS = 200;
/** Of a line of noise so much is masked before it is cut: half a secret would not be recognised. */
const MASKED_BYTES = 4 * 1024;
/** JSON-RPC codes -32000 to -32099 are free for implementations; servers use the low ones. */
export const LINE_TOO_LONG = -32_098;
export const NESTED_TOO_DEEP = -32_097;
export const ANSWER_BROKEN = -32_096;

export interface StdioTransportOptions extends ServerCommand {
  /** Name of the server, for the log. */
  readonly name: string;
  readonly guardian: Guardian;
  readonly logger: Logger;
  /** Sees every message before the SDK does; true keeps it from the SDK. */
  readonly intercept: (message: JsonObject, lineBytes: number) => boolean;
  /** Lines that are taken unread; one that may hold a secret never is. */
  readonly lines: LineTaker;
  /** Masks secrets in every message. */
  readonly mask: ResultMask;
  /** Masks secrets in what is logged, and in the end of stderr. */
  readonly maskText: (text: string) => string;
}

export interface LineTaker {
  /** Whether any line is wanted now. */
  readonly wantsLines: boolean;
  /** Takes the line of the response with this id, or gives false. */
  acceptLine(id: MessageId, line: Buffer): boolean;
}

type MessageId = string | number;

/** A transport that starts `options.command` when the SDK (or the caller) calls `start`. */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  /** Unused. The SDK takes a transport with `stderr` and `pid` for stdio. */
  readonly stderr = null;

  readonly #options: StdioTransportOptions;
  readonly #process: ServerProcess;
  /** Requests that wait for an answer, as the server knows them. */
  readonly #pending = new Set<MessageId>();
  #drained: Promise<void> | undefined;
  #ignoredLines = 0;
  #isClosed = false;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
    const reader = new LineReader(MAX_RESULT_BYTES, {
      onLine: (line) => this.#onLine(line),
      onOversize: (line) => this.#onOversize(line),
    });
    this.#process = new ServerProcess({ ...options, onOutput: (chunk) => reader.push(chunk) });
    void this.#process.exited.then(() => {
      this.#isClosed = true;
      this.onclose?.();
    });
  }

  /** Resolves when the process is gone and what it wrote was read. Never rejects. */
  get exited(): Promise<ServerExit> {
    return this.#process.exited;
  }

  /** Number of the process and of its group; null before the start. */
  get pid(): number | null {
    return this.#process.pid ?? null;
  }

  /** Whether the process ended without being asked to. */
  get endedItself(): boolean {
    return this.#process.endedItself;
  }

  /** The last lines the server wrote to stderr. */
  lastStderrLines(): string {
    return this.#process.lastStderrLines();
  }

  /** Starts the server once; rejects with the error of the operating system. */
  start(): Promise<void> {
    return this.#process.start();
  }

  /** Ends the server and everything it started; resolves when they are gone. */
  close(): Promise<void> {
    return this.#process.stop();
  }

  /** Writes one message; resolves when the pipe has taken it or holds it. Rejects when the server is gone. */
  async send(message: JSONRPCMessage): Promise<void> {
    this.#notePending(message);
    await this.#write(`${stringifyExact(message)}\n`);
  }

  #notePending(message: JsonObject): void {
    const { id, method, params } = message;
    if (method === 'notifications/cancelled' && isJsonObject(params)) {
      this.#pending.delete(params['requestId'] as MessageId);
    } else if (method !== undefined && isMessageId(id)) {
      this.#pending.add(id);
    }
  }

  async #write(line: string): Promise<void> {
    // One shared promise: a listener for each of 1,000 waiting writes would be reported as a leak.
    while (this.#drained !== undefined) {
      await this.#drained;
    }
    const { stdin } = this.#process;
    if (stdin === undefined) {
      // What follows wants to know how the server ended.
      await this.#process.exitedOrSoon();
      throw new Error('Not connected');
    }
    this.#cork(stdin);
    if (!stdin.write(line)) {
      this.#drained = waitForDrain(stdin).finally(() => {
        this.#drained = undefined;
      });
    }
  }

  /** What is written in one turn goes out in one system call; 1,000 calls of a gather come in one turn. */
  #cork(stdin: Writable): void {
    if (stdin.writableCorked === 0) {
      stdin.cork();
      process.nextTick(() => stdin.uncork());
    }
  }

  #onLine(line: Buffer): void {
    if (this.#isClosed || line.length === 0) {
      return;
    }
    const { mask } = this.#options;
    const mayHoldSecret = mask.mayHold(line);
    if (!mayHoldSecret && this.#isTakenUnread(line)) {
      return;
    }
    const message = parseMessage(line) ?? answerAfterNoise(line);
    if (message === undefined) {
      this.#ignoreLine(line);
      // An answer with something else written into it: it will not come again.
      this.#failRequest(idOfLine(line), ANSWER_BROKEN, 'it is no JSON');
    } else if (isDeeperThan(message, MAX_JSON_DEPTH)) {
      const reason = `nested deeper than ${MAX_JSON_DEPTH} levels`;
      this.#options.logger.warning(`Server '${this.#options.name}' sent a message ${reason}`);
      this.#failRequest(message['id'], NESTED_TOO_DEEP, reason);
    } else {
      this.#deliver(mayHoldSecret ? mask.maskMessage(message) : message, line.length);
    }
  }

  #isTakenUnread(line: Buffer): boolean {
    const { lines } = this.#options;
    const id = lines.wantsLines ? idOfLine(line) : undefined;
    return id !== undefined && lines.acceptLine(id, line) && this.#takePending(id);
  }

  #onOversize({ bytes, id, isMessage, endsAsMessage }: DroppedLine): void {
    const reason = isMessage
      ? `a message of ${bytes} bytes; the limit is ${MAX_RESULT_BYTES} bytes`
      : `${bytes} bytes on stdout that are no message, without a newline before what follows`;
    this.#options.logger.warning(`Server '${this.#options.name}' sent ${reason}`);
    // Nobody knows whose answer it was: better all fail now than one waits for its deadline.
    const others = isMessage || endsAsMessage ? [...this.#pending] : [];
    const failed = id === undefined ? others : [id];
    failed.forEach((each) => this.#failRequest(each, isMessage ? LINE_TOO_LONG : ANSWER_BROKEN, reason));
  }

  /** Servers print start-up banners and debugging output; the first line is logged, so that people can find out. */
  #ignoreLine(line: Buffer): void {
    this.#ignoredLines += 1;
    const { logger, name, maskText } = this.#options;
    const preview = maskText(line.toString('utf8', 0, MASKED_BYTES)).slice(0, PREVIEW_CHARS);
    const text = `Server '${name}' wrote a line on stdout that is no JSON-RPC message (${this.#ignoredLines}): ${preview}`;
    if (this.#ignoredLines === 1) {
      logger.info(text);
    } else {
      logger.debug(text);
    }
  }

  #deliver(message: JsonObject, lineBytes: number): void {
    const isResponse = message['method'] === undefined;
    if (isResponse && !this.#takePending(message['id'])) {
      // Late, doubled or never asked for. Not passed on: the SDK would turn it into text again to complain.
      this.#options.logger.debug(`Server '${this.#options.name}' answered a request that does not wait`);
      return;
    }
    if (!this.#options.intercept(message, lineBytes)) {
      this.onmessage?.(message as unknown as JSONRPCMessage);
    }
  }

  #takePending(id: unknown): boolean {
    // Some servers answer request 7 with "7".
    return this.#pending.delete(id as MessageId) || (typeof id === 'string' && this.#pending.delete(Number(id)));
  }

  #failRequest(id: unknown, code: number, message: string): void {
    if (isMessageId(id)) {
      this.#deliver({ jsonrpc: '2.0', id, error: { code, message } }, 0);
    }
  }
}

function isMessageId(value: unknown): value is MessageId {
  return typeof value === 'string' || typeof value === 'number';
}

/** The answer on a line that begins with something else, as when a server prints without a newline. */
function answerAfterNoise(line: Buffer): JsonObject | undefined {
  const start = isNoise(line) ? line.indexOf('{"') : -1;
  const message = start === -1 ? undefined : parseMessage(line.subarray(start));
  return message?.['method'] === undefined ? message : undefined;
}

/** The object in a line, if it is one of JSON-RPC 2.0. */
function parseMessage(line: Buffer): JsonObject | undefined {
  try {
    const value: unknown = parseExact(line.toString('utf8'));
    return isJsonObject(value) && value['jsonrpc'] === '2.0' ? value : undefined;
  } catch {
    // Noise on stdout; the caller counts it.
    return undefined;
  }
}
