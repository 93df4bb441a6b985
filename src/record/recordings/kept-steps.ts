/**
 * The results that the steps of an interrupted run have left. Such a result stands for the calls of its step: their answers are used up
 * with it, so that the same call of another step is made.
 */
import type { BegunStep } from '../../core/calls/events.ts';
import type { CallContext } from '../../core/session/dispatch.ts';
import type { LineOfType } from './format.ts';

type StepLine = LineOfType<'step'>;
type StepOfSandbox = Pick<BegunStep, 'session' | 'generation'> & { readonly step?: number | undefined };

/** Numbers of the recorded calls of steps that run, those of steps within them included. */
export class StepCalls {
  readonly #running = new Map<string, Set<number>>();

  note({ generation, session, step }: StepOfSandbox | CallContext, ...numbers: readonly number[]): void {
    if (step === undefined) {
      return;
    }
    const key = keyOf({ session, generation, step });
    const noted = this.#running.get(key) ?? new Set();
    numbers.forEach((number) => noted.add(number));
    this.#running.set(key, noted);
  }

  /** Its calls are from then on those of the step around it. */
  end(step: BegunStep): readonly number[] {
    const key = keyOf({ ...step, step: step.number });
    const numbers = [...(this.#running.get(key) ?? [])];
    this.#running.delete(key);
    this.note({ ...step, step: step.within }, ...numbers);
    return numbers;
  }
}

export class KeptSteps {
  /** By key, in the order in which they ended. */
  readonly #left = new Map<string, StepLine[]>();
  readonly #calls: StepCalls;

  constructor(lines: readonly StepLine[], calls: StepCalls) {
    this.#calls = calls;
    for (const line of lines) {
      this.#left.set(line.key, [...(this.#left.get(line.key) ?? []), line]);
    }
  }

  /** The next of this key, which counts as used. */
  take(step: BegunStep, key: string): { readonly data: string; readonly calls: ReadonlySet<number> } | undefined {
    const line = this.#left.get(key)?.shift();
    if (line?.data === undefined) {
      return undefined;
    }
    this.#calls.note({ ...step, step: step.number }, ...line.calls);
    return { data: line.data, calls: new Set(line.calls) };
  }
}

function keyOf({ generation, session, step }: StepOfSandbox): string {
  return JSON.stringify([session, generation, step]);
}
