/** Which entries a search finds, and where its next page begins. Pure. */
import { BridgeError } from '../../core/base/errors.ts';
import { FAILURES } from './facts.ts';
import type { HistoryKind } from './kinds.ts';
import type { LinePlace, LogFile } from './log-file.ts';

export interface HistoryQuery {
  /** Part of code, a name, an id or an error, in any case. */
  readonly text?: string | undefined;
  readonly kind?: HistoryKind | undefined;
  /** Any of these. */
  readonly kinds?: readonly HistoryKind[] | undefined;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  readonly session?: string | undefined;
  /** The id of a cell, or the end of one, such as `default/1/7`. */
  readonly cell?: string | undefined;
  readonly bridge?: string | undefined;
  /** Name of a principal; empty for the user of the machine. */
  readonly principal?: string | undefined;
  /** A status, or `failed` for every one that is no success. */
  readonly status?: string | undefined;
  /** From this time on, and before that; milliseconds since 1970. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Entries of a page: 50 by default, at most 1,000. */
  readonly limit?: number | undefined;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
}

/** A line of the log. */
export interface Line extends LinePlace {
  readonly file: LogFile;
}

/** A cell, what it did, or a bridge: what entries have in common. */
export interface Group {
  readonly cell: string;
  readonly session: string;
  readonly bridge: string;
  readonly principal: string | undefined;
  readonly calls: Entry[];
}

export interface Entry {
  readonly kind: HistoryKind;
  readonly group: Group;
  timeMs: number;
  readonly server: string;
  readonly tool: string;
  status: string;
  /** Undefined if it must be read from the file. */
  text: string | undefined;
  /** What the end of a cell adds to its text. */
  endText: string;
  /** The start of a cell, if it is known; otherwise its end. */
  line: Line;
  end: Line | undefined;
}

/** The last entry of a page: its time, then its place, which never changes in a log that only grows. */
export interface Cursor {
  readonly timeMs: number;
  /** Name of the file. */
  readonly file: string;
  readonly offset: number;
}

export type PreparedQuery = Omit<HistoryQuery, 'text' | 'limit' | 'cursor'> & {
  /** In lower case; empty for any. */
  readonly text: string;
};

export function toQuery({ text = '', limit: _limit, cursor: _cursor, ...others }: HistoryQuery): PreparedQuery {
  return { ...others, text: text.toLowerCase() };
}

/**
 * Whether an entry is found; undefined if that depends on a text that is not in memory. A cell is found by the server and the tool of
 * its calls.
 */
export function matchesQuery(entry: Entry, query: PreparedQuery): boolean | undefined {
  const { sinceMs = 0, untilMs = Infinity } = query;
  const isFound =
    entry.timeMs >= sinceMs &&
    entry.timeMs < untilMs &&
    isAsWanted(entry, query) &&
    isInGroup(entry.group, query) &&
    isOfTool(entry, query);
  return isFound && (query.text === '' || hasText(entry, query.text));
}

function isAsWanted({ kind, status }: Entry, query: PreparedQuery): boolean {
  return (
    (query.kind === undefined || kind === query.kind) &&
    (query.kinds === undefined || query.kinds.includes(kind)) &&
    (query.status === undefined || status === query.status || (query.status === 'failed' && FAILURES.has(status)))
  );
}

function isInGroup({ bridge, cell, principal, session }: Group, query: PreparedQuery): boolean {
  return (
    (query.session === undefined || session === query.session) &&
    (query.bridge === undefined || bridge === query.bridge) &&
    (query.principal === undefined || (principal ?? '') === query.principal) &&
    (query.cell === undefined || cell === query.cell || cell.endsWith(`/${query.cell}`))
  );
}

function isOfTool(entry: Entry, { server, tool }: PreparedQuery): boolean {
  if (server === undefined && tool === undefined) {
    return true;
  }
  const isWanted = (call: Pick<Entry, 'server' | 'tool'>): boolean =>
    (server === undefined || call.server === server) && (tool === undefined || call.tool === tool);
  return entry.kind === 'cell' ? entry.group.calls.some(isWanted) : isWanted(entry);
}

function hasText({ group, endText, text }: Entry, wanted: string): boolean | undefined {
  return endText.includes(wanted) || group.cell.toLowerCase().includes(wanted) || text?.includes(wanted);
}

/** Older first, so less than 0 if `place` comes on a later page than `cursor`. */
export function compare(place: Cursor, cursor: Cursor): number {
  const difference = place.timeMs - cursor.timeMs;
  if (difference !== 0 || place.file === cursor.file) {
    return difference || place.offset - cursor.offset;
  }
  return place.file < cursor.file ? -1 : 1;
}

export function writeCursor({ timeMs, file, offset }: Cursor): string {
  return [timeMs, file, offset].join(':');
}

/** Throws `USAGE_INVALID`. */
export function readCursor(text: string): Cursor {
  const [, timeMs, file = '', offset] = /^(\d{1,15}):([\w.-]{1,80}):(\d{1,15})$/.exec(text) ?? [];
  if (timeMs === undefined) {
    throw new BridgeError('USAGE_INVALID', `'${text.slice(0, 60)}' is not the cursor of a page`, {
      hint: 'Take `next` of the page before, or leave it out for the first page.',
    });
  }
  return { timeMs: Number(timeMs), file, offset: Number(offset) };
}
