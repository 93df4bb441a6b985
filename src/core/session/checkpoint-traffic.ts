/**
 * Moves checkpoints between one sandbox and the host, in parts and no faster than the slower side. The host never looks into
 * one: what a sandbox writes is given back to a later sandbox of the same session, and to nothing else.
 */
import { MAX_CHECKPOINT_BYTES, MAX_CHECKPOINT_PART_BYTES, SAVE_TIMEOUT_MS } from '../base/limits.ts';
import type {
  CheckpointEndFrame,
  CheckpointPartFrame,
  RestoredFrame,
  WantCheckpointFrame,
} from '../protocol/frames.ts';
import type { Outbox } from './outbox.ts';

/** Takes the bytes of one checkpoint in order. */
export interface CheckpointSink {
  /** Drops what was written. */
  restart(): Promise<void>;
  write(part: Buffer): Promise<void>;
}

/** The bytes of one checkpoint. */
export interface CheckpointSource {
  /** At most `size` bytes from `offset`; fewer only at the end. */
  read(offset: number, size: number): Promise<Buffer>;
}

/** What a checkpoint does not hold; all texts come from the sandbox. */
export type Lost = RestoredFrame['lost'];

/** A checkpoint that was written, or why there is none. */
export type SaveReport =
  | {
      readonly ok: true;
      readonly variables: number;
      readonly files: number;
      readonly lost: Lost;
      readonly omitted?: number;
    }
  | { readonly ok: false; readonly reason: string };

export type RestoreReport = Pick<RestoredFrame, 'variables' | 'files' | 'lost'> & { readonly omitted?: number };

/** Only if there are more. */
export function omittedOf(omitted = 0): { readonly omitted?: number } {
  return omitted > 0 ? { omitted } : {};
}

/** A cell waited, and ran first. */
export const GAVE_WAY = 'a cell came first';

export const NO_ROOM_FOR_COPY = 'a copy of the process needs too much memory';
export const TOO_LARGE = 'it is larger than the limit';

/** The reasons of the kernel. Any other text may be anything: code can write it. */
const KNOWN_FAILURES: ReadonlySet<string> = new Set([
  TOO_LARGE,
  'files changed while they were read',
  GAVE_WAY,
  NO_ROOM_FOR_COPY,
  'no thread could be started',
  'the process that wrote it ended early',
]);
export const SANDBOX_ENDED = 'the sandbox ended';
/** Parts that may wait for the disk. The kernel sends no more, so a sandbox that does is not the kernel. */
const MAX_WAITING_PARTS = 8;
/** Requests for parts that may wait. The kernel has two. */
const MAX_WAITING_REQUESTS = 4;

interface Save {
  readonly checkpoint: number;
  readonly sink: CheckpointSink;
  readonly resolve: (report: SaveReport) => void;
  readonly timer: NodeJS.Timeout;
  bytes: number;
  waiting: number;
  /** The writes so far; once one fails, all later ones are skipped. */
  writes: Promise<void>;
}

export class CheckpointTraffic {
  readonly #outbox: Outbox;
  #save: Save | undefined;
  #count = 0;
  #source: CheckpointSource | undefined;
  #requests = 0;
  #reads: Promise<void> = Promise.resolve();
  #restored: RestoreReport | undefined;
  #isClosed = false;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  /** Asks for a checkpoint. Call it while no cell runs and no other is being written. Never rejects. */
  save(
    { memoryBytes, mayBlock }: { readonly memoryBytes: number; readonly mayBlock: boolean },
    sink: CheckpointSink,
  ): Promise<SaveReport> {
    if (this.#isClosed) {
      return Promise.resolve({ ok: false, reason: SANDBOX_ENDED });
    }
    return new Promise((resolve) => {
      const seconds = SAVE_TIMEOUT_MS / 1000;
      const timer = setTimeout(
        () => this.#endSave({ ok: false, reason: `it was not complete after ${seconds} s` }),
        SAVE_TIMEOUT_MS,
      ).unref();
      this.#count += 1;
      const checkpoint = this.#count;
      this.#save = { checkpoint, sink, resolve, timer, bytes: 0, waiting: 0, writes: Promise.resolve() };
      this.#outbox.send({
        type: 'save_checkpoint',
        checkpoint,
        max_bytes: MAX_CHECKPOINT_BYTES,
        memory_bytes: memoryBytes,
        may_block: mayBlock,
      });
    });
  }

  /** Offers a checkpoint to the next cell. */
  offer(source: CheckpointSource): void {
    this.#source = source;
  }

  /** Ends the offer. Returns what was restored; undefined if it was not. */
  takeRestored(): RestoreReport | undefined {
    const restored = this.#restored;
    this.#source = undefined;
    this.#restored = undefined;
    return restored;
  }

  /** Returns whether the frame was expected. */
  receivePart({ checkpoint, restart }: CheckpointPartFrame, part: Buffer): boolean {
    const save = this.#save;
    if (save?.checkpoint !== checkpoint) {
      return false;
    }
    save.bytes = (restart === true ? 0 : save.bytes) + part.length;
    save.waiting += 1;
    if (save.bytes > MAX_CHECKPOINT_BYTES || save.waiting > MAX_WAITING_PARTS) {
      this.#endSave({ ok: false, reason: TOO_LARGE });
      return false;
    }
    save.writes = save.writes.then(async () => {
      if (restart === true) {
        await save.sink.restart();
      }
      await save.sink.write(part);
      save.waiting -= 1;
      this.#outbox.send({ type: 'checkpoint_taken', checkpoint });
    });
    save.writes.catch((error: unknown) => {
      if (this.#save === save) {
        this.#endSave({ ok: false, reason: error instanceof Error ? error.message : String(error) });
      }
    });
    return true;
  }

  receiveEnd({ checkpoint, ok, reason, variables, files, lost, omitted }: CheckpointEndFrame): boolean {
    const save = this.#save;
    if (save?.checkpoint !== checkpoint) {
      return false;
    }
    const report: SaveReport = ok
      ? { ok, variables: variables ?? 0, files: files ?? 0, lost: lost ?? [], ...omittedOf(omitted) }
      : { ok, reason: reason !== undefined && KNOWN_FAILURES.has(reason) ? reason : 'Python could not write it' };
    // After the last write; if one failed, that is the reason.
    void save.writes.then(
      () => {
        if (this.#save === save) {
          this.#endSave(report);
        }
      },
      () => undefined,
    );
    return true;
  }

  receiveRequest({ offset, size }: WantCheckpointFrame): boolean {
    const source = this.#source;
    if (source === undefined || size > MAX_CHECKPOINT_PART_BYTES || this.#requests >= MAX_WAITING_REQUESTS) {
      return false;
    }
    this.#requests += 1;
    this.#reads = this.#reads.then(async () => {
      // A file that cannot be read ends here, which the sandbox reports as a checkpoint that ends early.
      const part = await source.read(offset, size).catch(() => Buffer.alloc(0));
      this.#requests -= 1;
      this.#outbox.sendWithBytes({ type: 'checkpoint_data', bytes: part.length }, part);
    });
    return true;
  }

  receiveRestored({ variables, files, lost, omitted }: RestoredFrame): boolean {
    if (this.#source === undefined) {
      return false;
    }
    this.#restored ??= { variables, files, lost, ...omittedOf(omitted) };
    return true;
  }

  /** The sandbox has ended. */
  close(): void {
    this.#isClosed = true;
    if (this.#save !== undefined) {
      this.#endSave({ ok: false, reason: SANDBOX_ENDED });
    }
  }

  #endSave(report: SaveReport): void {
    const save = this.#save;
    this.#save = undefined;
    clearTimeout(save?.timer);
    save?.resolve(report);
  }
}
