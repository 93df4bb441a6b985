/**
 * Requests whose results are taken as the server sent them. The SDK's client (2.4.0) checks whole results on
 * 2026-07-28 connections and refuses one for a content type it does not know; what a tool answers belongs to the
 * user's code, so `tools/call` and `tools/list` go past it on the same connection, with numbers of their own.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { type CancelSignal, CancelSource } from '../base/cancel.ts';
import { Countdown } from '../base/countdown.ts';
import { isObject, type JsonObject } from '../base/is-object.ts';
import { stringifyExact } from '../protocol/exact-json.ts';
import type { Elicit } from './elicit.ts';

/** The SDK counts its own requests from 0. Fits a signed 32-bit number, which is all some servers read. */
const FIRST_ID = 1 << 30;

interface RpcDetails {
  readonly code?: number | undefined;
  readonly data?: unknown;
  readonly cause?: unknown;
}

/** Why a request has no result. `code` and `data` are those of the server's JSON-RPC error (kind `rpc`). */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly kind: 'rpc' | 'timeout' | 'cancelled' | 'closed' | 'malformed';
  readonly code: number | undefined;
  readonly data: unknown;

  constructor(kind: RequestError['kind'], message: string, details: RpcDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.code = details.code;
    this.data = details.data;
  }
}

export interface RequestLimits {
  readonly timeoutMs: number;
  readonly signal?: CancelSignal | undefined;
  /** Asks the server to report its progress, and gets what it reports, however often. */
  readonly onProgress?: ((progress: RequestProgress) => void) | undefined;
  /** Puts a question of the server to the person. With it, a result that asks for input is a result. */
  readonly elicit?: Elicit | undefined;
}

/** One `notifications/progress` of a server. */
export interface RequestProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface Answer {
  readonly result: JsonObject;
  /** Bytes of the line it came in. */
  readonly bytes: number;
}

/** What a request gets: its answer, or the whole line of it, when that was asked for. */
type Outcome = Answer | Buffer;

interface Waiting {
  readonly wantsLine: boolean;
  readonly onProgress: RequestLimits['onProgress'];
  readonly elicit: RequestLimits['elicit'];
  readonly clock: Countdown;
  /** Aborted when the request is over, for the questions about it. */
  ended?: CancelSource;
  settle(outcome: Outcome | RequestError): void;
}

/** The requests in flight on one connection. */
export class Requests {
  readonly #send: (message: JSONRPCMessage) => Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  #lines = 0;
  #nextId = FIRST_ID;
  #envelope: JsonObject | undefined;
  #isClosed = false;

  constructor(send: (message: JSONRPCMessage) => Promise<void>) {
    this.#send = send;
  }

  /** `_meta` of every message from now on, as 2026-07-28 asks for. */
  setEnvelope(envelope: JsonObject): void {
    this.#envelope = envelope;
  }

  /** Sends one request. Rejects with a `RequestError`; at the deadline and on abort the server is told to stop. */
  request(method: string, params: JsonObject, limits: RequestLimits): Promise<Answer> {
    return this.#ask(method, params, limits, false) as Promise<Answer>;
  }

  /** As `request`, but gives the line of the response unread, so that a long one can be read in slices. */
  requestLine(method: string, params: JsonObject, limits: RequestLimits): Promise<Buffer> {
    return this.#ask(method, params, limits, true) as Promise<Buffer>;
  }

  #ask(method: string, params: JsonObject, limits: RequestLimits, wantsLine: boolean): Promise<Outcome> {
    const { signal, timeoutMs, onProgress, elicit } = limits;
    if (this.#isClosed || signal?.aborted === true) {
      return Promise.reject(new RequestError(this.#isClosed ? 'closed' : 'cancelled', 'it was never sent'));
    }
    const id = this.#nextId;
    this.#nextId += 1;
    this.#lines += wantsLine ? 1 : 0;
    return new Promise<Outcome>((resolve, reject) => {
      const settle = (outcome: Outcome | RequestError): void => {
        const waiting = this.#waiting.get(id);
        if (!this.#waiting.delete(id)) {
          return;
        }
        this.#lines -= wantsLine ? 1 : 0;
        clock.stop();
        waiting?.ended?.abort();
        signal?.removeEventListener('abort', onAbort);
        if (outcome instanceof RequestError) {
          reject(outcome);
        } else {
          resolve(outcome);
        }
      };
      const onAbort = (): void => this.#giveUp(id, 'cancelled', 'cancelled by the caller');
      const clock = new Countdown(timeoutMs, () => this.#giveUp(id, 'timeout', `no answer within ${timeoutMs} ms`));
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(id, { wantsLine, onProgress, elicit, clock, settle });
      const sent = onProgress === undefined ? params : { ...params, _meta: { progressToken: id } };
      this.#write({ id, method, params: sent }).catch((cause: unknown) => {
        settle(new RequestError('closed', 'the request could not be written', { cause }));
      });
    });
  }

  /** Takes a response; false if it answers none of these requests. `bytes` is the length of its line. */
  accept(message: JsonObject, bytes: number): boolean {
    const waiting = this.#waiting.get(Number(message['id']));
    if (waiting === undefined) {
      return false;
    }
    if (waiting.wantsLine) {
      waiting.settle(Buffer.from(stringifyExact(message)));
      return true;
    }
    const outcome = readResponse(message, waiting.elicit !== undefined);
    waiting.settle(outcome instanceof RequestError ? outcome : { result: outcome, bytes });
    return true;
  }

  /** Takes the `params` of a progress notification; what is malformed or belongs to no request is passed over. */
  acceptProgress(params: unknown): void {
    const { progressToken, progress, total, message } = isObject(params) ? params : {};
    if (isFiniteNumber(progress)) {
      // Some servers send number 7 back as "7", as `accept` knows.
      this.#waiting.get(Number(progressToken))?.onProgress?.({
        progress,
        total: isFiniteNumber(total) ? total : undefined,
        message: typeof message === 'string' ? message : undefined,
      });
    }
  }

  /** The newest request in flight whose caller can ask the person, and when it is over. */
  newestAsker(): { readonly elicit: Elicit; readonly ended: CancelSignal } | undefined {
    const waiting = [...this.#waiting.values()].findLast(({ elicit }) => elicit !== undefined);
    if (waiting?.elicit === undefined) {
      return undefined;
    }
    waiting.ended ??= new CancelSource();
    return { elicit: waiting.elicit, ended: waiting.ended };
  }

  /** Stops the clocks of all requests in flight until the function it gives is called. */
  holdClocks(): () => void {
    const releases = [...this.#waiting.values()].map(({ clock }) => clock.hold());
    return () => releases.forEach((release) => release());
  }

  /** Whether any request waits for its line. */
  get wantsLines(): boolean {
    return this.#lines > 0;
  }

  /** Takes the line of a response unread; false if no request of this number wants it so. */
  acceptLine(id: string | number, line: Buffer): boolean {
    const waiting = this.#waiting.get(Number(id));
    if (waiting?.wantsLine !== true) {
      return false;
    }
    waiting.settle(line);
    return true;
  }

  /** Rejects everything that waits, because the connection is gone. */
  close(): void {
    this.#isClosed = true;
    [...this.#waiting.values()].forEach(({ settle }) =>
      settle(new RequestError('closed', 'the connection was closed')),
    );
  }

  #giveUp(id: number, kind: 'timeout' | 'cancelled', reason: string): void {
    const cancelled = { method: 'notifications/cancelled', params: { requestId: id, reason } };
    // When this cannot be written the server is on its way out, and there is nobody left to tell.
    this.#write(cancelled).catch(() => undefined);
    this.#waiting.get(id)?.settle(new RequestError(kind, reason));
  }

  #write({ id, method, params }: { method: string; params: JsonObject; id?: number }): Promise<void> {
    const sent = this.#envelope === undefined ? params : inEnvelope(params, this.#envelope);
    return this.#send(
      id === undefined ? { jsonrpc: '2.0', method, params: sent } : { jsonrpc: '2.0', id, method, params: sent },
    );
  }
}

function inEnvelope(params: JsonObject, envelope: JsonObject): JsonObject {
  const meta = isObject(params['_meta']) ? params['_meta'] : {};
  return { ...params, _meta: { ...envelope, ...meta } };
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function readResponse(message: JsonObject, mayAsk: boolean): JsonObject | RequestError {
  const { result, error } = message;
  if (!isObject(result) || isObject(error)) {
    return errorOf(error);
  }
  try {
    if (!mayAsk || result['resultType'] !== 'input_required') {
      checkResultType(result['resultType']);
    }
    return result;
  } catch (refused) {
    return refused as RequestError;
  }
}

/** What the `error` of a response means; undefined for a response that has none, and no result either. */
export function errorOf(error: unknown): RequestError {
  if (!isObject(error)) {
    return new RequestError('malformed', 'the response has neither a result object nor an error object');
  }
  const code = typeof error['code'] === 'number' ? error['code'] : undefined;
  const text = typeof error['message'] === 'string' && error['message'] !== '' ? error['message'] : 'no message';
  return new RequestError('rpc', text, { code, data: error['data'] });
}

/** Throws a `RequestError` for a result that is not complete. */
export function checkResultType(resultType: unknown): void {
  if (resultType !== undefined && resultType !== 'complete') {
    const shown = JSON.stringify(resultType).slice(0, 100);
    throw new RequestError('malformed', `the result is of type ${shown}; only complete results can be used`);
  }
}
