/**
 * Connects the streams of one sandbox: frames in both directions, the supervisor's reports, and the end of the sandbox.
 * The host trusts nothing that comes from the sandbox: it counts and drops every malformed or unexpected frame.
 */
import type { Duplex } from 'node:stream';
import type { Attachment } from '../base/cell.ts';
import { createDeferred } from '../base/deferred.ts';
import { noteGarbage } from '../base/garbage.ts';
import { MAX_FRAMES_PER_CELL, MAX_SANDBOX_LINE_BYTES } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { decodeFrame } from '../protocol/codec.ts';
import {
  type DisplayFrame,
  type ExecuteFrame,
  type InterruptFrame,
  type OutputFrame,
  PROTOCOL_VERSION,
  type ProgressFrame,
  type ReadyFrame,
  type ResultFrame,
  type SandboxFrame,
  SandboxFrameSchema,
  type SupervisorReport,
} from '../protocol/frames.ts';
import { LineSplitter } from '../protocol/line-splitter.ts';
import { isPlainSandboxFrame } from '../protocol/plain-frames.ts';
import type { Asker } from './asker.ts';
import { type CellEnd, endOfCell } from './cell-end.ts';
import type { CallCounts, CallWatch } from './cell-progress.ts';
import { CheckpointTraffic } from './checkpoint-traffic.ts';
import { type CodePackStore, PackCollector } from './code-packs.ts';
import { Dispatcher, type DispatcherOptions, type RunForEgress } from './dispatch.ts';
import { EgressStreams } from './egress-streams.ts';
import type { Sandbox, SandboxExit, SandboxLimits } from './engine.ts';
import { readFairly } from './fair-share.ts';
import { Outbox } from './outbox.ts';
import {
  adviseOnMemory,
  describeSandboxEnd,
  type EndedReport,
  type StartedReport,
  type SupervisorWatch,
  watchSupervisor,
} from './supervisor.ts';

/** After the supervisor's report the streams end within milliseconds; the engine's client may take longer. */
const DRAIN_MS = 300;

/** Reading a line of this length, or one of an honest cell, takes a few milliseconds. */
const LARGE_LINE_BYTES = 64 * 1024;

export interface ConnectionOptions extends DispatcherOptions {
  readonly limits: SandboxLimits;
  readonly packs: CodePackStore;
  /** Distinguishes images for code packs, for example `python:3.14-slim`. */
  readonly packKey: string;
  /** Whether other modules than the kernel's were imported in it before it is greeted. Then it may say anything. */
  readonly hasImported?: boolean | undefined;
  /** A sandbox that is not ready after this long is ended. */
  readonly startTimeoutMs: number;
  readonly logger: Logger;
  /**
   * Answers a stream of bytes that a program in the sandbox has opened; it ends with the sandbox. `run` does something as a call
   * of the cell that runs. Undefined if no stream may be opened.
   */
  readonly onEgress?: ((stream: Duplex, run: RunForEgress) => void) | undefined;
}

/** `reason` is one clause that follows "because". */
export interface KernelEnd {
  readonly reason: string;
  /** What to do about it, in sentences, if anything can be done. */
  readonly advice?: string | undefined;
}

/** Why a sandbox never became ready; without `exit` and `report` it took too long. */
export interface FailedStart {
  readonly exit?: SandboxExit | undefined;
  readonly report?: EndedReport | undefined;
}

/** What a cell sends while it runs. */
export interface CellListener {
  /** Output in order, before the result. */
  onOutput(frame: Omit<OutputFrame, 'type' | 'cell'>): void;
  onDisplay(frame: DisplayFrame): void;
  /** Attaches to the answer what a call shows. */
  onAttachment(attachment: Attachment): void;
  onProgress(frame: Omit<ProgressFrame, 'type'>): void;
  /** Follows the calls of the cell; undefined if the client does not ask for progress. */
  readonly callWatch?: CallWatch | undefined;
}

interface RunningCell {
  readonly cell: number;
  /** Whether the host has asked it to end. */
  isInterrupted: boolean;
  readonly listener: CellListener;
  readonly resolve: (end: CellEnd | KernelEnd) => void;
}

export class KernelConnection {
  readonly sandbox: Sandbox;
  /** Resolves when the sandbox and everything in it are gone, which may be later than `ended`. */
  readonly gone: Promise<void>;
  readonly outbox: Outbox;
  readonly checkpoints: CheckpointTraffic;
  readonly #options: ConnectionOptions;
  readonly #dispatcher: Dispatcher;
  readonly #streams: EgressStreams;
  readonly #supervisor: SupervisorWatch;
  readonly #lines: LineSplitter;
  readonly #ready = createDeferred<ReadyFrame | FailedStart>();
  readonly #ended = createDeferred<KernelEnd>();
  #end: KernelEnd | undefined;
  readonly #pack: PackCollector;
  #running: RunningCell | undefined;
  #isReady = false;
  #killReason: string | undefined;
  #endReport: EndedReport | undefined;
  #measured: StartedReport | undefined;
  #frames = 0;
  #violations = 0;

  /** `supervisor` is that of a sandbox whose stderr is being read already. */
  constructor(
    sandbox: Sandbox,
    options: ConnectionOptions,
    supervisor: SupervisorWatch = watchSupervisor(sandbox.stderr),
  ) {
    this.sandbox = sandbox;
    this.#options = options;
    this.outbox = new Outbox(sandbox.stdin, {
      onRoom: () => this.#dispatcher.noteRoom(),
      onOverflow: (bytes) => {
        void this.kill(`it did not read ${bytes.toLocaleString('en-US')} bytes that the host sent`);
      },
      onIdle: () => this.#streams.next(),
    });
    this.checkpoints = new CheckpointTraffic(this.outbox);
    this.#dispatcher = new Dispatcher(
      { ...options, attach: (attachment) => this.#running?.listener.onAttachment(attachment) },
      this.outbox,
    );
    const { onEgress } = options;
    const run: RunForEgress = (action) => this.#dispatcher.runForEgress(action);
    this.#streams = new EgressStreams(this.outbox, onEgress && ((stream) => onEgress(stream, run)));
    this.#pack = new PackCollector(options.packs, options.packKey);
    this.#supervisor = supervisor;
    this.#supervisor.follow((report) => this.#receiveReport(report));
    this.#lines = new LineSplitter(
      MAX_SANDBOX_LINE_BYTES,
      (line) => this.#receive(line),
      (bytes) => {
        noteGarbage(MAX_SANDBOX_LINE_BYTES);
        this.#violation(`a line of ${bytes} bytes; the limit is ${MAX_SANDBOX_LINE_BYTES}`);
      },
    );
    readFairly(
      sandbox.stdout,
      (piece) => this.#lines.push(piece),
      () => this.#lines.pendingBytes > LARGE_LINE_BYTES,
    );
    this.#limitStart();
    this.gone = sandbox.exited.then((exit) => {
      this.#finish(exit);
      return sandbox.kill();
    });
  }

  /** Resolves with the kernel's greeting, or with the facts of a failed start. */
  get ready(): Promise<ReadyFrame | FailedStart> {
    return this.#ready.promise;
  }

  /** Resolves when the kernel has ended, for whatever reason. Never rejects. */
  get ended(): Promise<KernelEnd> {
    return this.#ended.promise;
  }

  /** What the supervisor measured from inside; undefined if there is no supervisor or it has not reported yet. */
  get measured(): StartedReport | undefined {
    return this.#measured;
  }

  /** The end of what the engine and the sandbox wrote to stderr, at most 4 KiB. */
  get stderrTail(): string {
    return this.#supervisor.tail();
  }

  /**
   * Runs a cell, whose calls may use `asker`. Resolves with its result, or with the end of the kernel if there is none. The
   * caller runs one cell at a time.
   */
  execute(
    frame: Omit<ExecuteFrame, 'type'>,
    listener: CellListener,
    asker: Asker | undefined,
  ): Promise<CellEnd | KernelEnd> {
    if (this.#end !== undefined) {
      return Promise.resolve(this.#end);
    }
    return new Promise((resolve) => {
      this.#frames = 0;
      this.#running = { cell: frame.cell, isInterrupted: false, listener, resolve };
      this.#dispatcher.beginCell(frame.cell, asker, listener.callWatch, frame.restore === true);
      this.outbox.send({ type: 'execute', ...frame });
    });
  }

  /** Calls of the running cell. */
  calls(): CallCounts {
    return this.#dispatcher.counts();
  }

  /** Whether any call waits for its answer, which need not be one of a tool. */
  isCalling(): boolean {
    return this.#dispatcher.isCalling();
  }

  interrupt(cell: number, reason: InterruptFrame['reason']): void {
    if (this.#running?.cell === cell) {
      this.#running.isInterrupted = true;
    }
    this.outbox.sendInterrupt({ cell, reason });
  }

  /** Ends the sandbox. `ended` gives the reason of the first call. */
  kill(reason: string): Promise<void> {
    this.#killReason ??= reason;
    return this.sandbox.kill();
  }

  #limitStart(): void {
    const { startTimeoutMs } = this.#options;
    const timer = setTimeout(() => {
      void this.kill(`it was not ready within ${startTimeoutMs / 1000} s`);
      this.#ready.resolve({});
    }, startTimeoutMs);
    void this.#ready.promise.then(() => clearTimeout(timer));
  }

  #receive(line: Buffer): void {
    this.#frames += 1;
    if (this.#frames > MAX_FRAMES_PER_CELL) {
      void this.kill(`it sent more than ${MAX_FRAMES_PER_CELL.toLocaleString('en-US')} frames in one cell`);
      return;
    }
    const decoded = decodeFrame(SandboxFrameSchema, line, isPlainSandboxFrame);
    noteGarbage(decoded.ok ? decoded.bytes : line.length);
    if (!decoded.ok) {
      this.#violation(`${decoded.reason}: ${decoded.preview}`);
      if (decoded.isTooMuch === true) {
        this.#dispatcher.refuseUnread(decoded.preview, decoded.reason);
      }
    } else if (!this.#handle(decoded.frame, decoded.bytes)) {
      this.#violation(`a frame of type ${decoded.frame.type} that is not expected now`);
    }
  }

  /** Returns whether the frame was expected. */
  #handle(frame: SandboxFrame, bytes: number): boolean {
    switch (frame.type) {
      case 'code_pack':
        return !this.#isReady && this.#options.hasImported !== true && this.#pack.add(frame.data);
      case 'ready':
        return this.#becomeReady(frame);
      case 'output':
        return this.#passOutput(frame);
      case 'result':
        return this.#endCell(frame);
      case 'call':
        return this.#dispatcher.receive(frame, bytes);
      case 'cancel_call':
        this.#dispatcher.cancel(frame.call);
        return true;
      case 'job_ended':
        this.#dispatcher.endJob(frame.name);
        return true;
      case 'checkpoint_part':
      case 'egress_data':
        // Even if no one asked for them: its bytes are no frames.
        this.#lines.takeBytes(frame.bytes, (part) => {
          const { checkpoints } = this;
          const isPart = frame.type === 'checkpoint_part';
          if (!(isPart ? checkpoints.receivePart(frame, part) : this.#streams.receive(frame, part))) {
            this.#violation(`a frame of type ${frame.type} that is not expected now`);
          }
        });
        return true;
      case 'egress_open':
      case 'egress_end':
      case 'egress_reset':
      case 'egress_taken':
        return this.#streams.receive(frame);
      case 'checkpoint_end':
        return this.checkpoints.receiveEnd(frame);
      case 'want_checkpoint':
        return this.checkpoints.receiveRequest(frame);
      case 'restored':
        return this.checkpoints.receiveRestored(frame);
      case 'display':
        return this.#passDisplay(frame);
      case 'progress':
        this.#running?.listener.onProgress(frame);
        return true;
    }
  }

  #becomeReady(frame: ReadyFrame): boolean {
    if (this.#isReady || frame.protocol_version !== PROTOCOL_VERSION) {
      return false;
    }
    this.#isReady = true;
    this.#dispatcher.python = this.#options.hasImported === true ? this.#measured?.python : frame.python;
    this.#pack.save();
    this.#ready.resolve(frame);
    return true;
  }

  #passOutput(frame: OutputFrame): boolean {
    if (this.#running?.cell !== frame.cell) {
      return false;
    }
    this.#running.listener.onOutput(frame);
    return true;
  }

  #passDisplay(frame: DisplayFrame): boolean {
    if (this.#running?.cell !== frame.cell) {
      return false;
    }
    this.#running.listener.onDisplay(frame);
    return true;
  }

  #endCell(frame: ResultFrame): boolean {
    const cell = this.#running;
    if (cell?.cell !== frame.cell) {
      return false;
    }
    if (frame.missed_frames !== undefined) {
      // The next cell might not arrive either. The end of the sandbox ends this cell, so nothing waits for the kill.
      void this.kill(describeMissed(frame.missed_frames));
    }
    if (this.#killReason !== undefined) {
      // Too late: the sandbox is being ended, and the next cell must not run in it.
      return true;
    }
    const end = endOfCell(frame, this.#dispatcher);
    this.#running = undefined;
    // Whatever the sandbox says: code can catch the interrupt, and its calls must not go on.
    this.#dispatcher.endCell(cell.isInterrupted || frame.outcome === 'interrupted');
    cell.resolve(end);
    return true;
  }

  #receiveReport(report: SupervisorReport): void {
    if (report.report === 'started') {
      this.#measured = report;
      // A preloaded engine has no supervisor to fill these gaps; it describes its isolation itself.
      if (this.sandbox.isPreloaded !== true) {
        this.#warnAboutGaps(report.memory_limit_bytes === null || report.pids_limit === null, !report.seccomp);
      }
      return;
    }
    this.#endReport ??= report;
    // The engine's client ends last; the answer waits for it only as long as the streams need. A client that hangs is killed.
    setTimeout(() => {
      this.#finish(undefined);
      void this.sandbox.kill();
    }, DRAIN_MS).unref();
  }

  #warnAboutGaps(noLimits: boolean, noFilter: boolean): void {
    const { logger } = this.#options;
    if (noLimits) {
      logger.daily('the engine enforces no memory or process limit here; the supervisor in the sandbox does');
    }
    if (noFilter) {
      logger.daily('the bridge has no system-call filter for this type of machine; the engine’s own filter applies');
    }
  }

  #finish(exit: SandboxExit | undefined): void {
    const report = this.#endReport;
    this.#passLeftovers(report);
    const { memoryBytes, pids } = this.#options.limits;
    const reason = this.#killReason ?? (report && describeSandboxEnd(report, memoryBytes, pids)) ?? describeExit(exit);
    const advice =
      this.#killReason === undefined && report?.cause === 'memory' ? adviseOnMemory(memoryBytes) : undefined;
    this.#dispatcher.close();
    this.checkpoints.close();
    this.#streams.close();
    this.#end ??= { reason, advice };
    // Resolved here, because a cell that listened to `ended` would stay in memory until the session ends.
    this.#running?.resolve(this.#end);
    this.#running = undefined;
    this.#ready.resolve({ exit, report });
    this.#ended.resolve(this.#end);
  }

  /** Output that only the supervisor read belongs to the cell, too. */
  #passLeftovers(report: EndedReport | undefined): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const text = Buffer.from(report?.[stream] ?? '', 'base64').toString('utf8');
      if (text !== '') {
        this.#running?.listener.onOutput({ stream, text });
      }
    }
  }

  #violation(what: string): void {
    this.#violations += 1;
    if (this.#violations === 1) {
      const { logger, session } = this.#options;
      logger.warning(
        `session ${session}: dropped an invalid frame (${what}); further ones are dropped without a message`,
      );
    }
  }
}

function describeMissed(frames: number): string {
  const what = frames === 1 ? '1 frame that the host sent did' : `${frames} frames that the host sent did`;
  return `${what} not arrive: code in the session reads the interpreter's input`;
}

function describeExit(exit: SandboxExit | undefined): string {
  const code = exit?.exitCode ?? exit?.signal;
  return `the sandbox was ended from outside${code === undefined ? '' : ` (${code})`}`;
}
