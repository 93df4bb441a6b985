/**
 * The record of what happens in a bridge: one stream of events that everything which watches subscribes to, such as the audit log,
 * recordings, telemetry, and what people see. Who may refuse or change a call is a gate (`contract.ts`), not a watcher.
 */
import { type BridgeError, type ErrorCode, toBridgeError } from '../base/errors.ts';
import { isFailure } from '../protocol/result-bytes.ts';
import type { BegunCell, CellIdentity, SessionEvent } from '../session/events.ts';
import type { CallOutcome, ToolCall, UnmadeCall } from './contract.ts';

/** A call from the moment code makes it, before any gate. Both its events have the same object. */
export interface BegunCall {
  /** Counted from 1 in the bridge, in the order in which calls begin. */
  readonly number: number;
  readonly call: ToolCall;
  /** The cell that made it; undefined for a call of a job, and for one that no cell makes. */
  readonly cell: BegunCell | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** In ms of `performance.now()`. */
  readonly begun: number;
}

/** What a server was asked: the part of a call between the gates and the answer. */
export interface SentCall {
  durationMs: number;
  hasFailed: boolean;
}

export type CallEvent =
  | { readonly type: 'call_started'; readonly made: BegunCall }
  /** After all gates. Code gets the answer when the watchers that return a promise have resolved it. */
  | {
      readonly type: 'call_ended';
      readonly made: BegunCall;
      readonly outcome: CallOutcome;
      /** Includes the time that a person took. */
      readonly durationMs: number;
      /** Undefined if nothing was sent, or no answer came. */
      readonly sent: SentCall | undefined;
    }
  | { readonly type: 'call_unmade'; readonly call: UnmadeCall; readonly error: BridgeError };

/** A step of the work of a cell, or of a job. Both its events have the same object. */
export interface BegunStep extends CellIdentity {
  readonly job: string | undefined;
  /** In its sandbox, counted from 1. */
  readonly number: number;
  /** Of its function, according to the sandbox. */
  readonly name: string;
  /** The steps that had ended before it, and that nothing else had followed. */
  readonly after: readonly number[];
  /** The step that does it, or the map whose row does it. */
  readonly within: number | undefined;
  /** The step or the row that does it. */
  readonly parent: number | undefined;
  /** Of a map. */
  readonly rows: number | undefined;
  /** Whether it is a row of a map. */
  readonly isRow: boolean;
  /** The cell that does it; undefined for a step of a job. */
  readonly of: BegunCell | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** In ms of `performance.now()`. */
  readonly begun: number;
}

export interface EndedStep {
  readonly step: BegunStep;
  /** `kept`: it was not done, because an interrupted run that goes on had its result. */
  readonly outcome: 'ok' | 'error' | 'cancelled' | 'kept';
  /** Class of its exception, according to the sandbox. */
  readonly exception?: string | undefined;
  /** Undefined if it was tried once. */
  readonly tries?: number | undefined;
  readonly failedRows?: number | undefined;
  /** Of a run that can go on: the result in base64, undefined if it is too large or cannot be pickled, and what it is the result of. */
  readonly result?: { readonly key: string; readonly data: string | undefined } | undefined;
}

export type StepEvent =
  | { readonly type: 'step_started'; readonly step: BegunStep }
  /** The step goes on to the next when the watchers that return a promise have resolved it. */
  | (EndedStep & { readonly type: 'step_ended'; readonly durationMs: number });

export type BridgeEvent = SessionEvent | CallEvent | StepEvent;
export type EventOfType<Type> = Extract<BridgeEvent, { readonly type: Type }>;

/**
 * Learns of every event, in order. Must return quickly and never throw. What follows waits for the promise, if it returns one: the cell
 * that begins, or the answer of a call. Only for a cell that begins may the promise reject.
 */
export type Watcher = (event: BridgeEvent) => Promise<void> | undefined | void;

export class BridgeEvents {
  readonly #watchers: readonly Watcher[];
  /** By session, which runs one cell at a time. */
  readonly #cells = new Map<string, BegunCell>();
  #calls = 0;

  constructor(watchers: readonly (Watcher | undefined)[] = []) {
    this.#watchers = watchers.filter((watcher) => watcher !== undefined);
  }

  readonly emit = (event: BridgeEvent): Promise<void> | undefined => {
    if (event.type === 'cell_started') {
      this.#cells.set(event.cell.session, event.cell);
    } else if (event.type === 'cell_ended') {
      this.#cells.delete(event.cell.session);
    }
    let waits: Promise<void>[] | undefined;
    for (const watcher of this.#watchers) {
      const wait = watcher(event);
      if (wait !== undefined) {
        waits ??= [];
        waits.push(wait);
      }
    }
    return waits && Promise.all(waits).then(() => undefined);
  };

  callStarted(call: ToolCall): BegunCall {
    this.#calls += 1;
    const cell = this.#cellOf(call.context);
    const made = { number: this.#calls, call, cell, startedAt: Date.now(), begun: performance.now() };
    void this.emit({ type: 'call_started', made });
    return made;
  }

  callEnded(made: BegunCall, outcome: CallOutcome, sent: SentCall | undefined): Promise<void> | undefined {
    const durationMs = performance.now() - made.begun;
    return this.emit({ type: 'call_ended', made, outcome, durationMs, sent });
  }

  stepStarted(names: Omit<BegunStep, 'of' | 'startedAt' | 'begun'>): BegunStep {
    const step = { ...names, of: this.#cellOf(names), startedAt: Date.now(), begun: performance.now() };
    void this.emit({ type: 'step_started', step });
    return step;
  }

  stepEnded(ended: EndedStep): Promise<void> | undefined {
    return this.emit({ ...ended, type: 'step_ended', durationMs: performance.now() - ended.step.begun });
  }

  /** A sandbox may name the cell of another one. */
  #cellOf({ session, generation, cell }: CellIdentity): BegunCell | undefined {
    const running = this.#cells.get(session);
    const isRunning = running !== undefined && running.cell === cell && running.generation === generation;
    return isRunning ? running : undefined;
  }
}

/** Why a call failed: there is no answer, or its server says so in it. Undefined if it succeeded. */
export function errorCodeOf(outcome: CallOutcome): ErrorCode | undefined {
  if (!outcome.ok) {
    return toBridgeError(outcome.error).code;
  }
  return isFailure(outcome.result) ? 'TOOL_FAILED' : undefined;
}
