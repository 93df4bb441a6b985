/** The progress of one build, for every call that waits for it. Whoever joins later is told at once how far it is. */
import type { ToolProgress } from '../../core/session/cell-progress.ts';

type Listener = (progress: ToolProgress) => void;

export class SharedProgress {
  readonly #listeners = new Set<Listener>();
  #last: ToolProgress | undefined;

  report(progress: ToolProgress): void {
    this.#last = progress;
    this.#listeners.forEach((listener) => listener(progress));
  }

  /** Adds a listener, if there is one. Returns a function that removes it. */
  join(listener: Listener | undefined): () => void {
    if (listener === undefined) {
      return () => undefined;
    }
    this.#listeners.add(listener);
    if (this.#last !== undefined) {
      listener(this.#last);
    }
    return () => this.#listeners.delete(listener);
  }
}
