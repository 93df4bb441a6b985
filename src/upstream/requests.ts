/**
 * Requests whose results are taken as the server sent them. The SDK's client (2.4.0) checks whole results on
 * 2026-07-28 connections and refuses one for a content type it does not know; what a tool answers belongs to the
 * user's code, so `tools/call` and `tools/list` go past it on the same connection, with numbers of their own.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { CancelSignal } from '../cancel.ts';
import { isJsonObject, type JsonObject } from './definition.ts';

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
}

export interface Answer {
  readonly result: JsonObject;
  /** Bytes of the line it came in. */
  readonly bytes: number;
}

type Settle = (outcome: Answer | RequestError) => void;

/** The requests in flight on one connection. */
export class Requests {
  readonly #send: (message: JSONRPCMessage) => Promise<void>;
  readonly #waiting = new Map<number, Settle>();
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
    const { signal, timeoutMs } = limits;
    if (this.#isClosed || signal?.aborted === true) {
      return Promise.reject(new RequestError(this.#isClosed ? 'closed' : 'cancelled', 'it was never sent'));
    }
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise<Answer>((resolve, reject) => {
      const settle: Settle = (outcome) => {
        if (!this.#waiting.delete(id)) {
          return;
        }
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        if (outcome instanceof RequestError) {
          reject(outcome);
        } else {
          resolve(outcome);
        }
      };
      const onAbort = (): void => this.#giveUp(id, 'cancelled', 'cancelled by the caller');
      const timer = setTimeout(() => this.#giveUp(id, 'timeout', `no answer within ${timeoutMs} ms`), timeoutMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(id, settle);
      this.#write({ id, method, params }).catch((cause: unknown) => {
        settle(new RequestError('closed', 'the request could not be written', { cause }));
      });
    });
  }

  /** Takes a response; false if it answers none of these requests. `bytes` is the length of its line. */
  accept(message: JsonObject, bytes: number): boolean {
    const settle = this.#waiting.get(Number(message['id']));
    if (settle === undefined) {
      return false;
    }
    const outcome = readResponse(message);
    settle(outcome instanceof RequestError ? outcome : { result: outcome, bytes });
    return true;
  }

  /** Rejects everything that waits, because the connection is gone. */
  close(): void {
    this.#isClosed = true;
    [...this.#waiting.values()].forEach((settle) => settle(new RequestError('closed', 'the connection was closed')));
  }

  #giveUp(id: number, kind: 'timeout' | 'cancelled', reason: string): void {
    const cancelled = { method: 'notifications/cancelled', params: { requestId: id, reason } };
    // When this cannot be written the server is on its way out, and there is nobody left to tell.
    this.#write(cancelled).catch(() => undefined);
    this.#waiting.get(id)?.(new RequestError(kind, reason));
  }

  #write(message: { method: string; params: JsonObject; id?: number }): Promise<void> {
    const { params } = message;
    const meta = isJsonObject(params['_meta']) ? params['_meta'] : {};
    const enveloped = this.#envelope === undefined ? params : { ...params, _meta: { ...this.#envelope, ...meta } };
    return this.#send({ jsonrpc: '2.0', ...message, params: enveloped });
  }
}

function readResponse(message: JsonObject): JsonObject | RequestError {
  const { result, error } = message;
  if (isJsonObject(error)) {
    const code = typeof error['code'] === 'number' ? error['code'] : undefined;
    const text = typeof error['message'] === 'string' && error['message'] !== '' ? error['message'] : 'no message';
    return new RequestError('rpc', text, { code, data: error['data'] });
  }
  if (!isJsonObject(result)) {
    return new RequestError('malformed', 'the response has neither a result object nor an error object');
  }
  const { resultType } = result;
  if (resultType === undefined || resultType === 'complete') {
    return result;
  }
  const shown = JSON.stringify(resultType).slice(0, 100);
  return new RequestError('malformed', `the result is of type ${shown}; only complete results can be used`);
}
