/** An event of the audit log on one line, for people. */
import { counted } from '../../core/base/units.ts';
import type { HistoryItem } from '../history/history.ts';

type EventRecord = Extract<HistoryItem, { readonly kind: 'event' }>['record'];

export function eventSummary(record: EventRecord): string {
  switch (record.type) {
    case 'session_started':
      return `Session ${record.session}: sandbox ${record.generation} started on ${record.engine}`;
    case 'session_ended':
      return `Session ${record.session}: sandbox ${record.generation} ended, because ${record.reason}`;
    case 'cell_refused':
      return `A cell of session ${record.session} was not run: ${record.error_code}`;
    case 'definitions':
      return `${record.server ?? 'The bridge'} has ${counted(record.tools, 'tool')}`;
    case 'question_answered':
      return `The operator answered a question of session ${record.session}: ${record.choice ?? record.action}`;
    case 'step':
      return `Step ${record.step}, ${record.name}: ${record.outcome}`;
    case 'tool_saved':
      return `The function ${record.name} was saved`;
    case 'artifact_saved':
      return `The file ${record.name} was saved: ${counted(record.bytes, 'byte')}`;
    case 'program':
      return `Program ${record.snippet ?? `in ${record.language ?? 'an unknown language'}`}: ${record.status}`;
    case 'packages_installed':
      return `Packages were installed: ${record.packages.map((one) => one.split(' ')[0]).join(', ')}`;
    case 'packages_refused':
      return `Packages were refused: ${record.requirements.join(', ')}`;
    case 'calls_refused':
      return `${counted(record.calls, 'call')} to ${record.server ?? 'several servers'} refused: ${record.error_code}`;
    case 'lost':
      return `${counted(record.records, 'record')} lost, because ${record.reason}`;
  }
}
