/** The sentences about a restored checkpoint. */
import { MAX_REPORTED_NAMES } from '../base/limits.ts';
import { escapeControls } from '../base/log.ts';
import { counted } from '../base/units.ts';
import type { CheckpointFacts } from './checkpoint-store.ts';
import type { Lost } from './checkpoint-traffic.ts';
import { PREVIOUS, type Restored } from './keeper.ts';
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
  'a background job',
  'a call that was not awaited',
  'a frame of running code',
  'a traceback',
  'a view of a dict',
  'a view of other memory',
  'a pipe, a socket or a device',
  'a file that cannot be read',
  'nested too deeply',
]);

/** The notice of the first answer after a restore. `loss` says why the earlier sandbox ended, if this bridge knows. */
export function describeRestored(
  { facts, report }: Restored,
  loss: { readonly reason: string; readonly cell: number } | undefined,
): string {
  const ended = loss === undefined ? '' : `The earlier sandbox of this session ended because ${loss.reason}. `;
  const what = `${counted(report.variables, 'variable')} and ${counted(report.files, 'file')}`;
  const missing = describeMissing(facts.cell, loss?.cell ?? facts.cell);
  return `${ended}Restored ${what} as they were after cell ${facts.cell} (${timeOf(facts.savedAt)})${missing}.${describeLost([...facts.lost, ...report.lost])}`;
}

/** The notice of the first cell of a bridge in the session `default`, if an earlier bridge has left a state of it. */
export function describePrevious({ files, savedAt, variables }: CheckpointFacts): string {
  const what = `${counted(variables, 'variable')} and ${counted(files, 'file')}`;
  return `An earlier bridge left a state of this session: ${what} (${timeOf(savedAt)}). To continue with it: runtime.restore("${PREVIOUS}").`;
}

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
