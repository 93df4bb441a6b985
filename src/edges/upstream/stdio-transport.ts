/**
 * MCP over the stdin and stdout of a local server: one JSON-RPC message per line (MCP specification 2025-11-25, "stdio").
 * The SDK's own transport (2.4.0) is not used: it copies its whole buffer for every chunk (40 MB took 9 s), closes the
 * connection at 10 MB, starts every server twice to detect its protocol era, and leaves grandchildren behind.
 */
import type { Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { BridgeError } from '../../core/base/errors.ts';
import { MAX_UNWRITTEN_BYTES, MIN_RESULT_BYTES } from '../../core/base/limits.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import { LineReader } from '../../core/protocol/line-reader.ts';
import type { ServerTransport } from './connection.ts';
import type { Guardian } from './guardian.ts';
import { type MessageHandlers, MessageIntake } from './message-intake.ts';
import { type ServerCommand, type ServerExit, ServerProcess } from './server-process.ts';

export interface StdioTransportOptions extends ServerCommand, MessageHandlers {
  readonly guardian: Guardian;
  readonly onStderr?: (() => void) | undefined;
}

/** Answers to requests of the server that wait for the pipe. Chosen, far above what a server of good will asks at once. */
const MAX_WAITING_ANSWERS = 1_000;
const WRITTEN = Promise.resolve();
/** The messages of one turn of the event loop are written together, up to about so much. The same as the buffer of a pipe. */
const BATCH_CHARS = 16 * 1024;

/** Starts `options.command` when the SDK or the caller calls `start`. */
export class StdioClientTransport implements ServerTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  /** Unused. The SDK recognizes a stdio transport by its `stderr` and `pid`. */
  readonly stderr = null;

  readonly #process: ServerProcess;
  readonly #intake: MessageIntake;
  #drained: Promise<void> | undefined;
  /** Messages to be written at the end of this turn. Empty while the pipe is full. */
  #batch = '';
  /** Characters that wait for the pipe. Cancelled requests still wait, so their calls no longer count. */
  #unwrittenChars = 0;
  #waitingAnswers = 0;

  constructor(options: StdioTransportOptions) {
    this.#intake = new MessageIntake(options, (message) => this.onmessage?.(message as unknown as JSONRPCMessage));
    const reader = new LineReader(() => this.#intake.maxMessageBytes, {
      onLine: (line) => this.#intake.handleLine(line),
      onOversize: (line) => this.#intake.failDropped(line),
      longLines: { minBytes: MIN_RESULT_BYTES, begin: () => this.#intake.readLongLine() },
    });
    this.#process = new ServerProcess({ ...options, onOutput: (chunk) => reader.push(chunk) });
    void this.#process.exited.then(() => {
      this.#intake.close();
      this.onclose?.();
    });
  }

  /** Resolves when the process is gone and its output has been read. Never rejects. */
  get exited(): Promise<ServerExit> {
    return this.#process.exited;
  }

  /** Process id, which is also the id of the process group; null before the start. */
  get pid(): number | null {
    return this.#process.pid ?? null;
  }

  /** Whether the process exited without being asked to. */
  get endedItself(): boolean {
    return this.#process.endedItself;
  }

  /** See `MessageIntake.strayText`. */
  get strayText(): string | undefined {
    return this.#intake.strayText;
  }

  /** The last lines the server wrote to stderr. */
  lastStderrLines(): string {
    return this.#process.lastStderrLines();
  }

  /** Starts the server once; rejects with the error of the operating system. */
  start(): Promise<void> {
    return this.#process.start();
  }

  /** Stops the server and everything it started; resolves when they are gone. */
  close(): Promise<void> {
    this.#writeBatch();
    return this.#process.stop();
  }

  /** Writes one message; resolves when it is in the pipe or in the stream's buffer. Rejects if the server is gone. */
  send(message: JSONRPCMessage): Promise<void> {
    this.#intake.noteSent(message);
    const isAnswer = !('method' in message);
    if (isAnswer && this.#waitingAnswers >= MAX_WAITING_ANSWERS) {
      // A server that asks without end, and reads no answer, gets no further ones: they would fill the memory.
      return WRITTEN;
    }
    const line = `${stringifyExact(message)}\n`;
    const { stdin } = this.#process;
    if (stdin === undefined || this.#drained !== undefined) {
      this.#waitingAnswers += isAnswer ? 1 : 0;
      return this.#writeLater(line).finally(() => {
        this.#waitingAnswers -= isAnswer ? 1 : 0;
      });
    }
    this.#write(line);
    return WRITTEN;
  }

  /** Writes when the pipe has room again. */
  async #writeLater(line: string): Promise<void> {
    if (this.#unwrittenChars + line.length > MAX_UNWRITTEN_BYTES) {
      const waiting = this.#unwrittenChars.toLocaleString('en-US');
      throw new BridgeError('LIMIT_CALLS', `the server has not read ${waiting} bytes of earlier calls`, {
        hint: 'Await results before starting further calls.',
      });
    }
    this.#unwrittenChars += line.length;
    // The promise is shared: a listener for each of 1,000 waiting writes would be reported as a leak.
    while (this.#drained !== undefined) {
      await this.#drained;
    }
    this.#unwrittenChars -= line.length;
    const { stdin } = this.#process;
    if (stdin === undefined) {
      // The caller's error message includes how the server exited.
      await this.#process.exitedOrSoon();
      throw new Error('Not connected');
    }
    this.#write(line);
  }

  #write(line: string): void {
    if (this.#batch === '') {
      process.nextTick(() => this.#writeBatch());
    }
    // One text, not a `writev`, for which Node encodes each text by itself.
    this.#batch += line;
    if (this.#batch.length >= BATCH_CHARS) {
      this.#writeBatch();
    }
  }

  #writeBatch(): void {
    const batch = this.#batch;
    const { stdin } = this.#process;
    this.#batch = '';
    if (batch !== '' && stdin !== undefined && !stdin.write(batch)) {
      this.#drained ??= waitForDrain(stdin).finally(() => {
        this.#drained = undefined;
      });
    }
  }
}

/** Resolves when the stream has room again or is closed. Leaves no listeners behind. */
export function waitForDrain(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.once('drain', done).once('close', done);
  });
}
