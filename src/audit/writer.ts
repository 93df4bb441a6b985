/**
 * Writes the audit log without making callers wait. Records are queued as functions and written in order, in batches of
 * whole lines, each with one write to the end of the file. Records that cannot be written stay in a bounded queue; beyond
 * the bound they are dropped and counted, and a `lost` record marks the gap.
 */
import type { FileHandle } from 'node:fs/promises';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { createPause } from '../base/slices.ts';
import {
  type AuditFile,
  dayOf,
  fileWithRoom,
  openToAppend,
  prepareDirectory,
  type Retention,
  removeOldFiles,
} from './files.ts';
import type { AuditRecord } from './records.ts';

/** Long enough for 1,000 concurrent calls to finish before their lines are formatted. Chosen. */
const FLUSH_DELAY_MS = 100;
/** Interval between attempts while nothing can be written. Chosen. */
const RETRY_DELAY_MS = 5_000;
/** Bound on the queue while the disk is slow or full. Chosen: more than 10,000 calls. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
/** Estimated size of a record without long strings: its values and its line. */
const RECORD_BYTES = 1_000;
/** A batch that has reached this size gets no further line. Chosen: about 1,000 calls. */
const BATCH_CHARS = 512 * 1024;
/** Lines formatted between checks of the clock. Chosen: 64 take 0.2 ms. */
const PAUSE_EVERY = 64;
const NEWLINE = 0x0a;

export interface AuditWriterOptions {
  readonly directory: string;
  readonly keep: Retention;
  /** A file that has reached this size gets no more lines. */
  readonly maxFileBytes: number;
  /** The bridge's id, which is part of every line. */
  readonly bridge: string;
  readonly logger: Logger;
  /** Milliseconds since 1970; `Date.now` by default. */
  readonly now?: () => number;
}

type MakeRecord = () => AuditRecord;

interface Queued {
  readonly make: MakeRecord;
  readonly bytes: number;
}

export class AuditWriter {
  readonly #options: AuditWriterOptions;
  readonly #now: () => number;
  #queue: Queued[] = [];
  #queuedBytes = 0;
  /** Formatted lines that are not written yet. */
  #unwritten: Buffer = Buffer.alloc(0);
  #lost = 0;
  #open: { readonly handle: FileHandle; readonly file: AuditFile } | undefined;
  /** Whether the file may end in the middle of a line. */
  #isTorn = false;
  #failure: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: AuditWriterOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Why nothing can be written at present; undefined if the last write succeeded. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Records dropped since the last one that was queued. */
  get lost(): number {
    return this.#lost;
  }

  /** Queues a record; `textBytes` is the size of long strings that it keeps in memory. Returns at once and never throws. */
  add(make: MakeRecord, textBytes = 0): void {
    const bytes = RECORD_BYTES + textBytes;
    if (this.#isClosed || this.#queuedBytes + bytes > MAX_QUEUED_BYTES) {
      this.#lost += 1;
      return;
    }
    if (this.#lost > 0) {
      this.#queueLostRecord();
    }
    this.#push({ make, bytes });
    this.#runAfter(FLUSH_DELAY_MS);
  }

  /** Resolves when everything queued so far is written. Rejects with the reason if it cannot be. */
  async flush(): Promise<void> {
    await this.#writing;
    await this.#run();
    if (this.#failure !== undefined) {
      throw new Error(this.#failure);
    }
  }

  /** Writes what is queued, if possible, and accepts no more. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#run();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const made = this.#unwritten.toString('latin1').split('\n').length - 1;
    const left = this.#lost + made + this.#queue.length;
    if (left > 0) {
      this.#options.logger.warning(
        `The last ${left} records are missing from the audit log: ${this.#failure ?? 'it was closed'}.`,
      );
    }
    await this.#open?.handle.close().catch(() => undefined); // Nothing is buffered in it.
    this.#open = undefined;
  }

  #push(item: Queued): void {
    this.#queue.push(item);
    this.#queuedBytes += item.bytes;
  }

  /** Queues a `lost` record between the records before and after the gap. */
  #queueLostRecord(): void {
    const records = this.#lost;
    const reason = this.#failure ?? 'records arrived faster than they could be written';
    const at = new Date(this.#now()).toISOString();
    this.#lost = 0;
    this.#push({
      make: () => ({ type: 'lost', at, bridge: this.#options.bridge, records, reason }),
      bytes: RECORD_BYTES,
    });
  }

  /** Schedules a run unless one is due. A run that finds another active does nothing: that one empties the queue before it ends. */
  #runAfter(delayMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#run();
    }, delayMs).unref();
  }

  #run(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      while (this.#unwritten.length > 0 || this.#queue.length > 0) {
        if (this.#unwritten.length === 0) {
          this.#unwritten = await this.#makeBatch();
        }
        await this.#writeBatch();
      }
      this.#noteSuccess();
    } catch (error) {
      this.#noteFailure(messageOf(error));
    }
  }

  async #makeBatch(): Promise<Buffer> {
    const pause = createPause();
    const lines: string[] = [];
    let chars = 0;
    for (const item of this.#queue) {
      const line = this.#lineOf(item);
      lines.push(line);
      chars += line.length;
      this.#queuedBytes -= item.bytes;
      if (chars > BATCH_CHARS) {
        break;
      }
      if (lines.length % PAUSE_EVERY === 0) {
        await pause();
      }
    }
    this.#queue = this.#queue.slice(lines.length);
    return Buffer.from(lines.join(''));
  }

  #lineOf({ make }: Queued): string {
    try {
      return `${JSON.stringify(make())}\n`;
    } catch (error) {
      this.#lost += 1;
      this.#options.logger.error(`An audit record could not be formatted: ${messageOf(error)}`);
      return '';
    }
  }

  /** One write to the end of the file. After a partial write, the rest starts with a whole line. */
  async #writeBatch(): Promise<void> {
    const handle = await this.#fileForNow();
    const lineEnd = this.#isTorn ? Buffer.from('\n') : Buffer.alloc(0);
    const content = Buffer.concat([lineEnd, this.#unwritten]);
    const { bytesWritten } = await handle.write(content);
    if (bytesWritten === 0) {
      throw new Error('the disk accepted no data');
    }
    const whole = content.lastIndexOf(NEWLINE, bytesWritten - 1) + 1;
    this.#isTorn = bytesWritten > whole;
    this.#unwritten = content.subarray(Math.max(whole, lineEnd.length));
  }

  async #fileForNow(): Promise<FileHandle> {
    const { directory, keep, maxFileBytes } = this.#options;
    const day = dayOf(this.#now());
    const stats = await this.#open?.handle.stat();
    if (this.#open?.file.day === day && stats !== undefined && stats.size < maxFileBytes && stats.nlink > 0) {
      return this.#open.handle;
    }
    await this.#open?.handle.close();
    this.#open = undefined;
    await prepareDirectory(directory);
    const file = await fileWithRoom(directory, day, maxFileBytes);
    const handle = await openToAppend(file.path);
    this.#open = { handle, file };
    this.#isTorn = await isTorn(handle);
    // Awaited: removal beside the writes measured files that were still growing, and could remove more than necessary.
    // A failure is retried with the next new file.
    await removeOldFiles(directory, keep, this.#now()).catch((error: unknown) => {
      this.#options.logger.debug(`Old audit log files could not be removed: ${messageOf(error)}`);
    });
    return handle;
  }

  #noteSuccess(): void {
    if (this.#failure !== undefined) {
      this.#failure = undefined;
      this.#options.logger.info('The audit log can be written again.');
    }
  }

  #noteFailure(reason: string): void {
    if (this.#failure === undefined) {
      this.#options.logger.warning(
        `The audit log in ${this.#options.directory} cannot be written: ${reason}. The bridge keeps trying, and keeps ` +
          `up to ${MAX_QUEUED_BYTES / 2 ** 20} MiB of records in memory.`,
      );
    }
    this.#failure = reason;
    this.#runAfter(RETRY_DELAY_MS);
  }
}

/** Whether a file ends in the middle of a line: a process or the machine stopped during a write. */
async function isTorn(handle: FileHandle): Promise<boolean> {
  const { size } = await handle.stat();
  if (size === 0) {
    return false;
  }
  const last = Buffer.alloc(1);
  await handle.read(last, 0, 1, size - 1);
  return last[0] !== NEWLINE;
}
