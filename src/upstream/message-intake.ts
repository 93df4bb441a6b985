/**
 * What comes from a server, message by message: read, bounded, matched with the requests that wait, and handed on. Both
 * transports share it. Whatever a server sends, at worst the calls in flight fail; nothing here throws at the process.
 */
import { isObject, type JsonObject } from '../base/is-object.ts';
import { MAX_JSON_DEPTH, MAX_RESULT_BYTES } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { isDeeperThan } from '../protocol/codec.ts';
import { parseExact } from '../protocol/exact-json.ts';
import { type DroppedLine, idOfLine, isNoise } from '../protocol/line-reader.ts';
import type { ResultMask } from './result-mask.ts';

const PREVIEW_CHARS = 200;
/** Of a line of noise so much is masked before it is cut: half a secret would not be recognised. */
const MASKED_BYTES = 4 * 1024;
/** JSON-RPC codes -32000 to -32099 are free for implementations; servers use the low ones. */
export const LINE_TOO_LONG = -32_098;
export const NESTED_TOO_DEEP = -32_097;
export const ANSWER_BROKEN = -32_096;

export type MessageId = string | number;

/** What a transport of ours is given to do with messages. */
export interface MessageHandlers {
  /** Name of the server, for the log. */
  readonly name: string;
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

export class MessageIntake {
  readonly #handlers: MessageHandlers;
  readonly #pass: (message: JsonObject) => void;
  /** Requests that wait for an answer, as the server knows them. */
  readonly #pending = new Set<MessageId>();
  #ignoredLines = 0;
  #isClosed = false;

  /** `pass` gets what is left for the SDK. */
  constructor(handlers: MessageHandlers, pass: (message: JsonObject) => void) {
    this.#handlers = handlers;
    this.#pass = pass;
  }

  /** Takes note of a message that is about to be sent. */
  noteSent(message: JsonObject): void {
    const { id, method, params } = message;
    if (method === 'notifications/cancelled' && isObject(params)) {
      this.#pending.delete(params['requestId'] as MessageId);
    } else if (method !== undefined && isMessageId(id)) {
      this.#pending.add(id);
    }
  }

  /** Whether the request of this number still waits for its answer. */
  isWaiting(id: MessageId): boolean {
    return this.#pending.has(id);
  }

  /** Forgets a request that will get no answer; its sender knows. */
  forget(id: MessageId): void {
    this.#pending.delete(id);
  }

  /** From now on everything that comes is dropped. */
  close(): void {
    this.#isClosed = true;
  }

  /** Takes the text of one message. What is none is counted and logged. */
  takeLine(line: Buffer): void {
    if (this.#isClosed || line.length === 0) {
      return;
    }
    const { mask } = this.#handlers;
    const mayHoldSecret = mask.mayHold(line);
    if (!mayHoldSecret && this.#isTakenUnread(line)) {
      return;
    }
    const message = parseMessage(line) ?? answerAfterNoise(line);
    if (message === undefined) {
      this.#ignoreLine(line);
      // An answer with something else written into it: it will not come again.
      this.failRequest(idOfLine(line), ANSWER_BROKEN, 'it is no JSON');
    } else if (isDeeperThan(message, MAX_JSON_DEPTH)) {
      const reason = `nested deeper than ${MAX_JSON_DEPTH} levels`;
      this.#handlers.logger.warning(`Server '${this.#handlers.name}' sent a message ${reason}`);
      this.failRequest(message['id'], NESTED_TOO_DEEP, reason);
    } else {
      this.#deliver(mayHoldSecret ? mask.maskMessage(message) : message, line.length);
    }
  }

  /** A line or a message was dropped, because it was too long. */
  refuseDropped({ bytes, id, isMessage, endsAsMessage }: DroppedLine): void {
    const reason = isMessage
      ? `a message of ${bytes} bytes; the limit is ${MAX_RESULT_BYTES} bytes`
      : `${bytes} bytes on stdout that are no message, without a newline before what follows`;
    this.#handlers.logger.warning(`Server '${this.#handlers.name}' sent ${reason}`);
    // Nobody knows whose answer it was: better all fail now than one waits for its deadline.
    const others = isMessage || endsAsMessage ? [...this.#pending] : [];
    const failed = id === undefined ? others : [id];
    failed.forEach((each) => this.failRequest(each, isMessage ? LINE_TOO_LONG : ANSWER_BROKEN, reason));
  }

  /** Answers a request in the place of the server. */
  failRequest(id: unknown, code: number, message: string): void {
    if (isMessageId(id)) {
      this.#deliver({ jsonrpc: '2.0', id, error: { code, message } }, 0);
    }
  }

  /** Takes a message that was read already. */
  takeMessage(message: JsonObject, bytes: number): void {
    this.#deliver(this.#handlers.mask.maskMessage(message), bytes);
  }

  #deliver(message: JsonObject, lineBytes: number): void {
    const isResponse = message['method'] === undefined;
    if (isResponse && !this.#takePending(message['id'])) {
      // Late, doubled or never asked for. Not passed on: the SDK would turn it into text again to complain.
      this.#handlers.logger.debug(`Server '${this.#handlers.name}' answered a request that does not wait`);
      return;
    }
    if (!this.#handlers.intercept(message, lineBytes)) {
      this.#pass(message);
    }
  }

  #isTakenUnread(line: Buffer): boolean {
    const { lines } = this.#handlers;
    const id = lines.wantsLines ? idOfLine(line) : undefined;
    return id !== undefined && lines.acceptLine(id, line) && this.#takePending(id);
  }

  /** Servers print start-up banners and debugging output; the first line is logged, so that people can find out. */
  #ignoreLine(line: Buffer): void {
    this.#ignoredLines += 1;
    const { logger, name, maskText } = this.#handlers;
    const preview = maskText(line.toString('utf8', 0, MASKED_BYTES)).slice(0, PREVIEW_CHARS);
    const text = `Server '${name}' wrote a line that is no JSON-RPC message (${this.#ignoredLines}): ${preview}`;
    if (this.#ignoredLines === 1) {
      logger.info(text);
    } else {
      logger.debug(text);
    }
  }

  #takePending(id: unknown): boolean {
    // Some servers answer request 7 with "7".
    return this.#pending.delete(id as MessageId) || (typeof id === 'string' && this.#pending.delete(Number(id)));
  }
}

export function isMessageId(value: unknown): value is MessageId {
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
    return isObject(value) && value['jsonrpc'] === '2.0' ? value : undefined;
  } catch {
    // Noise; the caller counts it.
    return undefined;
  }
}
