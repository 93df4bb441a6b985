/** What one session has answered: whether anything was lost, came twice, or belongs to someone else. */
import { readCheck } from './cells.ts';

export class Ledger {
  readonly secret: string;
  readonly #counts = new Set<number>();
  /** Cells that were sent and whose answers count. */
  #sent = 0;
  /** Cells without an answer: the bridge refused them, or the connection broke. They may have run. */
  #unanswered = 0;

  constructor(secret: string) {
    this.secret = secret;
  }

  sent(): void {
    this.#sent += 1;
  }

  unanswered(): void {
    this.#unanswered += 1;
  }

  /** Takes an answer; returns what is wrong with it. Answers may arrive in another order than the cells ran. */
  answered(text: string): string | undefined {
    const check = readCheck(text);
    if (check === undefined) {
      return `no check: ${text.slice(-300)}`;
    }
    if (check.secret !== this.secret) {
      return `the secret of another session: ${check.secret}`;
    }
    if (this.#counts.has(check.count)) {
      return `cell ${check.count} came twice`;
    }
    this.#counts.add(check.count);
    return undefined;
  }

  /** What is missing, once all cells were answered: the counts are 1, 2, 3 … without a gap. */
  missing(): string | undefined {
    const highest = Math.max(0, ...this.#counts);
    const gaps = highest - this.#counts.size;
    if (highest > this.#sent || gaps > this.#unanswered) {
      return `${this.#counts.size} of ${this.#sent} cells were counted, up to ${highest}`;
    }
    return undefined;
  }
}
