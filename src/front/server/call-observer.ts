/** The contract for watching the calls of clients. */
import type { Result } from '@modelcontextprotocol/server';

/** A call of a tool, as it was received. Nothing of it is checked, except that the tool exists. */
export interface ReceivedCall {
  /** Undefined if there is no such tool. */
  readonly tool: string | undefined;
  readonly requestId: string | number;
  readonly protocolVersion: string | undefined;
  /** `params._meta`. */
  readonly meta: unknown;
  /** `params.arguments`. */
  readonly given: unknown;
  /** Over HTTP: the headers, and the id of the connection if it has one. */
  readonly http: { readonly headers: Headers; readonly session: string | undefined } | undefined;
}

/** Calls `answer` once, and resolves or rejects as that does. */
export type ObserveCall = (call: ReceivedCall, answer: () => Promise<Result>) => Promise<Result>;
