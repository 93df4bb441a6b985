/** Which calls the steps of a run have made: the result of a step that is kept stands for them. */
import type { BegunStep } from '../../core/calls/events.ts';

interface StepOfSandbox extends Pick<BegunStep, 'session' | 'generation'> {
  readonly step?: number | undefined;
}

/** Numbers of the recorded calls of steps that run, those of steps within them included. */
export class StepCalls {
  readonly #running = new Map<string, Set<number>>();

  note({ generation, session, step }: StepOfSandbox, numbers: Iterable<number>): void {
    if (step === undefined) {
      return;
    }
    const key = keyOf(session, generation, step);
    const noted = this.#running.get(key) ?? new Set();
    for (const number of numbers) {
      noted.add(number);
    }
    this.#running.set(key, noted);
  }

  /** Its calls are from now on those of the step around it. */
  end({ generation, number, parent, session }: BegunStep): readonly number[] {
    const key = keyOf(session, generation, number);
    const numbers = [...(this.#running.get(key) ?? [])];
    this.#running.delete(key);
    this.note({ session, generation, step: parent }, numbers);
    return numbers;
  }
}

function keyOf(session: string, generation: number, step: number): string {
  return JSON.stringify([session, generation, step]);
}
