/**
 * Parses, bounds and masks the messages of a server, and matches responses with the requests in flight. All transports share
 * it. Whatever a server sends, the worst outcome is that the calls in flight fail.
 */

import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import { MAX_JSON_DEPTH, MAX_RESULT_BYTES, MAX_UNASKED_BYTES, MIN_RESULT_BYTES } from '../../core/base/limits.ts';
import type { Logger } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import { isDeeperThan } from '../../core/protocol/json-depth.ts';
import { JsonScan } from '../../core/protocol/json-scan.ts';
import { type DroppedLine, idOfLine, isNoise } from '../../core/protocol/line-reader.ts';
import type { LongLineReader } from '../../core/protocol/line-splitter.ts';
import { cut, ResultBytes } from '../../core/protocol/result-bytes.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { JsonCursor } from './json-cursor.ts';
import type { ResultMask } from './result-mask.ts';

const PREVIEW_CHARS = 200;
/** The longest id of a response whose result is passed on as bytes. Chosen: those of the bridge have 10 digits. */
const MAX_ID_BYTES = 64;
/**
 * The longest id of a request of the server. It is kept until the request is answered, and repeated in the answer. Chosen: real ones
 * are numbers or UUIDs.
 */
const MAX_REQUEST_ID_CHARS = 1_024;
/** Messages of one batch, which are handled in one turn. Chosen: as many as may be in flight for one session. */
const MAX_BATCH = 1_024;
const TOO_MUCH = Symbol('beyond the bounds');
/** How much of an ignored line is masked before it is cut for the log: half a secret would not be recognized. */
const MASKED_BYTES = 4 * 1024;
/** JSON-RPC reserves -32000 to -32099 for implementations. Servers use the ones near -32000. */
export const LINE_TOO_LONG = -32_098;
export const NESTED_TOO_DEEP = -32_097;
export const ANSWER_BROKEN = -32_096;

export const NO_RESULT = 'the response has neither a result object nor an error object';

export type MessageId = string | number;

/** What a transport does with the messages it receives. */
export interface MessageHandlers {
  /** Name of the server, for the log. */
  readonly name: string;
  readonly logger: Logger;
  /** Sees every message before the SDK does; returning true keeps it from the SDK. */
  readonly intercept: (message: JsonObject, lineBytes: number) => boolean;
  /** Accepts lines without parsing. Lines that may hold a secret are always parsed. */
  readonly lines: LineTaker;
  /** Masks secrets in every message. */
  readonly mask: ResultMask;
  /** Masks secrets in log lines and in the end of stderr. */
  readonly maskText: (text: string) => string;
  /** Called for each line that is not a message until the first message, with the number of such lines. */
  readonly onStrayLine?: (lines: number) => void;
}

export interface LineTaker {
  /** Whether any result is awaited, which may be large. */
  readonly expectsResults: boolean;
  /** Whether any line may be accepted now. */
  readonly wantsLines: boolean;
  /** Accepts the line of the response with this id, or returns false. */
  acceptLine(id: MessageId, line: Buffer): boolean;
  /** Whether any result may be accepted as bytes now. */
  readonly wantsBytes: boolean;
  /** Accepts the result of the response with this id, or returns false. `lineBytes` is the length of the response. */
  acceptBytes(id: MessageId, result: ResultBytes, lineBytes: number): boolean;
}

export class MessageIntake {
  readonly #handlers: MessageHandlers;
  readonly #toSdk: (message: JsonObject) => void;
  /** Ids of the requests in flight. */
  readonly #pending = new Set<MessageId>();
  #ignoredLines = 0;
  #firstIgnored = '';
  #hasMessage = false;
  #isClosed = false;

  /** `toSdk` receives the messages that `handlers.intercept` does not keep. */
  constructor(handlers: MessageHandlers, toSdk: (message: JsonObject) => void) {
    this.#handlers = handlers;
    this.#toSdk = toSdk;
  }

  /** Records a message that is about to be sent. */
  noteSent(message: JsonObject): void {
    const { id, method, params } = message;
    if (method === 'notifications/cancelled' && isObject(params)) {
      this.#pending.delete(params['requestId'] as MessageId);
    } else if (method !== undefined && isMessageId(id)) {
      this.#pending.add(id);
    }
  }

  /** Whether the request with this id is still waiting for its response. */
  isWaiting(id: MessageId): boolean {
    return this.#pending.has(id);
  }

  /** Forgets a request that will get no response. */
  forget(id: MessageId): void {
    this.#pending.delete(id);
  }

  /** The longest message that is read now. */
  get maxMessageBytes(): number {
    return this.#handlers.lines.expectsResults ? MAX_RESULT_BYTES : MAX_UNASKED_BYTES;
  }

  /** Drops everything that arrives from now on. */
  close(): void {
    this.#isClosed = true;
  }

  /** The start of the first line that came instead of a message; undefined once a message has come. */
  get strayText(): string | undefined {
    return this.#hasMessage || this.#ignoredLines === 0 ? undefined : this.#firstIgnored;
  }

  /** Handles the text of one message or, in 2025-03-26, of a batch. Anything else is counted and logged. */
  handleLine(line: Buffer): void {
    if (this.#isClosed || line.length === 0) {
      return;
    }
    const reader = line.length < MIN_RESULT_BYTES ? undefined : this.readLongLine();
    if (reader === undefined) {
      this.#handleWhole(line);
    } else {
      reader.read(line);
      reader.end([line]);
    }
  }

  /** A reader for the next line, if its result may be passed on as bytes. */
  readLongLine(): LongLineReader | undefined {
    if (!this.#handlers.lines.wantsBytes) {
      return undefined;
    }
    const scan = new JsonScan();
    return {
      read: (piece) => scan.push(piece),
      end: (pieces) => {
        if (!this.#isClosed && !this.#isAcceptedAsBytes(pieces, scan)) {
          this.#handleWhole(Buffer.concat(pieces));
        }
      },
    };
  }

  /** Whatever is not an ordinary response with a complete result is not accepted, and is parsed as any other message. */
  #isAcceptedAsBytes(pieces: readonly Buffer[], scan: JsonScan): boolean {
    const { lines, mask } = this.#handlers;
    const scanned = scan.end();
    if (scanned === undefined || mask.mayHoldIn(pieces)) {
      return false;
    }
    const member = (name: string): unknown => {
      const bytes = Buffer.concat(cut(pieces, scanned.members.get(name) ?? { start: 0, end: 0 }));
      const read = readUntrusted(bytes.length > MAX_ID_BYTES ? '' : bytes, JSON_BOUNDS.serverPart);
      return read.ok ? read.value : undefined;
    };
    const result = new ResultBytes(pieces, scanned);
    const resultType = result.textOf('resultType');
    const id = member('id');
    const isComplete = resultType === undefined || resultType === '"complete"';
    if (!isComplete || member('jsonrpc') !== '2.0' || !isMessageId(id)) {
      return false;
    }
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
    scan.finishNumbers();
    this.#hasMessage = true;
    return lines.acceptBytes(id, result, bytes) && this.#takePending(id);
  }

  #handleWhole(line: Buffer): void {
    const { maxMessageBytes } = this;
    const mostBytes = line.length > MAX_UNASKED_BYTES && !hasResult(line) ? MAX_UNASKED_BYTES : maxMessageBytes;
    if (line.length > mostBytes) {
      this.#failTooLong(idOfLine(line), true, LINE_TOO_LONG, tooLong(line.length, mostBytes));
      return;
    }
    const { mask } = this.#handlers;
    const mayHoldSecret = mask.mayHold(line);
    if (!mayHoldSecret && this.#isAcceptedUnparsed(line)) {
      return;
    }
    const messages = this.#readMessages(line);
    if (messages === TOO_MUCH) {
      return;
    }
    if (messages === undefined) {
      this.#ignoreLine(line);
      // If it was a response with other output mixed into it, it will not be sent again.
      this.failRequest(idOfLine(line), ANSWER_BROKEN, 'it is not valid JSON');
    } else if (messages.length > MAX_BATCH) {
      // The bridge sends no batches, so no one waits for so many answers.
      const count = messages.length.toLocaleString('en-US');
      const limit = MAX_BATCH.toLocaleString('en-US');
      this.#failTooLong(undefined, true, LINE_TOO_LONG, `a batch of ${count} messages; the limit is ${limit}`);
    } else {
      messages.forEach((message) => this.#handleParsed(message, line.length, mayHoldSecret));
    }
  }

  /** Reports a line or message that was dropped because it was too long. */
  failDropped({ bytes, id, isMessage, endsAsMessage }: DroppedLine): void {
    const reason = isMessage
      ? tooLong(bytes, this.maxMessageBytes)
      : `${counted(bytes, 'byte')} on stdout without a newline, which is not a message`;
    this.#failTooLong(id, isMessage || endsAsMessage, isMessage ? LINE_TOO_LONG : ANSWER_BROKEN, reason);
  }

  /** The messages on a line, which may begin with other output, as when a server prints without a newline. */
  #readMessages(line: Buffer): readonly JsonObject[] | typeof TOO_MUCH | undefined {
    const value = this.#read(line);
    const messages = value === TOO_MUCH ? value : messagesIn(value);
    if (messages !== undefined) {
      return messages;
    }
    const start = isNoise(line) ? line.indexOf('{"') : -1;
    const rest = start === -1 ? undefined : this.#read(line.subarray(start));
    const answers = rest === TOO_MUCH ? rest : messagesIn(rest);
    return answers === TOO_MUCH || answers?.[0]?.['method'] === undefined ? answers : undefined;
  }

  /** The JSON in a text, if it is JSON. If it is beyond the bounds, the request that it answers has failed. */
  #read(text: Buffer): unknown {
    const read = readUntrusted(text, JSON_BOUNDS.serverMessage);
    if (read.ok) {
      return read.value;
    }
    if (!read.isTooMuch) {
      return undefined;
    }
    this.#failTooLong(idOfLine(text), true, LINE_TOO_LONG, `a message that is ${read.reason}`);
    return TOO_MUCH;
  }

  #failTooLong(id: MessageId | undefined, mayAnswer: boolean, code: number, reason: string): void {
    this.#handlers.logger.warning(`Server '${this.#handlers.name}' sent ${reason}`);
    // If it is unknown which request it answered, all of them fail now, so that none waits for its deadline.
    const others = mayAnswer ? [...this.#pending] : [];
    const failed = id === undefined ? others : [id];
    failed.forEach((each) => this.failRequest(each, code, reason));
  }

  /** Answers a request with an error in place of the server. */
  failRequest(id: unknown, code: number, message: string): void {
    if (isMessageId(id)) {
      this.#deliver({ jsonrpc: '2.0', id, error: { code, message } }, 0);
    }
  }

  /** Handles a message that is already parsed. */
  handleMessage(message: JsonObject, bytes: number): void {
    this.#handleParsed(message, bytes, true);
  }

  #handleParsed(message: JsonObject, bytes: number, mayHoldSecret: boolean): void {
    const { logger, mask, name } = this.#handlers;
    if (isDeeperThan(message, MAX_JSON_DEPTH)) {
      const reason = `nested deeper than ${MAX_JSON_DEPTH} levels`;
      logger.warning(`Server '${name}' sent a message ${reason}`);
      this.failRequest(message['id'], NESTED_TOO_DEEP, reason);
    } else {
      this.#deliver(mayHoldSecret ? mask.maskMessage(message) : message, bytes);
    }
  }

  #deliver(message: JsonObject, lineBytes: number): void {
    this.#hasMessage = true;
    const isResponse = message['method'] === undefined;
    if (isResponse && !this.#takePending(message['id'])) {
      // Late, duplicate or never requested. The SDK would serialize it again for its error message, so it does not get it.
      this.#handlers.logger.debug(`Server '${this.#handlers.name}' sent a response to no request in flight`);
      return;
    }
    const { id } = message;
    if (!isResponse && typeof id === 'string' && id.length > MAX_REQUEST_ID_CHARS) {
      this.#handlers.logger.debug(
        `Server '${this.#handlers.name}' sent a request with an id of ${id.length} characters`,
      );
      return;
    }
    if (!this.#handlers.intercept(message, lineBytes)) {
      this.#toSdk(isResponse ? readableResponse(message) : message);
    }
  }

  #isAcceptedUnparsed(line: Buffer): boolean {
    const { lines } = this.#handlers;
    const id = lines.wantsLines ? idOfLine(line) : undefined;
    return id !== undefined && lines.acceptLine(id, line) && this.#takePending(id);
  }

  /** Servers print start-up banners and debug output. The first such line is logged as info, the others as debug. */
  #ignoreLine(line: Buffer): void {
    this.#ignoredLines += 1;
    const { logger, name, maskText, onStrayLine } = this.#handlers;
    const preview = maskText(line.toString('utf8', 0, MASKED_BYTES)).slice(0, PREVIEW_CHARS);
    if (!this.#hasMessage) {
      onStrayLine?.(this.#ignoredLines);
    }
    const text = `Server '${name}' wrote a line that is not a JSON-RPC message (${this.#ignoredLines}): ${preview}`;
    if (this.#ignoredLines === 1) {
      this.#firstIgnored = preview;
      logger.info(text);
    } else {
      logger.debug(text);
    }
  }

  #takePending(id: unknown): boolean {
    const number = idNumber(id);
    return this.#pending.delete(id as MessageId) || (number !== undefined && this.#pending.delete(number));
  }
}

/**
 * Whether a long message is a response with a result, which alone may be long: an error, a notification or a batch of this size would
 * only fill the memory. The members before the result are skipped, not parsed.
 */
function hasResult(line: Buffer): boolean {
  const start = isNoise(line) ? line.indexOf('{"') : 0;
  const cursor = new JsonCursor(line, Math.max(start, 0));
  try {
    let key = cursor.enterObject() ? cursor.nextKey() : undefined;
    while (key !== undefined && key !== 'result') {
      cursor.skip();
      key = cursor.nextKey();
    }
    return key === 'result';
  } catch {
    return false;
  }
}

function tooLong(bytes: number, limit: number): string {
  return `a message of ${bytes} bytes; the limit is ${limit} bytes`;
}

/**
 * The number of the request that a response with this id answers. Some servers respond to request 7 with "7", although the two
 * must be the same (JSON-RPC 2.0, section 5); no other text stands for a number. Requests of the bridge all have numbers, so such
 * an answer cannot be meant for another.
 */
export function idNumber(id: unknown): number | undefined {
  if (typeof id === 'number') {
    return id;
  }
  return typeof id === 'string' && String(Number(id)) === id ? Number(id) : undefined;
}

/** A response that the SDK takes. It drops one with other members or of another form, and its request would wait for its deadline. */
function readableResponse({ id, result, error }: JsonObject): JsonObject {
  if (isObject(result) && !isObject(error)) {
    return { jsonrpc: '2.0', id, result };
  }
  const { code, message, data } = isObject(error) ? error : {};
  const text = typeof message === 'string' ? message : NO_RESULT;
  return {
    jsonrpc: '2.0',
    id,
    error: { code: Number.isSafeInteger(code) ? code : ANSWER_BROKEN, message: text, data },
  };
}

export function isMessageId(value: unknown): value is MessageId {
  return typeof value === 'string' || typeof value === 'number';
}

/** The JSON-RPC 2.0 object, or those of a batch, if there is any. */
function messagesIn(value: unknown): readonly JsonObject[] | undefined {
  const messages = (Array.isArray(value) ? value : [value]).filter(isJsonRpc);
  return messages.length === 0 ? undefined : messages;
}

function isJsonRpc(value: unknown): value is JsonObject {
  return isObject(value) && value['jsonrpc'] === '2.0';
}
