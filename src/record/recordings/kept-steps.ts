/** Which calls the steps of a run have made: the result of a step that is kept stands for them. */
import type { BegunStep } from '../../core/calls/events.ts';

interface StepOfSandbox extends Pick<BegunStep, 'session' | 'generation'> {
  readonly step?: number | undefined;
}

/** Numbers of the recorded calls of steps that run, those of steps within them included. */
export class StepCalls {
  readonly #running = new Map<string, Set<number>>();

  begin({ generation, number, session }: BegunStep): void {
    this.#running.set(keyOf(session, generation, number), new Set());
  }

  /** Ignores steps that do not run: the sandbox says which step makes a call. */
  note({ generation, session, step }: StepOfSandbox, numbers: Iterable<number>): void {
    const noted = step === undefined ? undefined : this.#running.get(keyOf(session, generation, step));
    if (noted !== undefined) {
      for (const number of numbers) {
        noted.add(number);
      }
    }
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
