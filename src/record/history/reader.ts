/** Reads the audit log line by line, whatever its size, and reports what could not be read. */
import { messageOf } from '../../core/base/errors.ts';
import { dayOf, listAuditFiles } from './files.ts';
import { LogFile } from './log-file.ts';
import { type AuditRecord, AuditRecordSchema } from './records.ts';

export interface ReadRecord {
  readonly record: AuditRecord;
  /** The line it was read from, until the next record is asked for. */
  text(): string;
}

/** Reads the log in a folder, from its start or from a given time; each further call continues where the last one ended. */
export class AuditReader {
  readonly #directory: string;
  readonly #files = new Map<string, LogFile>();
  readonly #unreadable = new Map<string, string>();
  #badLines = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Lines that are not valid records: damaged, incomplete or from a later version. */
  get badLines(): number {
    return this.#badLines + [...this.#files.values()].filter((file) => file.isInLine).length;
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
    const file = this.#files.get(path) ?? new LogFile(path, () => (this.#badLines += 1));
    this.#files.set(path, file);
    try {
      for await (const lines of file.readOn()) {
        for (const { text, value } of lines) {
          const record = AuditRecordSchema.safeParse(value).data;
          if (record === undefined) {
            this.#badLines += 1;
          } else if (Date.parse(record.at) >= sinceMs) {
            yield { record, text };
          }
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
