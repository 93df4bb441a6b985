/**
 * Requests that bypass the SDK's client on the same connection, with ids of their own. On 2026-07-28 connections the client
 * (2.4.0) validates whole results and rejects a result with an unknown content type. The result of a tool belongs to the
 * user's code, so `tools/call` and `tools/list` are sent from here, and results are returned as the server sent them.
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { type CancelSignal, CancelSource } from '../../core/base/cancel.ts';
import { Countdown } from '../../core/base/countdown.ts';
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import type { ResultBytes } from '../../core/protocol/result-bytes.ts';
import { type Elicit, RequestError } from '../../core/protocol/server-requests.ts';
import { idNumber, NO_RESULT } from './message-intake.ts';

/** The SDK numbers its own requests from 0. Fits a signed 32-bit integer, which is all that some servers can parse. */
const FIRST_ID = 1 << 30;

export interface RequestLimits {
  readonly timeoutMs: number;
  readonly signal?: CancelSignal | undefined;
  /** Asks the server to report progress; called for each report. */
  readonly onProgress?: ((progress: RequestProgress) => void) | undefined;
  /** Asks the person what the server wants to know. If set, a result that requests input is accepted as a result. */
  readonly elicit?: Elicit | undefined;
  /** Whether the result may be a task. */
  readonly takesTask?: boolean | undefined;
  /** Whether a large result may come as `ResultBytes`. */
  readonly takesBytes?: boolean | undefined;
  /** Whether the call was let through as one that only reads. */
  readonly isTakenForRead?: boolean | undefined;
  /** More fields of `_meta`. */
  readonly meta?: JsonObject | undefined;
  /** Called with the id of the request before it is sent. */
  readonly onSent?: ((id: number) => void) | undefined;
}

/** One `notifications/progress` of a server. */
export interface RequestProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface Answer<Result = JsonObject | ResultBytes> {
  readonly result: Result;
  /** Length of the line that contained it. */
  readonly bytes: number;
}

/** The answer to a request, or its unparsed line if that was requested. */
type Outcome = Answer | Buffer;

/** A request in flight. One object, because one gather makes 1,000 requests at once. */
class Waiting {
  readonly limits: RequestLimits;
  readonly wantsLine: boolean;
  readonly clock: Countdown;
  /** Aborted when the request ends, so that questions about it end too. */
  ended: CancelSource | undefined;
  readonly #onAbort: () => void;
  #resolve: (outcome: Outcome) => void = () => undefined;
  #reject: (error: RequestError) => void = () => undefined;

  constructor(
    limits: RequestLimits,
    wantsLine: boolean,
    giveUp: (kind: 'timeout' | 'cancelled', reason: string) => void,
  ) {
    this.limits = limits;
    this.wantsLine = wantsLine;
    const { signal, timeoutMs } = limits;
    this.#onAbort = () => giveUp('cancelled', 'cancelled by the caller');
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.clock = new Countdown(timeoutMs, () => giveUp('timeout', `no answer within ${timeoutMs} ms`));
  }

  outcome(): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Settles the promise of `outcome`. */
  settle(outcome: Outcome | RequestError): void {
    this.clock.stop();
    this.ended?.abort();
    this.limits.signal?.removeEventListener('abort', this.#onAbort);
    if (outcome instanceof RequestError) {
      this.#reject(outcome);
    } else {
      this.#resolve(outcome);
    }
  }
}

/** The requests in flight on one connection. */
export class Requests {
  readonly #send: (message: JSONRPCMessage) => Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  #lines = 0;
  #takers = 0;
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
    const { meta, onProgress, onSent, signal } = limits;
    if (this.#isClosed || signal?.aborted === true) {
      return Promise.reject(new RequestError(this.#isClosed ? 'closed' : 'cancelled', 'it was never sent'));
    }
    const id = this.#nextId;
    this.#nextId += 1;
    this.#lines += wantsLine ? 1 : 0;
    this.#takers += limits.takesBytes === true ? 1 : 0;
    const waiting = new Waiting(limits, wantsLine, (kind, reason) => this.#giveUp(id, kind, reason));
    const outcome = waiting.outcome();
    this.#waiting.set(id, waiting);
    onSent?.(id);
    const progress = onProgress === undefined ? undefined : { progressToken: id };
    const sent = withMeta(withMeta(params, meta), progress);
    this.#write({ id, method, params: sent }).catch((cause: unknown) => {
      this.#settle(id, new RequestError('closed', 'the request could not be written', { cause }));
    });
    return outcome;
  }

  /** Ends a request, unless it has ended. */
  #settle(id: number, outcome: Outcome | RequestError): void {
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) {
      this.#waiting.delete(id);
      this.#lines -= waiting.wantsLine ? 1 : 0;
      this.#takers -= waiting.limits.takesBytes === true ? 1 : 0;
      waiting.settle(outcome);
    }
  }

  /** Handles a response; returns false if it answers none of these requests. `bytes` is the length of its line. */
  accept(message: JsonObject, bytes: number): boolean {
    const id = Number(message['id']);
    const waiting = this.#waitingFor(message['id']);
    if (waiting === undefined) {
      return false;
    }
    if (waiting.wantsLine) {
      this.#settle(id, Buffer.from(stringifyExact(message)));
      return true;
    }
    const outcome = readResponse(message, waiting.limits);
    this.#settle(id, outcome instanceof RequestError ? outcome : { result: outcome, bytes });
    return true;
  }

  /** Handles the `params` of a progress notification. A malformed one, or one for an unknown request, is ignored. */
  acceptProgress(params: unknown): void {
    const { progressToken, progress, total, message } = isObject(params) ? params : {};
    if (isFiniteNumber(progress)) {
      this.#waitingFor(progressToken)?.limits.onProgress?.({
        progress,
        total: isFiniteNumber(total) ? total : undefined,
        message: typeof message === 'string' ? message : undefined,
      });
    }
  }

  /** The newest request in flight whose caller can ask the person; `ended` aborts when that request ends. */
  newestAsker(): { readonly elicit: Elicit; readonly ended: CancelSignal } | undefined {
    const waiting = [...this.#waiting.values()].findLast(({ limits }) => limits.elicit !== undefined);
    if (waiting?.limits.elicit === undefined) {
      return undefined;
    }
    waiting.ended ??= new CancelSource();
    return { elicit: waiting.limits.elicit, ended: waiting.ended };
  }

  /** Pauses the timeouts of all requests in flight until the returned function is called. */
  holdClocks(): () => void {
    const releases = [...this.#waiting.values()].map(({ clock }) => clock.hold());
    return () => releases.forEach((release) => release());
  }

  /** Whether any request is in flight. */
  get expectsResults(): boolean {
    return this.#waiting.size > 0;
  }

  /** Whether any request is waiting for an unparsed line. */
  get wantsLines(): boolean {
    return this.#lines > 0;
  }

  /** Handles the unparsed line of a response; returns false if no request with this id asked for a line. */
  acceptLine(id: string | number, line: Buffer): boolean {
    if (this.#waitingFor(id)?.wantsLine !== true) {
      return false;
    }
    this.#settle(Number(id), line);
    return true;
  }

  /** Whether any request takes a large result as bytes. */
  get wantsBytes(): boolean {
    return this.#takers > 0;
  }

  /** Handles a complete result; returns false if no request with this id takes bytes. */
  acceptBytes(id: string | number, result: ResultBytes, bytes: number): boolean {
    if (this.#waitingFor(id)?.limits.takesBytes !== true) {
      return false;
    }
    this.#settle(Number(id), { result, bytes });
    return true;
  }

  /** Rejects every request in flight, because the connection is gone. */
  close(): void {
    this.#isClosed = true;
    [...this.#waiting.keys()].forEach((id) =>
      this.#settle(id, new RequestError('closed', 'the connection was closed')),
    );
  }

  #waitingFor(id: unknown): Waiting | undefined {
    const number = idNumber(id);
    return number === undefined ? undefined : this.#waiting.get(number);
  }

  #giveUp(id: number, kind: 'timeout' | 'cancelled', reason: string): void {
    const cancelled = { method: 'notifications/cancelled', params: { requestId: id, reason } };
    // If this cannot be written, the server is already ending and needs no cancellation.
    this.#write(cancelled).catch(() => undefined);
    this.#settle(id, new RequestError(kind, reason));
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

function withMeta(params: JsonObject, more: JsonObject | undefined): JsonObject {
  if (more === undefined) {
    return params;
  }
  const meta = isObject(params['_meta']) ? params['_meta'] : {};
  return { ...params, _meta: { ...meta, ...more } };
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function readResponse(message: JsonObject, { elicit, takesTask }: RequestLimits): JsonObject | RequestError {
  const { result, error } = message;
  if (!isObject(result) || isObject(error)) {
    return errorOf(error);
  }
  try {
    const { resultType } = result;
    const isTaken =
      (resultType === 'input_required' && elicit !== undefined) || (resultType === 'task' && takesTask === true);
    if (!isTaken) {
      checkResultType(resultType);
    }
    return result;
  } catch (refused) {
    return refused as RequestError;
  }
}

/** The error that the `error` member of a response stands for. Pass undefined for a response with neither error nor result. */
export function errorOf(error: unknown): RequestError {
  if (!isObject(error)) {
    return new RequestError('malformed', NO_RESULT);
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
