/** The sentences about a restored checkpoint. */
import { MAX_CHECKPOINT_AGE_MS, MAX_CHECKPOINT_BYTES, MAX_REPORTED_NAMES } from '../base/limits.ts';
import { escapeControls, escapeInLines } from '../base/log.ts';
import { counted } from '../base/units.ts';
import type { RemovedState } from './checkpoint-room.ts';
import type { CheckpointFacts } from './checkpoint-store.ts';
import { type Lost, NO_ROOM_FOR_COPY, TOO_LARGE } from './checkpoint-traffic.ts';
import { PREVIOUS, type Restored, type StateTroubles } from './keeper.ts';
import { isPythonName } from './run-cell.ts';
import type { CutOff, UnsaidEntry } from './unsaid.ts';

/** What Python's own messages call a type. */
const TYPE_NAME = /^TypeError: cannot pickle '([A-Za-z_][\w.]{0,60})' object/;
/** The reasons of the kernel that are sentences by themselves. Any other text may be anything: code can write it. */
const KNOWN_REASONS = new Set([
  'a handler of its own kind',
  'settings of an unknown kind',
  'an open file',
  'a running generator',
  'a running coroutine',
  'a running task',
  'a running thread',
  'a running process',
  'a background job',
  'a call while it was saved or restored',
  'a call that was not awaited',
  'a frame of running code',
  'a traceback',
  'a view of a dict',
  'a view of other memory',
  'a pipe, a socket or a device',
  'files outside of /workspace',
  'a file that cannot be read',
  'nested too deeply',
  'too large for a checkpoint',
]);

const DAY_MS = 24 * 60 * 60 * 1000;
/** Names in one notice. Chosen: about 60 tokens. */
const MAX_NAMES = 20;

/** The notice of the first answer after a restore. `loss` says why the earlier sandbox ended, if this bridge knows. */
export function describeRestored(
  { facts, reached = 0, report }: Restored,
  loss: { readonly reason: string; readonly cell: number; readonly isIdle?: boolean } | undefined,
  names?: readonly string[],
): string {
  const ended = loss === undefined ? '' : `The earlier sandbox of this session ended because ${loss.reason}. `;
  const what = describeWhat(report, names);
  const missing = describeMissing(facts.cell, Math.max(reached, loss?.cell ?? 0));
  const lost = describeLost([...facts.lost, ...report.lost], (facts.omitted ?? 0) + (report.omitted ?? 0));
  if (loss?.isIdle === true && missing === '') {
    return `Restored ${what} after a pause.${lost}`;
  }
  return `${ended}Restored ${what} as they were after cell ${facts.cell} (${timeOf(facts.savedAt)})${missing}.${lost}`;
}

/** The notice of the first cell of a bridge in the session `default`, if an earlier bridge has left a state of it. */
export function describePrevious(
  facts: CheckpointFacts,
  reached: number,
  older: readonly (CheckpointFacts & { readonly name: string })[],
): string {
  const missing = describeMissing(facts.cell, reached);
  const what = describeWhat(facts, facts.names);
  const others = older.map((one) => `"${one.name}" (${counted(one.variables, 'variable')}, ${timeOf(one.savedAt)})`);
  const more = others.length === 0 ? '' : ` Others saved before: ${others.join(', ')}.`;
  return `An earlier state of this session is saved: ${what} (${timeOf(facts.savedAt)})${missing}. To load it, run runtime.restore("${PREVIOUS}").${more}`;
}

/** The notice of what no answer of an earlier bridge has said. */
export function describeUnsaid(entry: UnsaidEntry): string {
  return entry.kind === 'answer' ? `From an earlier bridge: ${escapeInLines(entry.text)}` : describeCutOff(entry);
}

function describeCutOff({ beganAt, cell, line, saved, seenAt, waiting }: CutOff): string {
  const code = `first line \`${escapeControls(line)}\``;
  const ran = durationText(Date.parse(seenAt) - Date.parse(beganAt));
  const kept = saved === 0 ? 'nothing of its session was saved' : `its session was saved after cell ${saved}`;
  const what =
    cell === undefined
      ? `A cell of an earlier bridge (sent ${timeOf(beganAt)}, ${code}) had not begun when that ended.`
      : `Cell ${cell} of an earlier bridge (begun ${timeOf(beganAt)}, ${code}) was cut off after it had run for at least ${ran}; ${kept}.`;
  return waiting === 0 ? what : `${what} ${counted(waiting, 'cell')} that waited for it did not begin.`;
}

function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const minutes = Math.round(seconds / 60);
  return seconds < 120
    ? counted(seconds, 'second')
    : minutes < 120
      ? counted(minutes, 'minute')
      : counted(Math.floor(minutes / 60), 'hour');
}

/** `2 variables (rows, total) and 1 file` */
function describeWhat(
  { files, variables }: Pick<CheckpointFacts, 'files' | 'variables'>,
  names: readonly string[] = [],
) {
  const shown = names.filter(isPythonName).slice(0, MAX_NAMES);
  const more = variables > shown.length ? ` and ${variables - shown.length} more` : '';
  const named = shown.length === 0 ? '' : ` (${shown.join(', ')}${more})`;
  return `${counted(variables, 'variable')}${named} and ${counted(files, 'file')}`;
}

/** The notice of the first cell of a bridge in a session of which an earlier bridge has saved nothing. */
export function describeNeverSaved(reached: number): string {
  const which = reached === 1 ? 'cell 1' : `cells 1 to ${reached}`;
  return `State was lost: ${which} of this session ran before, and nothing of it was saved.`;
}

/** Of a session whose checkpoint could not be used. */
export function describeNotRestored(reason: string): string {
  return `Its saved state was not restored: ${escapeControls(reason)}.`;
}

/** What an answer says after its outcome about state that is not kept. `saved` is the newest checkpoint. */
export function describeTroubles({ removed, unsaved }: StateTroubles, saved: CheckpointFacts | undefined): string[] {
  const notices: string[] = [];
  const crowded = removed.filter(({ savedAt }) => savedAt === undefined);
  if (crowded.length > 0) {
    notices.push(`Removed from this session to make room for newer state of other sessions: ${describeAll(crowded)}.`);
  }
  const expired = removed.filter(({ savedAt }) => savedAt !== undefined);
  if (expired.length > 0) {
    notices.push(
      `Removed from this session because it was saved more than ${MAX_CHECKPOINT_AGE_MS / DAY_MS} days ago: ${describeAll(expired)}.`,
    );
  }
  if (unsaved !== undefined) {
    const since =
      saved === undefined
        ? 'Nothing of it is saved; it is lost when its sandbox ends.'
        : `It was last saved after cell ${saved.cell}; what later cells change is lost when its sandbox ends.`;
    notices.push(`${describeUnsaved(unsaved)} ${since}`);
  }
  return notices;
}

/** The newest state first. */
function describeAll(removed: readonly RemovedState[]): string {
  return removed
    .toSorted((one, other) => Number(one.name !== '') - Number(other.name !== ''))
    .map(({ name, savedAt }) => {
      const what = name === '' ? 'its saved state' : `the checkpoint '${name}'`;
      return savedAt === undefined ? what : `${what} (${timeOf(savedAt)})`;
    })
    .join(', ');
}

function describeUnsaved(reason: string): string {
  switch (reason) {
    case NO_ROOM_FOR_COPY:
      return 'The state of this session is saved only when it is idle or by runtime.checkpoint(), because a copy of its process needs too much memory.';
    case TOO_LARGE:
      return `The state of this session is not saved: it is larger than ${counted(MAX_CHECKPOINT_BYTES, 'byte')}, which is the limit. Delete large variables that you do not need.`;
    default:
      return `The state of this session is not saved: ${escapeControls(reason)}.`;
  }
}

/** The notice of a cell whose deadline was reached while its session was being saved. */
export const STILL_SAVING =
  'The session is not saved yet: that takes longer than this cell may. It goes on, and the next answer says how it ended.';

/** The notice of a cell that has saved its session; `facts` may be the reason why it is not saved. `isTemporary`: no later bridge gets it. */
export function describeSaved(facts: CheckpointFacts | string, name: string | undefined, isTemporary = false): string {
  const what = name === undefined ? 'The session' : `The checkpoint '${name}'`;
  if (typeof facts === 'string') {
    return `${what} is not saved: ${escapeControls(facts)}.`;
  }
  const { variables, files, lost, omitted = 0 } = facts;
  const until = isTemporary ? ' only until this MCP server stops' : '';
  const saved = `${what} is saved${until}: ${counted(variables, 'variable')} and ${counted(files, 'file')}.`;
  return saved + describeLost(lost, omitted).replace('Not restored:', 'Not kept:');
}

function describeMissing(saved: number, last: number): string {
  if (last <= saved) {
    return '';
  }
  return last === saved + 1
    ? `; what cell ${last} changed is lost`
    : `; what cells ${saved + 1} to ${last} changed is lost`;
}

/** `omitted` is how many more there are. */
function describeLost(lost: Lost, omitted: number): string {
  const shown = lost.filter(({ name }) => name.split('.').every(isPythonName)).slice(0, MAX_REPORTED_NAMES);
  if (lost.length === 0) {
    return '';
  }
  const more = lost.length - shown.length + omitted;
  const names = shown.map(({ name, reason }) => `${name} (${describeReason(reason)})`);
  return ` Not restored: ${[...names, ...(more > 0 ? [`${more} more`] : [])].join(', ')}.`;
}

function describeReason(reason: string): string {
  if (KNOWN_REASONS.has(reason)) {
    return reason;
  }
  return TYPE_NAME.exec(reason)?.[1] ?? 'cannot be saved';
}

/** In the time zone of the machine, with the date unless it is today. */
function timeOf(iso: string): string {
  const time = new Date(iso);
  const day = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return day(time) === day(new Date()) ? clock : `${day(time)} ${clock}`;
}

function two(number: number): string {
  return String(number).padStart(2, '0');
}
