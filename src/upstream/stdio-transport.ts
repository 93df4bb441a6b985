/**
 * MCP over the stdin and stdout of a server that is started here: one JSON-RPC message per line (MCP specification
 * 2025-11-25, "stdio"). The SDK's own transport (2.4.0) is not used: it copies its whole buffer for every chunk (40 MB
 * took 9 s), closes the connection at 10 MB, starts every server twice to learn its era, and leaves grandchildren.
 */
import type { Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { MAX_RESULT_BYTES } from '../base/limits.ts';
import { stringifyExact } from '../protocol/exact-json.ts';
import { LineReader } from '../protocol/line-reader.ts';
import { waitForDrain } from './drain.ts';
import type { Guardian } from './guardian.ts';
import { type MessageHandlers, MessageIntake } from './message-intake.ts';
import { type ServerCommand, type ServerExit, ServerProcess } from './server-process.ts';
import type { ServerTransport } from './transport.ts';

export interface StdioTransportOptions extends ServerCommand, MessageHandlers {
  readonly guardian: Guardian;
}

const TAKEN = Promise.resolve();

/** A transport that starts `options.command` when the SDK (or the caller) calls `start`. */
export class StdioClientTransport implements ServerTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  /** Unused. The SDK takes a transport with `stderr` and `pid` for stdio. */
  readonly stderr = null;

  readonly #process: ServerProcess;
  readonly #intake: MessageIntake;
  #drained: Promise<void> | undefined;

  constructor(options: StdioTransportOptions) {
    this.#intake = new MessageIntake(options, (message) => this.onmessage?.(message as unknown as JSONRPCMessage));
    const reader = new LineReader(MAX_RESULT_BYTES, {
      onLine: (line) => this.#intake.takeLine(line),
      onOversize: (line) => this.#intake.refuseDropped(line),
    });
    this.#process = new ServerProcess({ ...options, onOutput: (chunk) => reader.push(chunk) });
    void this.#process.exited.then(() => {
      this.#intake.close();
      this.onclose?.();
    });
  }

  /** Resolves when the process is gone and what it wrote was read. Never rejects. */
  get exited(): Promise<ServerExit> {
    return this.#process.exited;
  }

  /** Number of the process and of its group; null before the start. */
  get pid(): number | null {
    return this.#process.pid ?? null;
  }

  /** Whether the process ended without being asked to. */
  get endedItself(): boolean {
    return this.#process.endedItself;
  }

  /** The last lines the server wrote to stderr. */
  lastStderrLines(): string {
    return this.#process.lastStderrLines();
  }

  /** Starts the server once; rejects with the error of the operating system. */
  start(): Promise<void> {
    return this.#process.start();
  }

  /** Ends the server and everything it started; resolves when they are gone. */
  close(): Promise<void> {
    return this.#process.stop();
  }

  /** Writes one message; resolves when the pipe has taken it or holds it. Rejects when the server is gone. */
  send(message: JSONRPCMessage): Promise<void> {
    this.#intake.noteSent(message);
    const line = `${stringifyExact(message)}\n`;
    const { stdin } = this.#process;
    if (stdin === undefined || this.#drained !== undefined) {
      return this.#writeLater(line);
    }
    this.#write(stdin, line);
    return TAKEN;
  }

  /** When the pipe has room again. */
  async #writeLater(line: string): Promise<void> {
    // One shared promise: a listener for each of 1,000 waiting writes would be reported as a leak.
    while (this.#drained !== undefined) {
      await this.#drained;
    }
    const { stdin } = this.#process;
    if (stdin === undefined) {
      // What follows wants to know how the server ended.
      await this.#process.exitedOrSoon();
      throw new Error('Not connected');
    }
    this.#write(stdin, line);
  }

  #write(stdin: Writable, line: string): void {
    this.#cork(stdin);
    if (!stdin.write(line)) {
      this.#drained = waitForDrain(stdin).finally(() => {
        this.#drained = undefined;
      });
    }
  }

  /** What is written in one turn goes out in one system call; 1,000 calls of a gather come in one turn. */
  #cork(stdin: Writable): void {
    if (stdin.writableCorked === 0) {
      stdin.cork();
      process.nextTick(() => stdin.uncork());
    }
  }
}
