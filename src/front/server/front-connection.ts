/**
 * One client on one transport: the opening answers first, and the SDK's server takes over when a message comes that the opening
 * leaves to it, or in the background. The server then receives again what the opening has taken, so that it is in the state in
 * which it would be without an opening; its answers to that are dropped, because the client has them.
 */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { callOnce } from '../../core/base/call-once.ts';
import type { ClientFacts } from './client-facts.ts';
import type { Introduction } from './introduction.ts';
import { Opening } from './opening.ts';

/** A transport that can be told to wait. */
export interface PausableTransport extends Transport {
  /** Stops reading. Messages that were read already still come. */
  pause(): void;
  resume(): void;
}

/** Serves a transport until it is closed. */
export type ConnectServer = (transport: Transport, introduction: Introduction) => { close(): Promise<void> };

export interface FrontConnectionOptions {
  readonly introduction: Introduction;
  /** Loads the server. Called once. */
  readonly loadServer: () => Promise<ConnectServer>;
  readonly onerror: (error: Error) => void;
}

export class FrontConnection {
  readonly #wire: PausableTransport;
  readonly #options: FrontConnectionOptions;
  readonly #introduction: Introduction;
  readonly #opening: Opening;
  /** Messages that wait for the server. Undefined while the opening answers. */
  #waiting: JSONRPCMessage[] | undefined;
  #loaded: Promise<ConnectServer> | undefined;
  #server: { close(): Promise<void> } | undefined;
  #isClosed = false;

  constructor(wire: PausableTransport, options: FrontConnectionOptions) {
    this.#wire = wire;
    this.#options = options;
    // The server takes the first `tools/list` of a connection of 2026-07-28 a second time.
    const onToolsListed = callOnce((client: ClientFacts) => options.introduction.onToolsListed?.(client));
    this.#introduction = { ...options.introduction, onToolsListed };
    this.#opening = new Opening(this.#introduction);
  }

  async start(): Promise<void> {
    this.#wire.onmessage = (message) => this.#take(message);
    this.#wire.onerror = this.#options.onerror;
    this.#wire.onclose = () => {
      this.#isClosed = true;
    };
    await this.#wire.start();
  }

  /** Lets the server take over, so that the next request need not wait for it to load. Rejects if it cannot be loaded. */
  async prepare(): Promise<void> {
    await this.#load();
    if (this.#waiting === undefined) {
      this.#waiting = [];
      await this.#handOver();
    }
  }

  /** Ends the connection and aborts its requests. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await (this.#server ?? this.#wire).close();
  }

  #take(message: JSONRPCMessage): void {
    if (this.#waiting !== undefined) {
      this.#waiting.push(message);
      return;
    }
    const step = this.#opening.take(message);
    if (step === undefined) {
      this.#waiting = [message];
      // Rejects if the program's own files cannot be read: an unhandled rejection, which ends the process with the reason.
      void this.#handOver();
      return;
    }
    if (step.answer !== undefined) {
      // It fails if the client is gone, and the transport reports that.
      this.#wire.send(step.answer).catch(() => undefined);
    }
    if (step.listedTo !== undefined) {
      this.#introduction.onToolsListed?.(step.listedTo);
    }
  }

  #load(): Promise<ConnectServer> {
    this.#loaded ??= this.#options.loadServer();
    return this.#loaded;
  }

  async #handOver(): Promise<void> {
    // The end of the input waits, too: requests before it are answered.
    this.#wire.pause();
    const connect = await this.#load();
    if (this.#isClosed) {
      return;
    }
    const relay = new Relay(this.#wire);
    this.#server = connect(relay, this.#introduction);
    this.#wire.onerror = (error) => relay.onerror?.(error);
    this.#wire.onclose = () => relay.onclose?.();
    await relay.replay(this.#opening.seen);
    const take = relay.onmessage ?? (() => undefined);
    this.#wire.onmessage = take;
    this.#waiting?.splice(0).forEach((message) => take(message));
    this.#wire.resume();
  }
}

/** The transport of the server. It was started already. */
class Relay implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #wire: Transport;
  #droppedAnswers = 0;
  #onReplayed: () => void = () => undefined;

  constructor(wire: Transport) {
    this.#wire = wire;
  }

  async start(): Promise<void> {}

  /** Resolves when the server has answered all requests among them. */
  replay(messages: readonly JSONRPCMessage[]): Promise<void> {
    this.#droppedAnswers = messages.filter((message) => 'id' in message).length;
    messages.forEach((message) => this.onmessage?.(message));
    return new Promise((resolve) => {
      this.#onReplayed = resolve;
      this.#resolveIfReplayed();
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#droppedAnswers > 0 && !('method' in message)) {
      this.#droppedAnswers -= 1;
      this.#resolveIfReplayed();
      return Promise.resolve();
    }
    return this.#wire.send(message);
  }

  async close(): Promise<void> {
    await this.#wire.close();
  }

  #resolveIfReplayed(): void {
    if (this.#droppedAnswers === 0) {
      this.#onReplayed();
    }
  }
}
