/**
 * Questions that wait for a person. Each is asked in the client and can be answered over the API as well; whoever answers first counts.
 * If the operator does, the question in the client is withdrawn.
 */
import { randomBytes } from 'node:crypto';
import type { Person, Question, Reply } from '../../core/base/cell.ts';
import type { CellIdentity } from '../../core/session/events.ts';

export interface OpenQuestion {
  readonly id: string;
  readonly session: string;
  /** The cell that asks; undefined if it has not begun. */
  readonly cell: CellIdentity | undefined;
  /** Milliseconds since 1970. */
  readonly askedAt: number;
  readonly question: Question;
}

export interface QuestionObserver {
  asked(open: OpenQuestion): void;
  /** `by` is `nobody` if it was withdrawn, nobody answered in time, or the client failed. */
  answered(open: OpenQuestion, by: 'client' | 'operator' | 'nobody', reply: Reply | undefined): void;
}

interface Waiting extends OpenQuestion {
  readonly answer: (reply: Reply) => void;
}

export class Questions {
  readonly #open = new Map<string, Waiting>();
  readonly #observer: QuestionObserver;

  constructor(observer: QuestionObserver) {
    this.#observer = observer;
  }

  /** The oldest first. */
  list(): readonly OpenQuestion[] {
    return [...this.#open.values()];
  }

  /** False if no such question waits. */
  answer(id: string, reply: Reply): boolean {
    const waiting = this.#open.get(id);
    waiting?.answer(reply);
    return waiting !== undefined;
  }

  /** The same person, whose questions are listed here with what `asker` says when they are asked. */
  watch(person: Person, asker: () => Pick<OpenQuestion, 'session' | 'cell'>): Person {
    return {
      opensPages: person.opensPages,
      ask: (question, signal) => this.#ask(person, asker(), question, signal),
    };
  }

  async #ask(
    person: Person,
    asker: Pick<OpenQuestion, 'session' | 'cell'>,
    question: Question,
    signal: AbortSignal,
  ): Promise<Reply> {
    const inClient = new AbortController();
    const withdraw = (): void => inClient.abort(signal.reason);
    signal.addEventListener('abort', withdraw, { once: true });
    const open: OpenQuestion = { id: randomBytes(6).toString('hex'), ...asker, askedAt: Date.now(), question };
    const here = new Promise<Answered>((resolve) => {
      const answer = (reply: Reply): void => {
        // From now on, no other answer counts.
        this.#open.delete(open.id);
        resolve({ by: 'operator', reply });
      };
      this.#open.set(open.id, { ...open, answer });
    });
    this.#observer.asked(open);
    let first: Answered | undefined;
    try {
      const there = person.ask(question, inClient.signal).then((reply): Answered => ({ by: 'client', reply }));
      first = await Promise.race([here, there]);
      return first.reply;
    } finally {
      this.#open.delete(open.id);
      signal.removeEventListener('abort', withdraw);
      if (first?.by === 'operator') {
        inClient.abort();
      }
      this.#observer.answered(open, first?.by ?? 'nobody', first?.reply);
    }
  }
}

interface Answered {
  readonly by: 'client' | 'operator';
  readonly reply: Reply;
}
