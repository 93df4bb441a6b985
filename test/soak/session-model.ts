/**
 * What one session must hold. Every cell counts a variable up and shows it with a word that only this session knows: a
 * state that is gone without a word, a cell that ran twice, and output of another session all show in that line.
 */
import { randomBytes } from 'node:crypto';
import type { Answer } from './world.ts';

const TOKEN = /TOKEN-[0-9a-f]{16}/g;
const HEADER = /^\[(\d+) (TOKEN-[0-9a-f]{16})\]$/;

export class SessionModel {
  readonly name: string;
  readonly #token = `TOKEN-${randomBytes(8).toString('hex')}`;
  /** What the variable may be now; more than one value after a cell whose answer nobody saw. */
  #counts: ReadonlySet<number> = new Set([0]);
  /** Cells since the last answer. */
  #unanswered = 0;
  /** The last answers in a few words, for the report of a violation. */
  #past: readonly string[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** The code with the lines that count and show. */
  wrap(code: string): string {
    return [
      "count_of_cells = globals().get('count_of_cells', 0) + 1",
      `word_of_session = globals().get('word_of_session', '${this.#token}')`,
      "print(f'[{count_of_cells} {word_of_session}]', flush=True)",
      code,
    ].join('\n');
  }

  /** What is wrong with an answer as far as the session's state goes. */
  judge(answer: Answer): string[] {
    const faults: string[] = [];
    const foreign = (answer.text.match(TOKEN) ?? []).filter((token) => token !== this.#token);
    if (foreign.length > 0) {
      faults.push(`session ${this.name} was shown ${foreign.join(', ')} of another session`);
    }
    const count = Number(HEADER.exec(answer.lines[0] ?? '')?.[1] ?? Number.NaN);
    const isToldLost = answer.notices.includes('State was lost');
    if (isToldLost) {
      // Cells that were cancelled since the loss have told nobody, and may have counted.
      this.#counts = new Set(Array.from({ length: this.#unanswered + 1 }, (_, possibly) => possibly));
    }
    this.#unanswered = 0;
    this.#remember(
      `${answer.status}${isToldLost ? ', told of a loss' : ''}, cell ${count}: ${answer.error.slice(0, 60)}`,
    );
    if (Number.isNaN(count)) {
      // The cell never began, or was ended before its first lines.
      this.#widen();
      return faults;
    }
    const possible = [...this.#counts].map((before) => before + 1);
    if (!possible.includes(count)) {
      const told = isToldLost ? 'the loss of state was told' : 'no loss of state was told';
      const past = this.#past.join(' | ');
      faults.push(
        `session ${this.name}: cell ${count} where ${possible.join(' or ')} was due, and ${told}; before: ${past}`,
      );
    }
    this.#counts = new Set([count]);
    return faults;
  }

  /** A cell was sent whose answer never came: it may have counted or not. */
  noteUnanswered(): void {
    this.#unanswered += 1;
    this.#widen();
    this.#remember('unanswered');
  }

  /** The code has thrown the state away itself. */
  noteReset(): void {
    this.#counts = new Set([0]);
    this.#remember('reset');
  }

  #widen(): void {
    this.#counts = new Set([...this.#counts].flatMap((count) => [count, count + 1]));
  }

  #remember(what: string): void {
    this.#past = [...this.#past, what].slice(-5);
  }
}
