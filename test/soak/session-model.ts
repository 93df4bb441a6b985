/**
 * The expected state of one session. Every cell increments a variable and prints it with a token that only this session knows, so that
 * line reveals a silent loss of state, a cell that ran twice, and output of another session.
 */
import { randomBytes } from 'node:crypto';
import type { Answer } from './world.ts';

const TOKEN = /TOKEN-[0-9a-f]{16}/g;
const HEADER = /^\[(\d+) (TOKEN-[0-9a-f]{16})\]$/;

export class SessionModel {
  readonly name: string;
  readonly #token = `TOKEN-${randomBytes(8).toString('hex')}`;
  /** Possible values of the variable; several after a cell without an answer. */
  #counts: ReadonlySet<number> = new Set([0]);
  /** Cells since the last answer. */
  #unanswered = 0;
  /** Summaries of the last answers, for the report of a violation. */
  #past: readonly string[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** The code, preceded by the lines that count and print. */
  wrap(code: string): string {
    return [
      "count_of_cells = globals().get('count_of_cells', 0) + 1",
      `word_of_session = globals().get('word_of_session', '${this.#token}')`,
      "print(f'[{count_of_cells} {word_of_session}]', flush=True)",
      code,
    ].join('\n');
  }

  /** What an answer reveals to be wrong with the session's state. */
  judge(answer: Answer): string[] {
    const faults: string[] = [];
    const foreign = (answer.text.match(TOKEN) ?? []).filter((token) => token !== this.#token);
    if (foreign.length > 0) {
      faults.push(`session ${this.name} got ${foreign.join(', ')} of another session`);
    }
    const count = Number(HEADER.exec(answer.lines[0] ?? '')?.[1] ?? Number.NaN);
    const isLossReported = answer.notices.includes('State was lost');
    if (answer.notices.includes('Restored ')) {
      // From a checkpoint after any earlier cell.
      const most = Math.max(...this.#counts) + this.#unanswered;
      this.#counts = new Set(Array.from({ length: most + 1 }, (_, possibly) => possibly));
    } else if (isLossReported) {
      // Cells that were cancelled since the loss had no answer, but may have counted.
      this.#counts = new Set(Array.from({ length: this.#unanswered + 1 }, (_, possibly) => possibly));
    }
    this.#unanswered = 0;
    this.#remember(
      `${answer.status}${isLossReported ? ', reported a loss' : ''}, cell ${count}: ${answer.error.slice(0, 60)}`,
    );
    if (Number.isNaN(count)) {
      // The cell never started, or ended before its first lines.
      this.#widen();
      return faults;
    }
    const possible = [...this.#counts].map((before) => before + 1);
    if (!possible.includes(count)) {
      const reported = isLossReported ? 'a loss of state was reported' : 'no loss of state was reported';
      const past = this.#past.join(' | ');
      faults.push(
        `session ${this.name}: cell ${count} instead of ${possible.join(' or ')}, and ${reported}; before: ${past}`,
      );
    }
    this.#counts = new Set([count]);
    return faults;
  }

  /** A cell got no answer, so it may or may not have counted. */
  noteUnanswered(): void {
    this.#unanswered += 1;
    this.#widen();
    this.#remember('unanswered');
  }

  /** The code discarded the state itself. */
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
