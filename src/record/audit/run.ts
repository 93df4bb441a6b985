/** `audit`: shows, follows and counts the record of cells and calls. Starts and changes nothing. */

import { setTimeout as sleep } from 'node:timers/promises';
import { escapeInJson, renderJson } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import type { CommandContext, LineFor } from '../../edges/terminal/command.ts';
import { joinRecords, matches } from '../history/entries.ts';
import { auditDirectory } from '../history/files.ts';
import { History } from '../history/history.ts';
import { AuditReader, type ReadRecord } from '../history/reader.ts';
import type { AuditRecord } from '../history/records.ts';
import { StatisticsBuilder } from '../history/statistics.ts';
import type { AuditCommand } from './command.ts';
import { renderFound, renderTailLine } from './tail.ts';
import { renderEntry, renderStatistics } from './text.ts';

export interface AuditOptions extends Pick<CommandContext, 'settings'> {
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Whether to color what a person reads. */
  readonly hasColors?: boolean;
  /** Ends `tail -f`; without it, only a signal to the process does. */
  readonly signal?: AbortSignal;
}

/** Interval between checks for new records. Chosen: a bridge writes every 100 ms. */
const FOLLOW_MS = 500;

/** Resolves with 0. Reports unreadable files and lines on stderr. */
export async function audit(command: AuditCommand, options: AuditOptions): Promise<number> {
  const directory = auditDirectory(options.settings.stateDir);
  const reader = new AuditReader(directory);
  const nothing = `There are no records in ${directory}${'sinceMs' in command && command.sinceMs !== undefined ? ' since then' : ''}.`;
  switch (command.action) {
    case 'show':
      await show(command, reader, { ...options, nothing });
      break;
    case 'search':
      await search(command, { ...options, nothing });
      return 0;
    case 'tail':
      await tail(command, reader, { ...options, nothing });
      break;
    case 'stats':
      await count(command, reader, { ...options, nothing });
  }
  reportDamage(reader, options.writeError);
  return 0;
}

type WithNothing = AuditOptions & { readonly nothing: string };

async function show(
  command: LineFor<AuditCommand, 'show'>,
  reader: AuditReader,
  { writeOut, nothing }: WithNothing,
): Promise<void> {
  const wanted = { ...command, cell: command.cell ?? command.id };
  let isEmpty = true;
  for await (const entry of joinRecords(reader.read(command.sinceMs))) {
    if (matches(entry, wanted)) {
      isEmpty = false;
      writeOut(
        command.isJson ? `${escapeInJson(JSON.stringify(entry))}\n` : renderEntry(entry, wanted.cell !== undefined),
      );
    }
  }
  if (isEmpty && !command.isJson) {
    writeOut(hasFilter(wanted) ? 'No records match.\n' : `${nothing}\n`);
  }
}

function hasFilter({ session, cell, server, isFailed }: LineFor<AuditCommand, 'show'>): boolean {
  return isFailed || [session, cell, server].some((value) => value !== undefined);
}

async function search(query: LineFor<AuditCommand, 'search'>, options: WithNothing): Promise<void> {
  const { hasColors = false, nothing, settings, writeError, writeOut } = options;
  const history = new History(auditDirectory(settings.stateDir));
  await history.refresh();
  const { items, next } = await history.search(query);
  if (query.isJson) {
    writeOut(`${escapeInJson(JSON.stringify({ items, next }))}\n`);
  } else if (items.length === 0) {
    writeOut(history.size === 0 ? `${nothing}\n` : 'No records match.\n');
  } else {
    writeOut(items.map((item) => renderFound(item, hasColors)).join(''));
    writeOut(next === undefined ? '' : `There is more: add --cursor ${next}\n`);
  }
  reportDamage(history, writeError);
  if (history.leftOut > 0) {
    writeError(`Did not search the oldest ${counted(history.leftOut, 'record')}, because the log is too large.\n`);
  }
}

async function tail(
  command: LineFor<AuditCommand, 'tail'>,
  reader: AuditReader,
  { hasColors = false, writeOut, signal, nothing }: WithNothing,
): Promise<void> {
  // The text of a record is gone when the next one is read.
  const keep = ({ record, text }: ReadRecord): AuditRecord | string => (command.isJson ? text() : record);
  const render = (kept: AuditRecord | string): string =>
    typeof kept === 'string' ? `${kept}\n` : renderTailLine(kept, hasColors);
  let last: (AuditRecord | string)[] = [];
  let isEmpty = true;
  for await (const found of reader.read()) {
    isEmpty = false;
    last.push(keep(found));
    // Trimmed rarely, because each time copies the rest.
    last = last.length > 2 * command.lines ? newest(last, command.lines) : last;
  }
  writeOut(newest(last, command.lines).map(render).join(''));
  if (isEmpty && !command.isJson) {
    writeOut(`${nothing}\n`);
  }
  while (command.isFollowing && signal?.aborted !== true) {
    await sleep(FOLLOW_MS);
    for await (const found of reader.read()) {
      writeOut(render(keep(found)));
    }
  }
}

function newest<Kept>(records: Kept[], wanted: number): Kept[] {
  return records.slice(Math.max(0, records.length - wanted));
}

async function count(
  command: LineFor<AuditCommand, 'stats'>,
  reader: AuditReader,
  options: WithNothing,
): Promise<void> {
  const builder = new StatisticsBuilder();
  for await (const { record } of reader.read(command.sinceMs)) {
    builder.add(record);
  }
  const statistics = builder.result();
  options.writeOut(command.isJson ? renderJson(statistics) : renderStatistics(statistics, options.nothing));
}

function reportDamage(reader: Pick<AuditReader, 'badLines' | 'unreadable'>, writeError: (text: string) => void): void {
  if (reader.badLines > 0) {
    writeError(
      `Skipped ${counted(reader.badLines, 'line')} with no valid record: damaged, incomplete or from a later version.\n`,
    );
  }
  for (const reason of reader.unreadable) {
    writeError(`cannot read ${reason}\n`);
  }
}
