/** Reads the audit log line by line, whatever its size, and reports what could not be read. */
import { messageOf } from '../base/errors.ts';
import { LineSplitter } from '../protocol/line-splitter.ts';
import { openRegularFile } from '../state/state-files.ts';
import { dayOf, listAuditFiles } from './files.ts';
import { type AuditRecord, AuditRecordSchema } from './records.ts';

/** The longest record is the start of a cell, whose code may be 1 MiB and is escaped. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;
const READ_BYTES = 256 * 1024;

/** One record with the line it was read from. */
export interface ReadRecord {
  readonly record: AuditRecord;
  readonly line: string;
}

/** Reads the log in a folder, from its start or from a given time; each further call continues where the last one ended. */
export class AuditReader {
  readonly #directory: string;
  readonly #sources = new Map<string, LineSource>();
  readonly #unreadable = new Map<string, string>();
  #badLines = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Lines that are not valid records: damaged, incomplete or from a later version. */
  get badLines(): number {
    const incomplete = [...this.#sources.values()].filter((source) => source.isInLine).length;
    return this.#badLines + incomplete;
  }

  /** Files that could not be read, each with the reason. */
  get unreadable(): string[] {
    return [...this.#unreadable].map(([path, reason]) => `${path}: ${reason}`);
  }

  /**
   * Yields the records since the last call, in the order of days and lines, without those before `sinceMs` (milliseconds
   * since 1970). Records of a day that are in files of different series are merged by time. Rejects if the folder cannot be
   * read.
   */
  async *read(sinceMs = 0): AsyncGenerator<ReadRecord> {
    const files = await listAuditFiles(this.#directory);
    // No record is newer than the day of its file.
    const days = new Set(files.map(({ day }) => day).filter((day) => day >= dayOf(sinceMs)));
    for (const day of days) {
      const ofDay = files.filter((file) => file.day === day);
      const series = new Set(ofDay.map((file) => file.series));
      const paths = [...series].map((name) => ofDay.filter((file) => file.series === name).map(({ path }) => path));
      yield* mergeByTime(paths.map((some) => this.#readFiles(some, sinceMs)));
    }
  }

  async *#readFiles(paths: readonly string[], sinceMs: number): AsyncGenerator<ReadRecord> {
    for (const path of paths) {
      yield* this.#readFile(path, sinceMs);
    }
  }

  async *#readFile(path: string, sinceMs: number): AsyncGenerator<ReadRecord> {
    const source = this.#sources.get(path) ?? new LineSource(path, () => (this.#badLines += 1));
    this.#sources.set(path, source);
    try {
      for await (const line of source.read()) {
        const record = parseRecord(line);
        if (record === undefined) {
          this.#badLines += 1;
        } else if (Date.parse(record.at) >= sinceMs) {
          yield { record, line };
        }
      }
    } catch (error) {
      this.#unreadable.set(path, messageOf(error));
    }
  }
}

/** Each time the earliest of the next records; the order within a source stays. */
async function* mergeByTime(sources: readonly AsyncGenerator<ReadRecord>[]): AsyncGenerator<ReadRecord> {
  const heads: { source: AsyncGenerator<ReadRecord>; next: ReadRecord }[] = [];
  const advance = async (source: AsyncGenerator<ReadRecord>, at: number): Promise<void> => {
    const { value, done } = await source.next();
    heads.splice(at, 1, ...(done === true ? [] : [{ source, next: value }]));
  };
  for (const source of sources) {
    await advance(source, heads.length);
  }
  while (heads.length > 0) {
    const earliest = heads.reduce((left, right) => (right.next.record.at < left.next.record.at ? right : left));
    yield earliest.next;
    await advance(earliest.source, heads.indexOf(earliest));
  }
}

function parseRecord(line: string): AuditRecord | undefined {
  try {
    return AuditRecordSchema.safeParse(JSON.parse(line)).data;
  } catch {
    // Not JSON; the caller counts it.
    return undefined;
  }
}

/** The lines of one growing file. */
class LineSource {
  readonly #path: string;
  readonly #splitter: LineSplitter;
  #lines: Buffer[] = [];
  #offset = 0;

  constructor(path: string, onOversize: () => void) {
    this.#path = path;
    this.#splitter = new LineSplitter(MAX_LINE_BYTES, (line) => this.#lines.push(line), onOversize);
  }

  /** Whether the data read so far ends in the middle of a line. */
  get isInLine(): boolean {
    return this.#splitter.pendingBytes > 0;
  }

  async *read(): AsyncGenerator<string> {
    const handle = await openRegularFile(this.#path);
    try {
      for (;;) {
        const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, this.#offset);
        if (bytesRead === 0) {
          return;
        }
        this.#offset += bytesRead;
        this.#splitter.push(buffer.subarray(0, bytesRead));
        const lines = this.#lines;
        this.#lines = [];
        yield* lines.filter((line) => line.length > 0).map((line) => line.toString('utf8'));
      }
    } finally {
      await handle.close();
    }
  }
}
