/** What the front of the egress hands to the broker, and the broker to the sender: one HTTP request of code, and its answer. */
import type { Readable } from 'node:stream';

/** One request of code in the sandbox. */
export interface EgressRequest {
  readonly method: string;
  /** Absolute; http or https, without user, password and fragment. */
  readonly url: URL;
  /** As code wrote them, in order, without hop-by-hop headers (RFC 9110, section 7.6.1) and without `proxy-*`. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Readable;
  /** Aborts when the connection to the sandbox ends. */
  readonly signal: AbortSignal;
}

export interface EgressAnswer {
  readonly status: number;
  /** The reason phrase; that of the status by default. */
  readonly reason?: string | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Readable | Buffer;
}

export type HandleEgress = (request: EgressRequest) => Promise<EgressAnswer>;
