/**
 * MCP over the stdin and stdout of a server that is started here: one JSON-RPC message per line (MCP specification
 * 2025-11-25, "stdio"). The SDK's own transport (2.4.0) is not used: it copies its whole buffer for every chunk (40 MB
 * took 9 s), closes the connection at 10 MB, starts every server twice to learn its era, and leaves grandchildren.
 * Whatever a server writes, at worst the calls in flight fail; nothing here throws at the process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { MAX_JSON_DEPTH, MAX_RESULT_BYTES } from '../limits.ts';
import type { Logger } from '../log.ts';
import { isDeeperThan } from '../protocol/codec.ts';
import { windowsCommand } from './command.ts';
import { isJsonObject, type JsonObject } from './definition.ts';
import type { Guardian } from './guardian.ts';
import { LineReader } from './line-reader.ts';
import { signalGroup, stopGroup } from './process-group.ts';
import { createStderrTail } from './stderr-tail.ts';

/** Answers that were written before a server ended are still read for this long; a grandchild may hold the pipe open. */
const DRAIN_AFTER_EXIT_MS = 500;
const PREVIEW_BYTES = 200;
/** JSON-RPC codes -32000 to -32099 are free for implementations; servers use the low ones. */
export const LINE_TOO_LONG = -32_098;
export const NESTED_TOO_DEEP = -32_097;

/** How a server ended. Both undefined: it never started, or it closed stdout and was stopped. */
export interface ServerExit {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
}

export interface StdioTransportOptions {
  /** Name of the server, for the log. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly guardian: Guardian;
  readonly logger: Logger;
  /** Sees every message before the SDK does; true keeps it from the SDK. */
  readonly intercept: (message: JsonObject, lineBytes: number) => boolean;
}

type MessageId = string | number;

/** A transport that starts `options.command` when the SDK (or the caller) calls `start`. */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  /** Unused. The SDK takes a transport with `stderr` and `pid` for stdio. */
  readonly stderr = null;
  /** Resolves when the process is gone and what it wrote was read. Never rejects. */
  readonly exited: Promise<ServerExit>;

  readonly #options: StdioTransportOptions;
  readonly #stderrTail = createStderrTail();
  /** Requests that wait for an answer, as the server knows them. */
  readonly #pending = new Set<MessageId>();
  readonly #reader: LineReader;
  #resolveExited: (exit: ServerExit) => void = () => undefined;
  #child: ChildProcess | undefined;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #drained: Promise<void> | undefined;
  #ignoredLines = 0;
  #isClosed = false;
  #endedItself = false;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
    this.#reader = new LineReader(MAX_RESULT_BYTES, {
      onLine: (line) => this.#onLine(line),
      onOversize: (bytes, id) => this.#onOversize(bytes, id),
    });
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
  }

  /** Number of the process and of its group; null before the start. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Whether the process ended without being asked to. */
  get endedItself(): boolean {
    return this.#endedItself;
  }

  /** The last lines the server wrote to stderr. */
  lastStderrLines(): string {
    return this.#stderrTail.lastLines();
  }

  /** Starts the server once; rejects with the error of the operating system. */
  start(): Promise<void> {
    this.#starting ??= this.#spawn();
    return this.#starting;
  }

  /** Writes one message; resolves when the pipe has taken it or holds it. Rejects when the server is gone. */
  async send(message: JSONRPCMessage): Promise<void> {
    this.#notePending(message);
    await this.#write(`${JSON.stringify(message)}\n`);
  }

  /** Ends the server and everything it started; resolves when they are gone. */
  close(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #spawn(): Promise<void> {
    try {
      this.#child = await spawnServer(this.#options);
    } catch (error) {
      this.#settle({ exitCode: undefined, signal: undefined });
      throw error;
    }
    this.#watch(this.#child);
  }

  async #stop(): Promise<void> {
    // A start that failed left nothing to stop; its caller has the error.
    await this.#starting?.catch(() => undefined);
    if (this.#child !== undefined) {
      await stopGroup(this.#child);
      this.#release(this.#child);
    }
    this.#settle({ exitCode: this.#child?.exitCode ?? undefined, signal: this.#child?.signalCode ?? undefined });
  }

  #watch(child: ChildProcess): void {
    const { stdout, stderr, stdin, pid } = child;
    stdout?.on('data', (chunk: Buffer) => this.#reader.push(chunk));
    stderr?.on('data', (chunk: Buffer) => this.#stderrTail.push(chunk));
    // A pipe that breaks means that the server ended, and its exit tells more.
    [stdin, stdout, stderr].forEach((stream) => stream?.on('error', () => undefined));
    child.once('exit', (exitCode, signal) => {
      this.#endedItself = this.#stopping === undefined;
      void this.#finish(child, { exitCode: exitCode ?? undefined, signal: signal ?? undefined });
    });
    // A server that closed one of them cannot be talked to any more.
    [stdin, stdout].forEach((stream) => stream?.once('close', () => void this.#stopUnlessEnding()));
    if (pid !== undefined) {
      this.#options.guardian.watch(pid);
    }
  }

  /** Pipes are closed a moment before the end of a process is known. */
  async #stopUnlessEnding(): Promise<void> {
    await Promise.race([this.exited, sleep(DRAIN_AFTER_EXIT_MS)]);
    if (!this.#isClosed) {
      await this.close();
    }
  }

  async #finish(child: ChildProcess, exit: ServerExit): Promise<void> {
    if (child.stdout !== null) {
      await waitForEnd(child.stdout, DRAIN_AFTER_EXIT_MS);
    }
    if (child.pid !== undefined && this.#stopping === undefined) {
      // What it started has nobody left to talk to.
      signalGroup(child.pid, 'SIGKILL');
    }
    [child.stdin, child.stdout, child.stderr].forEach((stream) => stream?.destroy());
    this.#settle(exit);
    await this.#stopping;
    this.#release(child);
  }

  #release(child: ChildProcess): void {
    if (child.pid !== undefined) {
      this.#options.guardian.release(child.pid);
    }
  }

  #settle(exit: ServerExit): void {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#pending.clear();
      this.#resolveExited(exit);
      this.onclose?.();
    }
  }

  #onLine(line: Buffer): void {
    if (this.#isClosed || line.length === 0) {
      return;
    }
    const message = parseMessage(line);
    if (message === undefined) {
      this.#ignoreLine(line);
    } else if (isDeeperThan(message, MAX_JSON_DEPTH)) {
      const reason = `nested deeper than ${MAX_JSON_DEPTH} levels`;
      this.#options.logger.warning(`Server '${this.#options.name}' sent a message ${reason}`);
      this.#failRequest(message['id'], NESTED_TOO_DEEP, reason);
    } else {
      this.#deliver(message, line.length);
    }
  }

  #onOversize(bytes: number, id: MessageId | undefined): void {
    const reason = `a message of ${bytes} bytes; the limit is ${MAX_RESULT_BYTES} bytes`;
    this.#options.logger.warning(`Server '${this.#options.name}' sent ${reason}`);
    // Nobody knows whose answer it was: better all fail now than one waits for its deadline.
    const failed = id === undefined ? [...this.#pending] : [id];
    failed.forEach((each) => this.#failRequest(each, LINE_TOO_LONG, reason));
  }

  /** Servers print start-up banners and debugging output; the first line is logged, so that people can find out. */
  #ignoreLine(line: Buffer): void {
    this.#ignoredLines += 1;
    const { logger, name } = this.#options;
    const preview = line.toString('utf8', 0, PREVIEW_BYTES);
    const text = `Server '${name}' wrote a line on stdout that is no JSON-RPC message (${this.#ignoredLines}): ${preview}`;
    if (this.#ignoredLines === 1) {
      logger.info(text);
    } else {
      logger.debug(text);
    }
  }

  #deliver(message: JsonObject, lineBytes: number): void {
    const isResponse = message['method'] === undefined;
    if (isResponse && !this.#takePending(message['id'])) {
      // Late, doubled or never asked for. Not passed on: the SDK would turn it into text again to complain.
      this.#options.logger.debug(`Server '${this.#options.name}' answered a request that does not wait`);
      return;
    }
    if (!this.#options.intercept(message, lineBytes)) {
      this.onmessage?.(message as unknown as JSONRPCMessage);
    }
  }

  #takePending(id: unknown): boolean {
    // Some servers answer request 7 with "7".
    return this.#pending.delete(id as MessageId) || (typeof id === 'string' && this.#pending.delete(Number(id)));
  }

  #failRequest(id: unknown, code: number, message: string): void {
    if (isMessageId(id)) {
      this.#deliver({ jsonrpc: '2.0', id, error: { code, message } }, 0);
    }
  }

  #notePending(message: JsonObject): void {
    const { id, method, params } = message;
    if (method === 'notifications/cancelled' && isJsonObject(params)) {
      this.#pending.delete(params['requestId'] as MessageId);
    } else if (method !== undefined && isMessageId(id)) {
      this.#pending.add(id);
    }
  }

  async #write(line: string): Promise<void> {
    // One shared promise: a listener for each of 1,000 waiting writes would be reported as a leak.
    while (this.#drained !== undefined) {
      await this.#drained;
    }
    const stdin = this.#child?.stdin;
    if (this.#isClosed || stdin === null || stdin === undefined || !stdin.writable) {
      // A broken pipe is noticed before the end of the process is; what follows wants to know how it ended.
      await Promise.race([this.exited, sleep(DRAIN_AFTER_EXIT_MS)]);
      throw new Error('Not connected');
    }
    if (!stdin.write(line)) {
      this.#drained = waitForDrain(stdin).finally(() => {
        this.#drained = undefined;
      });
    }
  }
}

function isMessageId(value: unknown): value is MessageId {
  return typeof value === 'string' || typeof value === 'number';
}

/** The object in a line, if it is one of JSON-RPC 2.0. */
function parseMessage(line: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return isJsonObject(value) && value['jsonrpc'] === '2.0' ? value : undefined;
  } catch {
    // Noise on stdout; the caller counts it.
    return undefined;
  }
}

/** Resolves when the process runs; rejects with what the operating system says (ENOENT, EACCES, …). */
function spawnServer(options: StdioTransportOptions): Promise<ChildProcess> {
  const { command, args, isVerbatim } =
    process.platform === 'win32'
      ? windowsCommand(options.command, options.args, options.env, existsSync)
      : { command: options.command, args: options.args, isVerbatim: false };
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], {
      cwd: options.cwd,
      env: options.env,
      stdio: ['pipe', 'pipe', 'pipe'],
      // A process group of its own, which ends as a whole and does not get the terminal's Ctrl-C.
      detached: process.platform !== 'win32',
      windowsHide: true,
      windowsVerbatimArguments: isVerbatim,
    });
    child.once('error', reject);
    child.once('spawn', () => resolve(child));
  });
}

function waitForDrain(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    stream.once('drain', resolve);
    stream.once('close', resolve);
  });
}

function waitForEnd(stream: Readable, limitMs: number): Promise<void> {
  if (stream.readableEnded || stream.destroyed) {
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, limitMs);
    stream.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
