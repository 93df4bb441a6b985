/** The gates of a dry run: one marks calls, the other answers marked ones instead of their server. */
import { CappedMap } from '../../core/base/capped-map.ts';
import type { CellAnswer } from '../../core/base/cell.ts';
import { escapeControls } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import { type CallGate, isSent, type ToolCall } from '../../core/calls/contract.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import { standInFor } from './stand-in.ts';

/** Calls of one cell that a notice describes; the others are counted. */
const MAX_LISTED = 20;
/** Values of arguments are cut to this length. */
const MAX_VALUE_CHARS = 60;
/** Arguments of one call that are shown. */
const MAX_ARGUMENTS = 10;

/** Sessions with calls that no answer has reported yet; clients choose their names. Chosen. */
const MAX_SESSIONS = 1_000;

/** Marks every call. The outermost gate: later ones ask no person about a call that is not sent. */
export const markDryRun: CallGate = (call, next) => next({ ...call, isDryRun: true });

export class DryRun {
  readonly #mask: (text: string) => string;
  /** By session: what the next answer reports. */
  readonly #calls = new CappedMap<string, { count: number; readonly listed: string[] }>(MAX_SESSIONS);

  /** `mask` hides known secrets. */
  constructor(mask: (text: string) => string) {
    this.#mask = mask;
  }

  /** Answers marked calls that could change something. The innermost gate: what others refuse is not listed. */
  readonly gate: CallGate = (call, next) => {
    if (isSent(call)) {
      return next(call);
    }
    this.#note(call);
    return Promise.resolve({ ok: true, result: standInFor(call.server.name, call.tool), isDryRun: true });
  };

  /** The answer of a cell, with a notice that lists the calls that were not sent. */
  withNotice(answer: CellAnswer): CellAnswer {
    // No client reads the answer of a cancelled cell, so the next one has the list.
    const notices = answer.status === 'cancelled' ? [] : this.takeNotices(answer.session);
    return notices.length === 0 ? answer : { ...answer, notices: [...answer.notices, ...notices] };
  }

  /** The same notice, by itself; none if every call was sent. */
  takeNotices(session: string): string[] {
    const calls = this.#calls.get(session);
    if (calls === undefined) {
      return [];
    }
    this.#calls.delete(session);
    const { count, listed } = calls;
    const more = count > listed.length ? [`and ${count - listed.length} more`] : [];
    const were = count === 1 ? 'was' : 'were';
    return [`Dry run: ${counted(count, 'call')} ${were} not sent: ${[...listed, ...more].join('; ')}.`];
  }

  #note(call: ToolCall): void {
    const { session } = call.context;
    const calls = this.#calls.get(session) ?? { count: 0, listed: [] };
    this.#calls.set(session, calls);
    calls.count += 1;
    if (calls.listed.length < MAX_LISTED) {
      calls.listed.push(this.#describe(call));
    }
  }

  #describe({ arguments: given, server, tool }: ToolCall): string {
    const names = Object.keys(given);
    const shown = names
      .slice(0, MAX_ARGUMENTS)
      .map((name) => `${cut(name)}=${cut(this.#mask(stringifyExact(given[name])))}`);
    const more = names.length > MAX_ARGUMENTS ? [`${names.length - MAX_ARGUMENTS} more`] : [];
    return escapeControls(`${server.name}.${tool.name}(${[...shown, ...more].join(', ')})`);
  }
}

function cut(text: string): string {
  return text.length > MAX_VALUE_CHARS ? `${text.slice(0, MAX_VALUE_CHARS)}…` : text;
}
