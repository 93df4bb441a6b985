/** What calls and connections agree on: requests to a server beside calls of its tools, its questions, and why there is no result. */
import type { CancelSignal } from '../base/cancel.ts';
import type { JsonObject } from '../base/is-object.ts';

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

/** MCP: server/resources, server/prompts. */
export type SurfaceMethod =
  | 'resources/list'
  | 'resources/templates/list'
  | 'resources/read'
  | 'prompts/list'
  | 'prompts/get';

export interface SurfaceCall {
  readonly server: string;
  readonly method: SurfaceMethod;
  readonly params: JsonObject;
  /** Cancels the request, also at the server. */
  readonly signal?: CancelSignal | undefined;
  /** Asks the person what the server wants to know during the request. */
  readonly elicit?: Elicit | undefined;
}

/** A single result, or a whole list with a notice for each reason why entries are missing from it. */
export type SurfaceAnswer =
  | { readonly result: JsonObject }
  | { readonly items: readonly JsonObject[]; readonly notices: readonly string[] };
