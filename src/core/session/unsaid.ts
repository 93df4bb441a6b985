/**
 * What no answer of a session has said when its bridge ended: the cell that was cut off, and answers that no client has taken. A file
 * beside its checkpoint, or where one would be, has it until an answer of a later bridge says it.
 */
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { escapeControls } from '../base/log.ts';
import { ensureDirectory, readBounded, writeAtomically } from '../state/state-files.ts';

export const UNSAID_SUFFIX = '.unsaid';
/** In one file. Chosen: as many as the answers that are kept for a client, and some that were cut off. */
const MAX_ENTRIES = 24;
/** Of one answer, in UTF-16 units. Chosen: more than another answer repeats of it. */
const MAX_ANSWER_CHARS = 4_000;
/** Of the first line of code. Chosen: enough to know it again. */
const MAX_LINE_CHARS = 60;
/** Of code, until one is found that says something. */
const MAX_LINES = 20;
const MAX_FILE_BYTES = MAX_ENTRIES * MAX_ANSWER_CHARS * 6;

const CutOffSchema = z.object({
  kind: z.literal('cut_off'),
  /** The bridge that wrote it. */
  by: z.string().max(64),
  /** Left out if the code had not begun. */
  cell: z.int().nonnegative().optional(),
  line: z.string().max(2 * MAX_LINE_CHARS),
  beganAt: z.iso.datetime(),
  /** When it ran for the last time, as far as that is noted. */
  seenAt: z.iso.datetime(),
  /** The last cell that was saved by then; 0 if none was. */
  saved: z.int().nonnegative(),
  /** Cells that waited for it. */
  waiting: z.int().nonnegative(),
});
const AnswerSchema = z.object({ kind: z.literal('answer'), by: z.string().max(64), text: z.string() });
const FileSchema = z.array(z.discriminatedUnion('kind', [CutOffSchema, AnswerSchema]));

export type UnsaidEntry = z.infer<typeof FileSchema>[number];
export type CutOff = z.infer<typeof CutOffSchema>;

/** Empty if there is none, or the file is damaged. */
export async function readUnsaid(path: string): Promise<readonly UnsaidEntry[]> {
  try {
    return FileSchema.parse(JSON.parse((await readBounded(path, MAX_FILE_BYTES)).toString('utf8')));
  } catch {
    return [];
  }
}

export async function changeUnsaid(
  path: string,
  change: (entries: readonly UnsaidEntry[]) => readonly UnsaidEntry[],
): Promise<void> {
  const found = await readUnsaid(path);
  const changed = change(found).slice(-MAX_ENTRIES);
  if (changed.length > 0) {
    await ensureDirectory(dirname(path));
    await writeAtomically(path, [JSON.stringify(changed)]);
  } else if (found.length > 0) {
    await rm(path, { force: true });
  }
}

export function answerEntry(by: string, text: string): UnsaidEntry {
  return { kind: 'answer', by, text: text.slice(0, MAX_ANSWER_CHARS).toWellFormed() };
}

/** The settings of a cell in its first line: see `# timeout: 90s` in `server/arguments.ts`. */
const SETTINGS_LINE = /^#\s*(timeout|background)\b/;

/** The first line of code that says what it does. */
export function firstLineOf(code: string): string {
  const line = code.split('\n', MAX_LINES).find((one) => one.trim() !== '' && !SETTINGS_LINE.test(one.trim())) ?? '';
  return escapeControls(line.trim().slice(0, MAX_LINE_CHARS).toWellFormed()).slice(0, 2 * MAX_LINE_CHARS);
}
