/**
 * A sandbox and an engine without a process, for unit tests of sessions: the test plays the kernel, frame by frame. Every
 * frame is checked against its schema in both directions, so a test cannot pass with frames that the protocol does not have.
 */
import { Readable, Writable } from 'node:stream';
import { createDeferred } from '../../src/core/base/deferred.ts';
import { BridgeError } from '../../src/core/base/errors.ts';
import { encodeFrame } from '../../src/core/protocol/codec.ts';
import {
  type HostFrame,
  HostFrameSchema,
  PROTOCOL_VERSION,
  type ResultFrame,
  type SandboxFrame,
  SandboxFrameSchema,
  type SupervisorReport,
  SupervisorReportSchema,
} from '../../src/core/protocol/frames.ts';
import type { Engine, Refusal, Sandbox, SandboxExit, StartRequest } from '../../src/core/session/engine.ts';

type HostFrameOf<Type extends HostFrame['type']> = Extract<HostFrame, { type: Type }>;

interface FakeSandboxOptions {
  /** False for a sandbox that gets the kernel's sources first, as containers do. */
  readonly isPreloaded?: boolean;
  /** Called for each frame of the host as it arrives. */
  readonly onFrame?: (frame: HostFrame, sandbox: FakeSandbox) => void;
}

export class FakeSandbox implements Sandbox {
  readonly id = 'fake';
  readonly stdin: Writable;
  readonly stdout = new Readable({ read: () => undefined });
  readonly stderr = new Readable({ read: () => undefined });
  readonly isPreloaded: boolean;
  readonly exited: Promise<SandboxExit>;
  /** Every frame of the host, in order. */
  readonly received: HostFrame[] = [];
  /** What the host sent before the first frame, if anything. */
  boot: Buffer | undefined;
  /** How often the host ended the sandbox. */
  kills = 0;
  /** Whether `kill` takes effect at once. Otherwise the sandbox lives until the test calls `exit`. */
  diesWhenKilled = true;
  readonly #onFrame: FakeSandboxOptions['onFrame'];
  readonly #exit = createDeferred<SandboxExit>();
  #isReading = true;
  #takeMore: (() => void) | undefined;

  constructor({ isPreloaded = true, onFrame }: FakeSandboxOptions = {}) {
    this.isPreloaded = isPreloaded;
    this.exited = this.#exit.promise;
    this.#onFrame = onFrame;
    this.stdin = new Writable({
      highWaterMark: 1024,
      write: (chunk: Buffer, _encoding, done) => {
        this.#receive(chunk);
        if (this.#isReading) {
          done();
        } else {
          this.#takeMore = done;
        }
      },
    });
  }

  /** Sends frames of the kernel. */
  send(...frames: readonly SandboxFrame[]): void {
    this.sendBytes(frames.map((frame) => encodeFrame(SandboxFrameSchema.parse(frame))).join(''));
  }

  /** Sends any bytes, whether they are a frame or not. */
  sendBytes(bytes: string | Buffer): void {
    this.stdout.push(bytes);
  }

  /** Greets the host, as a kernel does once it runs. */
  becomeReady(protocolVersion: number = PROTOCOL_VERSION): void {
    const greeting = { python_version: '3.14.0', platform: 'linux x86_64' };
    this.send({ type: 'ready', protocol_version: protocolVersion, ...greeting });
  }

  /** Ends a cell. */
  endCell(cell: number, result: Partial<ResultFrame> = {}): void {
    this.send({ type: 'result', cell, outcome: 'ok', ...result });
  }

  /** Reports on stderr, as a supervisor does. */
  report(report: SupervisorReport): void {
    this.stderr.push(`${JSON.stringify(SupervisorReportSchema.parse(report))}\n`);
  }

  /** Ends the sandbox; without an exit it was ended by SIGKILL. */
  exit(exit: SandboxExit = { exitCode: undefined, signal: 'SIGKILL' }): void {
    this.stdin.destroy();
    this.#exit.resolve(exit);
  }

  /** Stops taking what the host sends: its pipe fills up. */
  stopReading(): void {
    this.#isReading = false;
  }

  resumeReading(): void {
    this.#isReading = true;
    this.#takeMore?.();
    this.#takeMore = undefined;
  }

  /** Frames of one type that the host has sent. */
  framesOf<Type extends HostFrame['type']>(type: Type): HostFrameOf<Type>[] {
    return this.received.filter((frame): frame is HostFrameOf<Type> => frame.type === type);
  }

  async kill(): Promise<void> {
    this.kills += 1;
    if (this.diesWhenKilled) {
      this.exit();
    }
    await this.exited;
  }

  /** Takes the pieces of the boot blob, as far as it is not complete: its header says how long it is. */
  #takeBoot(chunk: Buffer): boolean {
    const headerStart = 8;
    const headerEnd = headerStart + Number(this.boot?.toString('utf8', 0, headerStart) ?? 0);
    const header = this.boot?.toString('utf8', headerStart, headerEnd) ?? '';
    const sizes = header.split(' ').map((part) => Number(part.split(':')[1]));
    const isComplete = this.boot?.length === headerEnd + sizes.reduce((sum, size) => sum + size, 0);
    if (this.isPreloaded || isComplete) {
      return false;
    }
    this.boot = Buffer.concat([this.boot ?? Buffer.alloc(0), chunk]);
    return true;
  }

  /** A chunk has whole frames, because the host writes whole ones and nothing here joins or cuts chunks. */
  #receive(chunk: Buffer): void {
    if (this.#takeBoot(chunk)) {
      return;
    }
    for (const line of chunk.toString('utf8').trimEnd().split('\n')) {
      const frame = HostFrameSchema.parse(JSON.parse(line));
      this.received.push(frame);
      this.#onFrame?.(frame, this);
    }
  }
}

/** A cell that reached a kernel. */
export interface GivenCell {
  readonly sandbox: FakeSandbox;
  readonly frame: HostFrameOf<'execute'>;
}

/** Starts fake sandboxes. Tests may set the fields. */
export class FakeEngine implements Engine {
  readonly name = 'podman';
  readonly description = 'an engine that starts nothing';
  readonly isolation = 'none';
  refused: readonly Refusal[] = [];
  /** Sandboxes started so far. */
  readonly sandboxes: FakeSandbox[] = [];
  /** Whether the kernel of each sandbox greets the host by itself. */
  isReadyAtOnce = true;
  isPreloaded = true;
  prepare: Engine['prepare'] = () => Promise.resolve();
  /** What `explainStartFailure` returns. */
  startFailure = new BridgeError('ENGINE_FAILED', 'the fake engine did not start');
  /** Called before each start. The start fails if this throws. */
  beforeStart: (request: StartRequest) => void | Promise<void> = () => undefined;
  readonly #cells = new Queue<GivenCell>();
  readonly #started = new Queue<FakeSandbox>();

  async start(request: StartRequest): Promise<Sandbox> {
    await this.beforeStart(request);
    const sandbox = new FakeSandbox({
      isPreloaded: this.isPreloaded,
      onFrame: (frame, receiver) => this.#react(frame, receiver),
    });
    this.sandboxes.push(sandbox);
    this.#started.add(sandbox);
    return sandbox;
  }

  explainStartFailure(): BridgeError {
    return this.startFailure;
  }

  async sweep(): Promise<number> {
    return 0;
  }

  /** The next sandbox, whether it has started already or not. */
  nextSandbox(): Promise<FakeSandbox> {
    return this.#started.next();
  }

  /** The next cell that any kernel gets, whether it has arrived already or not. */
  nextCell(): Promise<GivenCell> {
    return this.#cells.next();
  }

  #react(frame: HostFrame, sandbox: FakeSandbox): void {
    if (frame.type === 'hello' && this.isReadyAtOnce) {
      sandbox.becomeReady();
    } else if (frame.type === 'execute') {
      this.#cells.add({ sandbox, frame });
    }
  }
}

/** Passes items on in order; `next` waits for one if there is none. */
class Queue<Item> {
  readonly #items: Item[] = [];
  readonly #waiting: ((item: Item) => void)[] = [];

  add(item: Item): void {
    const taker = this.#waiting.shift();
    if (taker === undefined) {
      this.#items.push(item);
    } else {
      taker(item);
    }
  }

  next(): Promise<Item> {
    const item = this.#items.shift();
    return item === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(item);
  }
}
