/**
 * The audit log as something to search: cells and calls by text, server, time and more, newest first, in pages. It keeps an index
 * in memory that grows with the log: a line per cell, call or event, with its place in the file. Records are read again when a
 * page shows them. There is no
 * file with the index: building it takes about a second of processor time for 100,000 calls (measured on a busy machine).
 */
import { lstat } from 'node:fs/promises';
import { messageOf } from '../../core/base/errors.ts';
import { createPause } from '../../core/base/slices.ts';
import { UnendedCalls } from './call-sums.ts';
import { type CellEntry, MAX_CALLS } from './entries.ts';
import { factsOf, type RecordFacts, sessionOf, statusOf } from './facts.ts';
import { listAuditFiles } from './files.ts';
import type { HistoryKind } from './kinds.ts';
import { jsonOfLine, LogFile } from './log-file.ts';
import {
  type Cursor,
  compare,
  type Entry,
  type Group,
  type HistoryQuery,
  type Line,
  matchesQuery,
  readCursor,
  toQuery,
  writeCursor,
} from './query.ts';
import { type AuditRecord, AuditRecordSchema, type RecordOf } from './records.ts';

/** Sees each record while the log is read, which saves reading it twice. Records are checked as far as searches need it. */
export interface HistoryWatcher {
  add(record: AuditRecord): void;
  /** The log is no longer the one that was read, and is read again from its start. */
  reset(): void;
}

/** The oldest entries beyond this are left out: it is more than a log of the usual size holds. */
const MAX_ENTRIES = 1_000_000;
/** Code and names kept in memory, to search in them. What is beyond this is read from the file by each search. Chosen. */
const MAX_TEXT_CHARS = 64 * 1024 * 1024;
const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;

export type HistoryItem =
  | {
      readonly kind: 'cell';
      readonly id: string;
      readonly status: string;
      /** Number of its calls. */
      readonly calls: number;
      readonly started: RecordOf<'cell_started'> | undefined;
      readonly ended: RecordOf<'cell_ended'> | undefined;
    }
  | { readonly kind: 'call'; readonly status: string; readonly record: RecordOf<'call'> }
  | {
      readonly kind: 'event';
      readonly status: string;
      readonly record: Exclude<AuditRecord, { readonly type: 'cell_started' | 'cell_ended' | 'call' }>;
    };

/** A cell with its steps and the files that it saved, as far as they were recorded. */
export interface FoundCell extends CellEntry {
  readonly files: readonly RecordOf<'artifact_saved'>[];
  readonly steps: readonly RecordOf<'step'>[];
}

export interface HistoryPage {
  /** Newest first. */
  readonly items: readonly HistoryItem[];
  /** For the page after this one; undefined if this is the last. */
  readonly next: string | undefined;
}

export class History {
  readonly #directory: string;
  readonly #watcher: HistoryWatcher | undefined;
  #files = new Map<string, LogFile>();
  /** In order of time. */
  #entries: Entry[] = [];
  #cells = new Map<string, Entry>();
  #groups = new Map<string, Group>();
  #begun = new UnendedCalls<Entry>();
  /** Records of saved files and of steps, by cell. */
  #made = new Map<string, Entry[]>();
  #interned = new Map<string, string>();
  #texts = new Map<string, string>();
  #textChars = 0;
  #badLines = 0;
  /** Lines that turned out to be invalid when they were shown. */
  #invalid = new WeakSet<Line>();
  #leftOut = 0;
  #isSorted = true;
  #unreadable = new Map<string, string>();
  #refreshing: Promise<void> | undefined;

  constructor(directory: string, watcher?: HistoryWatcher) {
    this.#directory = directory;
    this.#watcher = watcher;
  }

  /** Lines that are no valid records: damaged, incomplete or from a later version. */
  get badLines(): number {
    return this.#badLines + [...this.#files.values()].filter((file) => file.isInLine).length;
  }

  /** Files that could not be read, each with the reason. */
  get unreadable(): string[] {
    return [...this.#unreadable].map(([path, reason]) => `${path}: ${reason}`);
  }

  /** Number of cells, calls and events. */
  get size(): number {
    return this.#entries.length;
  }

  /** The oldest entries, which are beyond what is kept in memory. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** Reads what was written since the last call. Rejects if the folder cannot be read. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** Rejects with `USAGE_INVALID` for a cursor that is none. */
  async search(query: HistoryQuery): Promise<HistoryPage> {
    const limit = Math.max(1, Math.min(query.limit ?? DEFAULT_LIMIT, MAX_LIMIT));
    const wanted = toQuery(query);
    const cursor = query.cursor === undefined ? undefined : readCursor(query.cursor);
    const pause = createPause();
    const found: Entry[] = [];
    // A refresh replaces the list, so that a search goes on with what it began with.
    const entries = this.#entries;
    for (let index = startOf(entries, cursor); index >= 0 && found.length <= limit; index -= 1) {
      const entry = entries[index] as Entry;
      const isFound = matchesQuery(entry, wanted);
      if (isFound === true || (isFound === undefined && (await this.#hasText(entry, wanted.text)))) {
        found.push(entry);
      }
      if (index % 4096 === 0) {
        await pause();
      }
    }
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const next = found.length > limit && last !== undefined ? writeCursor(placeOf(last)) : undefined;
    return { items: await this.#itemsOf(page), next };
  }

  /** A cell with its calls, in the order in which they ended, by its id or the end of it. The newest if there are several. */
  async cell(id: string): Promise<FoundCell | undefined> {
    const entry =
      this.#cells.get(id) ??
      this.#entries.findLast(({ kind, group }) => kind === 'cell' && group.cell.endsWith(`/${id}`));
    const [item] = entry === undefined ? [] : await this.#itemsOf([entry]);
    if (entry === undefined || item?.kind !== 'cell') {
      return undefined;
    }
    const all = entry.group.calls;
    const calls = await this.#itemsOf(all.slice(0, MAX_CALLS));
    const made = await this.#itemsOf((this.#made.get(item.id) ?? []).slice(-MAX_CALLS));
    const records = made.flatMap((one) => (one.kind === 'event' ? [one.record] : []));
    return {
      kind: 'cell',
      id: item.id,
      started: item.started,
      ended: item.ended,
      calls: calls.flatMap((call) => (call.kind === 'call' ? [call.record] : [])),
      callsLeftOut: Math.max(0, all.length - MAX_CALLS),
      files: records.filter((record) => record.type === 'artifact_saved'),
      steps: records.filter((record) => record.type === 'step'),
    };
  }

  async #refresh(): Promise<void> {
    const files = await listAuditFiles(this.#directory);
    if (!(await this.#isContinued(files.map(({ path }) => path)))) {
      this.#reset();
    }
    const added: Entry[] = [];
    const pause = createPause();
    for (const { path } of files) {
      const file = this.#files.get(path) ?? new LogFile(path, () => (this.#badLines += 1));
      this.#files.set(path, file);
      try {
        for await (const lines of file.readOn()) {
          for (const { bytes, offset, value } of lines) {
            this.#take(value, { file, offset, bytes }, added);
          }
          await pause();
        }
        this.#unreadable.delete(path);
      } catch (error) {
        this.#unreadable.set(path, messageOf(error));
      }
    }
    if (added.length > 0 || !this.#isSorted) {
      // Nearly sorted, which sorting takes advantage of.
      const entries = [...this.#entries, ...added].toSorted((a, b) => compare(placeOf(a), placeOf(b)));
      this.#leftOut += Math.max(0, entries.length - MAX_ENTRIES);
      this.#entries = entries.slice(-MAX_ENTRIES);
      this.#isSorted = true;
    }
  }

  /** Whether all files that were read still begin with what was read. */
  async #isContinued(paths: readonly string[]): Promise<boolean> {
    const existing = new Set(paths);
    const checks = [...this.#files.values()].map(async (file) => {
      const stats = existing.has(file.path) ? await lstat(file.path).catch(() => undefined) : undefined;
      return stats !== undefined && file.isSame(stats);
    });
    return (await Promise.all(checks)).every(Boolean);
  }

  #reset(): void {
    this.#watcher?.reset();
    this.#files = new Map();
    this.#entries = [];
    this.#cells = new Map();
    this.#groups = new Map();
    this.#begun = new UnendedCalls();
    this.#made = new Map();
    this.#interned = new Map();
    this.#texts = new Map();
    this.#unreadable = new Map();
    this.#textChars = 0;
    this.#badLines = 0;
    this.#leftOut = 0;
  }

  #take(value: unknown, place: Line, added: Entry[]): void {
    const facts = factsOf(value);
    if (facts === undefined) {
      this.#badLines += 1;
      return;
    }
    this.#watcher?.add(facts.record);
    const { type } = facts.record;
    if (type === 'cell_started' || type === 'cell_ended') {
      this.#takeCell(facts, place, added);
      return;
    }
    if (type === 'call' && this.#endCall(facts, facts.record, place)) {
      return;
    }
    const entry = this.#entryOf(facts, place, type === 'call' ? 'call' : 'event');
    added.push(entry);
    if (type === 'artifact_saved' || type === 'step') {
      const known = this.#made.get(facts.cell) ?? [];
      known.push(entry);
      this.#made.set(facts.cell, known);
    }
    if (facts.record.type === 'call') {
      entry.group.calls.push(entry);
      if (entry.status === 'started') {
        this.#begun.begin(facts.record, entry);
      }
    }
  }

  /** The record of its end takes the place of the one of its begin. Returns whether there is one. */
  #endCall(facts: RecordFacts, call: RecordOf<'call'>, place: Line): boolean {
    const entry = call.outcome === 'started' ? undefined : this.#begun.end(call);
    if (entry === undefined) {
      return false;
    }
    this.#isSorted &&= entry.timeMs === facts.timeMs;
    entry.line = place;
    entry.timeMs = facts.timeMs;
    entry.status = statusOf(facts.record);
    entry.text = this.#keep(facts.text);
    return true;
  }

  #takeCell(facts: RecordFacts, place: Line, added: Entry[]): void {
    const known = this.#cells.get(facts.cell);
    const isEnd = facts.record.type === 'cell_ended';
    if (known === undefined || (!isEnd && known.end !== known.line)) {
      const entry = this.#entryOf(facts, place, 'cell');
      entry.end = isEnd ? place : undefined;
      this.#cells.set(entry.group.cell, entry);
      added.push(entry);
      return;
    }
    const text = this.#keep(facts.text);
    if (isEnd) {
      known.end = place;
      known.status = statusOf(facts.record);
      known.endText = text ?? '';
    } else {
      known.line = place;
      known.timeMs = facts.timeMs;
      known.endText = known.text ?? '';
      known.text = text;
      this.#isSorted = false;
    }
    known.text = text === undefined ? undefined : known.text;
  }

  #entryOf(facts: RecordFacts, line: Line, kind: HistoryKind): Entry {
    const { record, timeMs, text } = facts;
    return {
      kind,
      group: this.#groupOf(facts),
      timeMs,
      server: 'server' in record ? this.#intern(record.server ?? '') : '',
      tool: 'tool' in record ? this.#intern(record.tool ?? '') : '',
      status: statusOf(record),
      text: this.#keep(text),
      endText: '',
      line,
      end: undefined,
    };
  }

  #groupOf({ cell, record }: RecordFacts): Group {
    const { bridge, principal } = record;
    const session = cell === '' ? sessionOf(record, cell) : '';
    const key = cell === '' ? JSON.stringify([bridge, session, principal]) : cell;
    const known = this.#groups.get(key);
    // Before version 0.1, the records of calls had no principal.
    if (known !== undefined && known.principal === principal) {
      return known;
    }
    const group = {
      cell,
      session: this.#intern(sessionOf(record, cell)),
      bridge: this.#intern(bridge),
      principal: principal === undefined ? known?.principal : this.#intern(principal),
      calls: known?.calls ?? [],
    };
    this.#groups.set(key, group);
    return group;
  }

  /** One string for all that are equal. */
  #intern(text: string): string {
    const known = this.#interned.get(text);
    if (known === undefined) {
      this.#interned.set(text, text);
    }
    return known ?? text;
  }

  /** The text in lower case, once for all that are equal; undefined if there is no more room. */
  #keep(text: string): string | undefined {
    const known = this.#texts.get(text);
    if (known !== undefined || this.#textChars + text.length > MAX_TEXT_CHARS) {
      return known;
    }
    const lower = text.toLowerCase();
    this.#texts.set(text, lower);
    this.#textChars += text.length;
    return lower;
  }

  async #hasText(entry: Entry, text: string): Promise<boolean> {
    const lines = [entry.line, ...(entry.end === undefined ? [] : [entry.end])];
    const found = await this.#readLines(lines);
    return lines.some((line) =>
      factsOf(jsonOfLine(found.get(line) ?? ''))
        ?.text.toLowerCase()
        .includes(text),
    );
  }

  async #itemsOf(entries: readonly Entry[]): Promise<HistoryItem[]> {
    const texts = await this.#readLines(entries.flatMap(({ line, end }) => (end === undefined ? [line] : [line, end])));
    const read = (line: Line | undefined) => line && this.#validated(line, texts.get(line) ?? '');
    return entries.flatMap((entry) => {
      const item = toItem(entry, read(entry.line), read(entry.end), entry.group.calls.length);
      return item === undefined ? [] : [item];
    });
  }

  #validated(line: Line, text: string): AuditRecord | undefined {
    const record = AuditRecordSchema.safeParse(jsonOfLine(text)).data;
    if (record === undefined && !this.#invalid.has(line)) {
      this.#invalid.add(line);
      this.#badLines += 1;
    }
    return record;
  }

  async #readLines(lines: readonly Line[]): Promise<Map<Line, string>> {
    const found = new Map<Line, string>();
    for (const file of new Set(lines.map((line) => line.file))) {
      const ofFile = lines.filter((line) => line.file === file);
      // A file that is gone has no records to show any more; the next refresh forgets it.
      const texts = await file.readLines(ofFile).catch(() => []);
      ofFile.forEach((line, number) => found.set(line, texts[number] ?? ''));
    }
    return found;
  }
}

function placeOf({ timeMs, line }: Entry): Cursor {
  return { timeMs, file: line.file.name, offset: line.offset };
}

/** Index of the newest entry that comes after the cursor, in the order of pages. */
function startOf(entries: readonly Entry[], cursor: Cursor | undefined): number {
  if (cursor === undefined) {
    return entries.length - 1;
  }
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(placeOf(entries[middle] as Entry), cursor) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

function toItem(
  { kind, group, status }: Entry,
  record: AuditRecord | undefined,
  end: AuditRecord | undefined,
  calls: number,
): HistoryItem | undefined {
  if (kind === 'cell') {
    const started = record?.type === 'cell_started' ? record : undefined;
    const ended = end?.type === 'cell_ended' ? end : undefined;
    return started === undefined && ended === undefined
      ? undefined
      : { kind, id: group.cell, status, calls, started, ended };
  }
  if (record === undefined || record.type === 'cell_started' || record.type === 'cell_ended') {
    return undefined;
  }
  return record.type === 'call' ? { kind: 'call', status, record } : { kind: 'event', status, record };
}
