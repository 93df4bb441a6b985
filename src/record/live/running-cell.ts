/** A running cell as far as the API shows it: the end of its output and its last calls, whatever their number. */
import type { CellClock } from '../../core/base/cell.ts';
import type { ErrorCode } from '../../core/base/errors.ts';
import type { BegunCall, BegunStep, EventOfType } from '../../core/calls/events.ts';
import type { BegunCell } from '../../core/session/events.ts';
import type { LiveSession, LiveStep } from '../local-api/schema.ts';

/** Of the output, as `schema.ts` says. */
const KEPT_OUTPUT_CHARS = 16_384;
/** Of the calls that have ended, as `schema.ts` says. */
const KEPT_CALLS = 100;

/** Without the arguments, which may be large. */
interface StartedCall {
  readonly call: number;
  readonly server: string;
  readonly tool: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

interface EndedCall extends StartedCall {
  readonly durationMs: number;
  readonly errorCode: ErrorCode | undefined;
}

/** Of the steps that have ended, as `schema.ts` says. */
const KEPT_STEPS = 200;

/** Replaces known secrets. */
type Mask = (text: string) => string;
type Shown = NonNullable<LiveSession['cell']>;

export class RunningCell {
  readonly id: string;
  readonly begun: BegunCell;
  /** Undefined until its code begins. */
  clock: CellClock | undefined;
  readonly #startedAt = Date.now();
  readonly #running = new Map<number, StartedCall>();
  /** A ring: the next call goes to `#endedCalls % KEPT_CALLS`. */
  readonly #ended: EndedCall[] = [];
  #endedCalls = 0;
  readonly #runningSteps = new Map<number, { readonly step: BegunStep; rowsEnded: number; rowsFailed: number }>();
  readonly #endedSteps: LiveStep[] = [];
  #output = '';
  #outputChars = 0;

  constructor(id: string, begun: BegunCell) {
    this.id = id;
    this.begun = begun;
  }

  /** The number of characters before these. */
  addOutput(text: string): number {
    const before = this.#outputChars;
    this.#outputChars += text.length;
    this.#output += text;
    // Cut rarely: cutting at each line would copy the text every time.
    if (this.#output.length > 2 * KEPT_OUTPUT_CHARS) {
      this.#output = this.#output.slice(-KEPT_OUTPUT_CHARS);
    }
    return before;
  }

  callStarted(made: BegunCall): void {
    const started = startedCall(made);
    this.#running.set(started.call, started);
  }

  callEnded(made: BegunCall, durationMs: number, errorCode: ErrorCode | undefined): void {
    const started = startedCall(made);
    this.#running.delete(started.call);
    this.#ended[this.#endedCalls % KEPT_CALLS] = { ...started, durationMs, errorCode };
    this.#endedCalls += 1;
  }

  /** What is to be shown of it; undefined for a row, which counts for its map. */
  stepStarted(step: BegunStep, mask: Mask): LiveStep | undefined {
    if (step.isRow) {
      return undefined;
    }
    const running = { step, rowsEnded: 0, rowsFailed: 0 };
    this.#runningSteps.set(step.number, running);
    return showRunningStep(running, mask);
  }

  stepEnded(
    { durationMs, exception, outcome, step, tries }: EventOfType<'step_ended'>,
    mask: Mask,
  ): LiveStep | undefined {
    const map = step.isRow && step.within !== undefined ? this.#runningSteps.get(step.within) : undefined;
    if (map !== undefined) {
      map.rowsEnded += 1;
      map.rowsFailed += outcome === 'error' ? 1 : 0;
    }
    const running = this.#runningSteps.get(step.number);
    if (running === undefined) {
      return undefined;
    }
    this.#runningSteps.delete(step.number);
    const ended: LiveStep = {
      ...showRunningStep(running, mask),
      status: outcome,
      duration_ms: durationMs,
      ...(tries !== undefined && { tries }),
      ...(exception !== undefined && { exception: mask(exception) }),
    };
    this.#endedSteps.push(ended);
    if (this.#endedSteps.length > KEPT_STEPS) {
      this.#endedSteps.shift();
    }
    return ended;
  }

  /** @param mask replaces known secrets. */
  show(mask: Mask): Shown {
    const { clock } = this;
    const { request, servers } = this.begun;
    const { code, timeoutMs } = request;
    const calls = [
      ...[...this.#running.values()].map((call) => ({ ...namesOf(call), status: 'running' as const })),
      ...this.#ended.map(showEnded),
    ];
    const steps = [
      ...[...this.#runningSteps.values()].map((running) => showRunningStep(running, mask)),
      ...this.#endedSteps,
    ];
    return {
      id: this.id,
      code: mask(code),
      servers: [...servers],
      started: isoTimeOf(this.#startedAt),
      deadline: isoTimeOf(clock === undefined ? this.#startedAt + timeoutMs : Date.now() + clock.leftMs()),
      ...(clock?.isHeld === true && { paused: true as const }),
      output: this.#output.slice(-KEPT_OUTPUT_CHARS),
      output_chars: this.#outputChars,
      calls: calls.toSorted((a, b) => a.call - b.call),
      calls_running: this.#running.size,
      calls_ended: this.#endedCalls,
      ...(steps.length > 0 && { steps: steps.toSorted((a, b) => a.step - b.step) }),
    };
  }
}

function showRunningStep(
  {
    rowsEnded,
    rowsFailed,
    step,
  }: { readonly step: BegunStep; readonly rowsEnded: number; readonly rowsFailed: number },
  mask: Mask,
): LiveStep {
  const { after, name, number, rows, startedAt, within } = step;
  return {
    step: number,
    name: mask(name),
    after: [...after],
    ...(within !== undefined && { within }),
    started: isoTimeOf(startedAt),
    status: 'running',
    ...(rows !== undefined && { rows, rows_ended: rowsEnded }),
    ...(rowsFailed > 0 && { rows_failed: rowsFailed }),
  };
}

function showEnded(ended: EndedCall): Shown['calls'][number] {
  const { durationMs, errorCode } = ended;
  return {
    ...namesOf(ended),
    status: errorCode === undefined ? 'ok' : 'error',
    duration_ms: durationMs,
    ...(errorCode !== undefined && { error_code: errorCode }),
  };
}

function startedCall({ call: { context, server, tool }, startedAt }: BegunCall): StartedCall {
  return { call: context.call, server: server.name, tool: tool.name, startedAt };
}

function namesOf({ call, server, tool, startedAt }: StartedCall) {
  return { call, server, tool, started: isoTimeOf(startedAt) };
}

/** Milliseconds since 1970 as the API writes times. */
export function isoTimeOf(atMs: number): string {
  return new Date(atMs).toISOString();
}
