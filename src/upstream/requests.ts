/**
 * Requests that bypass the SDK's client on the same connection, with ids of their own. On 2026-07-28 connections the client
 * (2.4.0) validates whole results and rejects a result with an unknown content type. The result of a tool belongs to the
 * user's code, so `tools/call` and `tools/list` are sent from here, and results are returned as the server sent them.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { type CancelSignal, CancelSource } from '../base/cancel.ts';
import { Countdown } from '../base/countdown.ts';
import { isObject, type JsonObject } from '../base/is-object.ts';
import { stringifyExact } from '../protocol/exact-json.ts';

/** The SDK numbers its own requests from 0. Fits a signed 32-bit integer, which is all that some servers can parse. */
const FIRST_ID = 1 << 30;

interface RpcDetails {
  readonly code?: number | undefined;
  readonly data?: unknown;
  readonly cause?: unknown;
}

/** Why a request has no result. `code` and `data` come from the server's JSON-RPC error (kind `rpc`). */
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

/**
 * Asks the person a question of a server (MCP: client/elicitation): takes the `params` of `elicitation/create` and resolves
 * with its result. If no answer comes, the result has the action `cancel`. Rejects with a `RequestError` if the question is
 * malformed.
 */
export type Elicit = (params: JsonObject, signal: CancelSignal) => Promise<JsonObject>;

export interface RequestLimits {
  readonly timeoutMs: number;
  readonly signal?: CancelSignal | undefined;
  /** Asks the server to report progress; called for each report. */
  readonly onProgress?: ((progress: RequestProgress) => void) | undefined;
  /** Asks the person what the server wants to know. If set, a result that requests input is accepted as a result. */
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
  /** Length of the line that contained it. */
  readonly bytes: number;
}

/** The answer to a request, or its unparsed line if that was requested. */
type Outcome = Answer | Buffer;

interface Waiting {
  readonly wantsLine: boolean;
  readonly onProgress: RequestLimits['onProgress'];
  readonly elicit: RequestLimits['elicit'];
  readonly clock: Countdown;
  /** Aborted when the request ends, so that questions about it end too. */
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

  /** Sets the `_meta` of every later message, which 2026-07-28 requires. */
  setEnvelope(envelope: JsonObject): void {
    this.#envelope = envelope;
  }

  /** Sends one request. Rejects with a `RequestError`; on timeout or abort, the server is sent a cancellation. */
  request(method: string, params: JsonObject, limits: RequestLimits): Promise<Answer> {
    return this.#ask(method, params, limits, false) as Promise<Answer>;
  }

  /** Like `request`, but resolves with the unparsed line of the response, so that a long one can be parsed in slices. */
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

  /** Handles a response; returns false if it answers none of these requests. `bytes` is the length of its line. */
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

  /** Handles the `params` of a progress notification. A malformed one, or one for an unknown request, is ignored. */
  acceptProgress(params: unknown): void {
    const { progressToken, progress, total, message } = isObject(params) ? params : {};
    if (isFiniteNumber(progress)) {
      // Some servers return the number 7 as "7"; `accept` handles that too.
      this.#waiting.get(Number(progressToken))?.onProgress?.({
        progress,
        total: isFiniteNumber(total) ? total : undefined,
        message: typeof message === 'string' ? message : undefined,
      });
    }
  }

  /** The newest request in flight whose caller can ask the person; `ended` aborts when that request ends. */
  newestAsker(): { readonly elicit: Elicit; readonly ended: CancelSignal } | undefined {
    const waiting = [...this.#waiting.values()].findLast(({ elicit }) => elicit !== undefined);
    if (waiting?.elicit === undefined) {
      return undefined;
    }
    waiting.ended ??= new CancelSource();
    return { elicit: waiting.elicit, ended: waiting.ended };
  }

  /** Pauses the timeouts of all requests in flight until the returned function is called. */
  holdClocks(): () => void {
    const releases = [...this.#waiting.values()].map(({ clock }) => clock.hold());
    return () => releases.forEach((release) => release());
  }

  /** Whether any request is waiting for an unparsed line. */
  get wantsLines(): boolean {
    return this.#lines > 0;
  }

  /** Handles the unparsed line of a response; returns false if no request with this id asked for a line. */
  acceptLine(id: string | number, line: Buffer): boolean {
    const waiting = this.#waiting.get(Number(id));
    if (waiting?.wantsLine !== true) {
      return false;
    }
    waiting.settle(line);
    return true;
  }

  /** Rejects every request in flight, because the connection is gone. */
  close(): void {
    this.#isClosed = true;
    [...this.#waiting.values()].forEach(({ settle }) =>
      settle(new RequestError('closed', 'the connection was closed')),
    );
  }

  #giveUp(id: number, kind: 'timeout' | 'cancelled', reason: string): void {
    const cancelled = { method: 'notifications/cancelled', params: { requestId: id, reason } };
    // If this cannot be written, the server is already ending and needs no cancellation.
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

/** The error that the `error` member of a response stands for. Pass undefined for a response with neither error nor result. */
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
