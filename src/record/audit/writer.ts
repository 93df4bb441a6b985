/**
 * Writes the audit log without making callers wait. Records are queued as functions and written in order, in batches of
 * whole lines, each with one write to the end of the file. Records that cannot be written stay in a bounded queue, in which
 * each session has its share; beyond that they are dropped and counted, and a `lost` record marks the gap. On disk, a principal has files
 * of its own, and a session that has used its share of a day goes on in files of its own.
 */

import { fstatSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { CappedMap } from '../../core/base/capped-map.ts';
import { messageOf } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { createPause } from '../../core/base/slices.ts';
import { counted } from '../../core/base/units.ts';
import {
  type AuditFile,
  dayOf,
  fileWithRoom,
  openToAppend,
  prepareDirectory,
  type Retention,
  removeOldFiles,
  seriesOf,
} from '../history/files.ts';
import type { AuditRecord } from '../history/records.ts';

/** Long enough for 1,000 concurrent calls to finish before their lines are formatted. Chosen. */
const FLUSH_DELAY_MS = 100;
/** Interval between attempts while nothing can be written. Chosen. */
const RETRY_DELAY_MS = 5_000;
/** Bound on the queued records of one session while the disk is slow or full. Chosen: about 4,000 calls. */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
/** The same for all sessions: as many shares as sessions can run at once. */
const MAX_QUEUED_BYTES_OF_ALL = 16 * MAX_QUEUED_BYTES;
/** The part of the total size that one session may add per day to the files of its principal. Chosen: 4 MiB of 256 MiB. */
const SHARE_OF_DAY = 1 / 64;
/** Sessions with much to record have files of their own. Chosen. */
const MAX_OPEN_FILES = 32;
/** Files of single sessions and principals are smaller, because fewer of them fit. */
const FILES_OF_ONE = 4;
/** Sessions whose records are counted; what was counted longest ago is forgotten. Chosen: clients choose the names. */
const MAX_SESSIONS = 10_000;
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
  /** Whose sessions these are; undefined for the user of this machine. */
  readonly principal?: string | undefined;
  /** The bridge's id, which is part of every line. */
  readonly bridge: string;
  readonly logger: Logger;
  /** Milliseconds since 1970; `Date.now` by default. */
  readonly now?: () => number;
}

type MakeRecord = () => AuditRecord;

interface Queued {
  /** Counts up. */
  readonly number: number;
  readonly make: MakeRecord;
  readonly bytes: number;
  /** The session that it is about; empty if none. */
  readonly session: string;
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly file: AuditFile;
  /** Whether the file may end in the middle of a line. */
  isTorn: boolean;
}

export class AuditWriter {
  readonly #options: AuditWriterOptions;
  readonly #now: () => number;
  /** The files of all sessions of the principal. */
  readonly #ownSeries: string;
  #queue: Queued[] = [];
  #lastNumber = 0;
  #queuedBytes = 0;
  /** Bytes of queued records and of reservations, by session. */
  readonly #bytesOf = new Map<string, number>();
  /** Wakes those that wait for room. */
  readonly #waiting = new Set<() => void>();
  /** Formatted lines that are not written yet, and the series of files they belong to. */
  #unwritten: Buffer = Buffer.alloc(0);
  #series = '';
  /** Lost records by session: those that no record in the log mentions, and those that no answer mentions. */
  readonly #unrecorded = new Map<string, number>();
  readonly #unreported = new CappedMap<string, number>(MAX_SESSIONS);
  /** Bytes of lines by session, for `#day`. */
  readonly #writtenBy = new CappedMap<string, number>(MAX_SESSIONS);
  #day = '';
  readonly #open = new Map<string, OpenFile>();
  #failure: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the next run is due at once, because a session has used half of its share. */
  #isHurried = false;
  #writing: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: AuditWriterOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#ownSeries = seriesOf(options.principal);
  }

  /** Why nothing can be written at present; undefined if the last write succeeded. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** The records of a session that were lost since the last call. */
  takeLost(session: string): number {
    const lost = this.#unreported.get(session) ?? 0;
    this.#unreported.delete(session);
    return lost;
  }

  /**
   * Queues a record; `textBytes` is the size of long strings that it keeps in memory. Returns at once and never throws. False
   * if it is lost. `hasRoom` is for one that is written at once and whose caller has a reservation for another.
   */
  add(make: MakeRecord, textBytes = 0, session = '', hasRoom = false): boolean {
    const bytes = RECORD_BYTES + textBytes;
    if (this.#isClosed || !(hasRoom || this.#hasRoom(session, bytes))) {
      this.#noteLost(session);
      return false;
    }
    this.#queueLostRecords();
    this.#push({ make, bytes, session });
    return true;
  }

  /** Resolves with true once there is room for a record of the session, which is then kept; with false after `waitMs`. */
  async reserve(session: string, waitMs: number): Promise<boolean> {
    const until = performance.now() + waitMs;
    while (!this.#isClosed && !this.#hasRoom(session, RECORD_BYTES)) {
      const leftMs = until - performance.now();
      if (leftMs <= 0) {
        return false;
      }
      await this.#nextRoom(leftMs);
    }
    this.#count(session, RECORD_BYTES);
    return !this.#isClosed;
  }

  /** Gives back what `reserve` kept. To use it, call `add` next, which has the room at once. */
  release(session: string): void {
    this.#count(session, -RECORD_BYTES);
  }

  /** Resolves when everything queued so far is written. Rejects with the reason if it cannot be. */
  async flush(): Promise<void> {
    if (this.#writing !== undefined) {
      await this.#writing;
    }
    await this.#run();
    if (this.#failure !== undefined) {
      throw new Error(this.#failure);
    }
  }

  /** Writes what is queued, if possible, and accepts no more. */
  async close(): Promise<void> {
    await this.#writing;
    // Also what is queued meanwhile.
    do {
      await this.#run();
    } while (this.#queue.length > 0 && this.#failure === undefined);
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const made = this.#unwritten.toString('latin1').split('\n').length - 1;
    const lost = [...this.#unrecorded.values()].reduce((sum, records) => sum + records, 0);
    const left = lost + made + this.#queue.length;
    if (left > 0) {
      this.#options.logger.warning(
        `The last ${left === 1 ? 'record is' : `${counted(left, 'record')} are`} missing from the audit log: ${this.#failure ?? 'it was closed'}.`,
      );
    }
    this.#wakeWaiting();
    for (const { handle } of this.#open.values()) {
      await handle.close().catch(() => undefined); // Nothing is buffered in it.
    }
    this.#open.clear();
  }

  #push(item: Omit<Queued, 'number'>): void {
    this.#lastNumber += 1;
    this.#queue.push({ ...item, number: this.#lastNumber });
    this.#count(item.session, item.bytes);
    const isUrgent = (this.#bytesOf.get(item.session) ?? 0) > MAX_QUEUED_BYTES / 2;
    if (isUrgent && !this.#isHurried && this.#failure === undefined) {
      this.#isHurried = true;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#runAfter(0);
    } else {
      this.#runAfter(FLUSH_DELAY_MS);
    }
  }

  #hasRoom(session: string, bytes: number): boolean {
    const own = this.#bytesOf.get(session) ?? 0;
    return own + bytes <= MAX_QUEUED_BYTES && this.#queuedBytes + bytes <= MAX_QUEUED_BYTES_OF_ALL;
  }

  #count(session: string, bytes: number): void {
    this.#queuedBytes += bytes;
    const own = (this.#bytesOf.get(session) ?? 0) + bytes;
    if (own > 0) {
      this.#bytesOf.set(session, own);
    } else {
      this.#bytesOf.delete(session);
    }
    if (bytes < 0) {
      this.#wakeWaiting();
    }
  }

  /** Resolves when there may be room, after `waitMs` at the latest. */
  #nextRoom(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, waitMs);
      this.#waiting.add(wake);
    });
  }

  #wakeWaiting(): void {
    [...this.#waiting].forEach((wake) => wake());
  }

  #noteLost(session: string): void {
    // What is beyond the cap is counted, but its session is not named.
    const named = this.#unrecorded.has(session) || this.#unrecorded.size < MAX_SESSIONS ? session : '';
    this.#unrecorded.set(named, (this.#unrecorded.get(named) ?? 0) + 1);
    this.#unreported.set(session, (this.#unreported.get(session) ?? 0) + 1);
  }

  /** Queues `lost` records between the records before and after the gap, one for each session. */
  #queueLostRecords(): void {
    if (this.#unrecorded.size === 0) {
      return;
    }
    const reason = this.#failure ?? 'records arrived faster than they could be written';
    const at = new Date(this.#now()).toISOString();
    const { bridge } = this.#options;
    for (const [session, records] of this.#unrecorded) {
      const about = session === '' ? {} : { session };
      this.#push({
        make: () => ({ type: 'lost', at, bridge, ...about, records, reason }),
        bytes: RECORD_BYTES,
        session,
      });
    }
    this.#unrecorded.clear();
  }

  /** Schedules a run unless one is due. */
  #runAfter(delayMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#run();
    }, delayMs).unref();
  }

  /** Writes what is queued now. What comes meanwhile waits for the next run, or each cell would have a write of its own. */
  #run(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      if (this.#queue.length > 0 && !this.#isClosed) {
        this.#runAfter(this.#isHurried ? 0 : FLUSH_DELAY_MS);
      }
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isHurried = false;
    const last = this.#lastNumber;
    try {
      while (this.#unwritten.length > 0 || (this.#queue[0]?.number ?? Number.POSITIVE_INFINITY) <= last) {
        if (this.#unwritten.length === 0) {
          this.#unwritten = await this.#makeBatch();
        }
        const open = this.#openFor(this.#series) ?? (await this.#openAnother(this.#series));
        await this.#writeTo(open);
      }
      this.#noteSuccess();
    } catch (error) {
      this.#noteFailure(messageOf(error));
    }
  }

  /** Lines of the first record and of others that go into the same file. */
  async #makeBatch(): Promise<Buffer> {
    const pause = createPause();
    const lines: string[] = [];
    const others: Queued[] = [];
    const taken = this.#queue.length;
    let chars = 0;
    let at = 0;
    this.#beginDay();
    this.#series = this.#seriesFor(this.#queue[0]?.session ?? '');
    for (; at < taken && chars <= BATCH_CHARS; at += 1) {
      const item = this.#queue[at];
      if (item === undefined || this.#seriesFor(item.session) !== this.#series) {
        others.push(...(item === undefined ? [] : [item]));
        continue;
      }
      const line = this.#lineOf(item);
      lines.push(line);
      chars += line.length;
      this.#writtenBy.set(item.session, (this.#writtenBy.get(item.session) ?? 0) + line.length);
      this.#count(item.session, -item.bytes);
      if (lines.length % PAUSE_EVERY === 0) {
        await pause();
      }
    }
    this.#queue = [...others, ...this.#queue.slice(at)];
    return Buffer.from(lines.join(''));
  }

  /** Once for each batch, because a date as text takes time. */
  #beginDay(): void {
    const day = dayOf(this.#now());
    if (day !== this.#day) {
      this.#day = day;
      this.#writtenBy.clear();
    }
  }

  /** That of the principal unless the session has used its share of the day. */
  #seriesFor(session: string): string {
    const { keep, principal } = this.#options;
    const hasMuch = session !== '' && (this.#writtenBy.get(session) ?? 0) > keep.maxTotalBytes * SHARE_OF_DAY;
    return hasMuch ? seriesOf(principal, session) : this.#ownSeries;
  }

  #lineOf({ make, session }: Queued): string {
    try {
      return `${JSON.stringify(make())}\n`;
    } catch (error) {
      this.#noteLost(session);
      this.#options.logger.error(`An audit record could not be formatted: ${messageOf(error)}`);
      return '';
    }
  }

  /** One write to the end of the file. After a partial write, the rest starts with a whole line. */
  async #writeTo(open: OpenFile): Promise<void> {
    const lineEnd = open.isTorn ? Buffer.from('\n') : Buffer.alloc(0);
    const content = Buffer.concat([lineEnd, this.#unwritten]);
    const { bytesWritten } = await open.handle.write(content);
    if (bytesWritten === 0) {
      throw new Error('the disk accepted no data');
    }
    const whole = content.lastIndexOf(NEWLINE, bytesWritten - 1) + 1;
    open.isTorn = bytesWritten > whole;
    this.#unwritten = content.subarray(Math.max(whole, lineEnd.length));
  }

  /** The open file of a series, unless it has got too old or large, or was removed. */
  #openFor(series: string): OpenFile | undefined {
    const open = this.#open.get(series);
    if (open?.file.day !== dayOf(this.#now())) {
      return undefined;
    }
    // Not in the thread pool: with required records, each cell waits for this twice.
    const { nlink, size } = fstatSync(open.handle.fd);
    return nlink > 0 && size < this.#maxFileBytes(series) ? open : undefined;
  }

  #maxFileBytes(series: string): number {
    return this.#options.maxFileBytes / (series === '' ? 1 : FILES_OF_ONE);
  }

  async #openAnother(series: string): Promise<OpenFile> {
    const { directory, keep } = this.#options;
    const maxFileBytes = this.#maxFileBytes(series);
    const day = dayOf(this.#now());
    // Also those of other series that ended with their day, and the oldest if there are many: it is opened again when it is needed.
    for (const [name, { handle, file }] of this.#open) {
      if (name === series || file.day !== day || this.#open.size >= MAX_OPEN_FILES) {
        this.#open.delete(name);
        await handle.close();
      }
    }
    await prepareDirectory(directory);
    const file = await fileWithRoom(directory, { day, series }, maxFileBytes);
    const handle = await openToAppend(file.path);
    const opened = { handle, file, isTorn: await isTorn(handle) };
    this.#open.set(series, opened);
    // Awaited: removal beside the writes measured files that were still growing, and could remove more than necessary.
    // A failure is retried with the next new file.
    await removeOldFiles(directory, keep, this.#now(), file.path).catch((error: unknown) => {
      this.#options.logger.debug(`Old audit log files could not be removed: ${messageOf(error)}`);
    });
    return opened;
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
          `up to ${MAX_QUEUED_BYTES / 2 ** 20} MiB of records of each session in memory.`,
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
