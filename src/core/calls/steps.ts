/**
 * Steps of the work of a cell (`runtime.step`), for whoever watches, and the results that a run has kept when it goes on. A row of a
 * map is a step, too.
 */
import { z } from 'zod';
import type { CellStatus } from '../base/cell.ts';
import { BridgeError } from '../base/errors.ts';
import { MAX_KEPT_STEP_BYTES, MAX_STEPS_AT_ONCE } from '../base/limits.ts';
import type { CallMethod } from '../protocol/frames.ts';
import type { CallContext } from '../session/dispatch.ts';
import type { BegunStep, BridgeEvents, Watcher } from './events.ts';
import { checked, type Method } from './method.ts';

/** What an interrupted run has kept. */
export interface KeptResults {
  /** The next result of a step of this key; undefined if none is left. */
  take(key: string): Promise<KeptResult | undefined>;
}

export interface KeptResult {
  /** Base64. */
  readonly data: string;
  /** Called if the step is not done again: the answers of its calls are used up. */
  use(step: BegunStep): void;
}

/** A step follows few others, unless they ran at once; more are not drawn. */
const MAX_AFTER = 100;
const MAX_NAME_CHARS = 200;
const MAX_EXCEPTION_CHARS = 100;
const MAX_DATA_CHARS = 4 * Math.ceil(MAX_KEPT_STEP_BYTES / 3);

const positive = z.int().positive();
const count = z.int().nonnegative();
const BeginParams = z.strictObject({
  name: z.string().min(1).max(MAX_NAME_CHARS),
  after: z
    .custom<unknown[]>((value) => Array.isArray(value) && value.length <= MAX_AFTER, 'expected a short list')
    .pipe(z.array(positive)),
  within: positive.optional(),
  rows: count.optional(),
  is_row: z.literal(true).optional(),
});
const KeptParams = z.strictObject({ step: positive, key: z.string().length(64) });
const EndParams = z.strictObject({
  step: positive,
  outcome: z.enum(['ok', 'error', 'cancelled', 'kept']),
  exception: z.string().max(MAX_EXCEPTION_CHARS).optional(),
  tries: positive.optional(),
  data: z.string().max(MAX_DATA_CHARS).base64().optional(),
});

/** Cells whose tasks are cancelled. Tasks that others leave go on, and so do their steps. */
const ENDING: ReadonlySet<CellStatus> = new Set<CellStatus>(['cancelled', 'timeout']);

interface RunningStep {
  readonly step: BegunStep;
  key?: string;
  kept?: KeptResult | undefined;
  /** Of a map. */
  failedRows?: number;
}

interface StepsOfSandbox {
  last: number;
  readonly running: Map<number, RunningStep>;
}

export class Steps {
  readonly #events: () => BridgeEvents;
  readonly #kept: KeptResults | undefined;
  /** By session and generation. */
  readonly #sandboxes = new Map<string, StepsOfSandbox>();

  /** @param kept undefined unless the run can go on later. */
  constructor(events: () => BridgeEvents, kept: KeptResults | undefined) {
    this.#events = events;
    this.#kept = kept;
  }

  /** Before the others: they learn of the steps that end with a cell before it has ended. */
  readonly watch: Watcher = (event) => {
    if (event.type === 'cell_ended' && ENDING.has(event.outcome.status)) {
      this.#endWith(event.cell, ({ cell }) => cell === event.cell.cell);
    } else if (event.type === 'session_ended') {
      this.#endWith(event.run, () => true);
      this.#sandboxes.delete(keyOf(event.run));
    }
  };

  get methods(): [CallMethod, Method][] {
    return [
      ['begin_step', checked(BeginParams, async (params, context) => this.#begin(params, context))],
      ['kept_step', checked(KeptParams, async ({ key, step }, context) => this.#takeKept(step, key, context))],
      ['end_step', checked(EndParams, (params, context) => this.#end(params, context))],
    ];
  }

  #begin({ after, is_row, name, rows, within }: z.output<typeof BeginParams>, context: CallContext) {
    const { cell, generation, job, session } = context;
    const of = this.#sandboxes.get(keyOf(context)) ?? { last: 0, running: new Map() };
    this.#sandboxes.set(keyOf(context), of);
    if (of.running.size >= MAX_STEPS_AT_ONCE) {
      const limit = MAX_STEPS_AT_ONCE.toLocaleString('en-US');
      throw new BridgeError('LIMIT_CALLS', `${limit} steps of the session run, which is the limit`);
    }
    of.last += 1;
    const around = within === undefined ? undefined : of.running.get(within)?.step;
    const step = this.#events().stepStarted({
      session,
      generation,
      cell,
      job,
      number: of.last,
      name,
      // Only what has begun before: whoever draws them need not expect circles.
      after: after.filter((number) => number < of.last),
      within: around?.isRow === true ? around.within : around?.number,
      parent: around?.number,
      rows,
      isRow: is_row === true,
    });
    of.running.set(step.number, { step });
    return { step: step.number, keeps: this.#kept !== undefined };
  }

  async #takeKept(number: number, key: string, context: CallContext) {
    const running = this.#find(number, context);
    running.key = key;
    running.kept = await this.#kept?.take(key);
    return running.kept === undefined ? null : { data: running.kept.data };
  }

  /** Resolves when a result that is kept is on disk. */
  async #end(params: z.output<typeof EndParams>, context: CallContext) {
    const { data, exception, outcome, step: number, tries } = params;
    const running = this.#find(number, context);
    const { kept, key, step } = running;
    if (outcome === 'kept') {
      if (kept === undefined) {
        throw new BridgeError('CALL_REFUSED', `no result of step ${number} was kept`);
      }
      kept.use(step);
    }
    const steps = this.#sandboxes.get(keyOf(context))?.running;
    steps?.delete(number);
    const map = step.isRow && outcome === 'error' ? steps?.get(step.parent ?? 0) : undefined;
    if (map !== undefined) {
      map.failedRows = (map.failedRows ?? 0) + 1;
    }
    const { failedRows } = running;
    const result = key === undefined || outcome !== 'ok' ? undefined : { key, data };
    await this.#events().stepEnded({ step, outcome, exception, tries, failedRows, result });
    return null;
  }

  #find(number: number, context: CallContext) {
    const running = this.#sandboxes.get(keyOf(context))?.running.get(number);
    if (running === undefined) {
      throw new BridgeError('CALL_REFUSED', `no step ${number} runs`);
    }
    return running;
  }

  #endWith(run: Pick<BegunStep, 'session' | 'generation'>, isEnded: (step: BegunStep) => boolean): void {
    const of = this.#sandboxes.get(keyOf(run));
    for (const [number, { failedRows, step }] of of?.running ?? []) {
      if (isEnded(step)) {
        of?.running.delete(number);
        void this.#events().stepEnded({ step, outcome: 'cancelled', failedRows });
      }
    }
  }
}

function keyOf({ generation, session }: Pick<BegunStep, 'session' | 'generation'>): string {
  return JSON.stringify([session, generation]);
}
