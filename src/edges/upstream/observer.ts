/** The contract for watching starts of a server and requests to it. */
import type { JsonObject } from '../../core/base/is-object.ts';
import type { RequestLimits } from './requests.ts';

/** What a request carries for whoever watches it. */
export type Watched = Pick<RequestLimits, 'meta' | 'onSent'>;

export interface ObservedRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly protocolVersion: string;
}

/** How a handshake was done. */
export interface HandshakeFacts {
  readonly method: 'initialize' | 'server/discover';
  readonly protocolVersion: string | undefined;
}

/** Each method calls its last argument once, and resolves or rejects as that does. */
export interface ServerObserver {
  /** The start of the server or the connection to it, with the handshake. `exited` resolves when it is gone. */
  start<Opened extends { readonly exited: Promise<unknown> }>(open: () => Promise<Opened>): Promise<Opened>;
  handshake<Value>(describe: (value: Value) => HandshakeFacts, shake: () => Promise<Value>): Promise<Value>;
  request<Value>(request: ObservedRequest, send: (watched: Watched) => Promise<Value>): Promise<Value>;
}

/** Where a server is. The entry may still have references instead of values. */
export interface ObservedServer {
  readonly name: string;
  readonly url?: string | undefined;
}

export type ObserveServer = (server: ObservedServer) => ServerObserver;
