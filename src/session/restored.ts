/** The sentences about a restored checkpoint. */
import { MAX_CHECKPOINT_BYTES, MAX_REPORTED_NAMES } from '../base/limits.ts';
import { escapeControls } from '../base/log.ts';
import { counted } from '../base/units.ts';
import type { CheckpointFacts } from './checkpoint-store.ts';
import { type Lost, NO_ROOM_FOR_COPY, TOO_LARGE } from './checkpoint-traffic.ts';
import { PREVIOUS, type Restored, type StateTroubles } from './keeper.ts';
import { isPythonName } from './run-cell.ts';

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

/** The notice of the first answer after a restore. `loss` says why the earlier sandbox ended, if this bridge knows. */
export function describeRestored(
  { facts, reached = 0, report }: Restored,
  loss: { readonly reason: string; readonly cell: number } | undefined,
): string {
  const ended = loss === undefined ? '' : `The earlier sandbox of this session ended because ${loss.reason}. `;
  const what = `${counted(report.variables, 'variable')} and ${counted(report.files, 'file')}`;
  const missing = describeMissing(facts.cell, Math.max(reached, loss?.cell ?? 0));
  return `${ended}Restored ${what} as they were after cell ${facts.cell} (${timeOf(facts.savedAt)})${missing}.${describeLost([...facts.lost, ...report.lost])}`;
}

/** The notice of the first cell of a bridge in the session `default`, if an earlier bridge has left a state of it. */
export function describePrevious(
  { cell, files, savedAt, variables }: CheckpointFacts,
  reached: number,
  older: readonly (CheckpointFacts & { readonly name: string })[],
): string {
  const missing = describeMissing(cell, reached);
  const what = `${counted(variables, 'variable')} and ${counted(files, 'file')}`;
  const others = older.map((one) => `"${one.name}" (${counted(one.variables, 'variable')}, ${timeOf(one.savedAt)})`);
  const more = others.length === 0 ? '' : ` Others left before: ${others.join(', ')}.`;
  return `An earlier bridge left a state of this session: ${what} (${timeOf(savedAt)})${missing}. To continue with it: runtime.restore("${PREVIOUS}").${more}`;
}

/** The notice of the first cell of a bridge in a session of which an earlier bridge has saved nothing. */
export function describeNeverSaved(reached: number): string {
  const which = reached === 1 ? 'cell 1' : `cells 1 to ${reached}`;
  return `State was lost: an earlier bridge has run ${which} in this session, and nothing of it was saved.`;
}

/** Of a session whose checkpoint could not be used. */
export function describeNotRestored(reason: string): string {
  return `Its checkpoint was not restored: ${escapeControls(reason)}.`;
}

/** What an answer says after its outcome about state that is not kept. `saved` is the newest checkpoint. */
export function describeTroubles({ removed, unsaved }: StateTroubles, saved: CheckpointFacts | undefined): string[] {
  const notices: string[] = [];
  if (removed.length > 0) {
    const names = removed.filter((name) => name !== '').map((name) => `the checkpoint '${name}'`);
    const all = removed.includes('') ? ['its saved state', ...names] : names;
    notices.push(`Removed from this session to make room for newer state of other sessions: ${all.join(', ')}.`);
  }
  if (unsaved !== undefined) {
    const since =
      saved === undefined
        ? 'Nothing of it is saved; it is lost when its sandbox or the bridge ends.'
        : `Its last checkpoint is from after cell ${saved.cell}; what later cells change is lost when its sandbox or the bridge ends.`;
    notices.push(`${describeUnsaved(unsaved)} ${since}`);
  }
  return notices;
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

/** The notice of a cell that has saved its session; `facts` may be the reason why it is not saved. */
export function describeSaved(facts: CheckpointFacts | string, name: string | undefined): string {
  const what = name === undefined ? 'The session' : `The checkpoint '${name}'`;
  if (typeof facts === 'string') {
    return `${what} is not saved: ${escapeControls(facts)}.`;
  }
  const { variables, files, lost } = facts;
  const saved = `${what} is saved: ${counted(variables, 'variable')} and ${counted(files, 'file')}.`;
  return saved + describeLost(lost).replace('Not restored:', 'Not kept:');
}

function describeMissing(saved: number, last: number): string {
  if (last <= saved) {
    return '';
  }
  return last === saved + 1
    ? `; what cell ${last} changed is lost`
    : `; what cells ${saved + 1} to ${last} changed is lost`;
}

function describeLost(lost: Lost): string {
  const shown = lost.filter(({ name }) => name.split('.').every(isPythonName)).slice(0, MAX_REPORTED_NAMES);
  if (lost.length === 0) {
    return '';
  }
  const more = lost.length - shown.length;
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
