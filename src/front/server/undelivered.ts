/** Answers of cells that no request got, kept for the next one of their session, and for a later bridge. */
import type { ShownAnswer } from '../../core/base/cell.ts';
import { counted } from '../../core/base/units.ts';
import { renderText } from '../../core/render/render.ts';

/** Answers kept, of all sessions; the oldest is dropped first. Each has up to 6 MB. Chosen. */
const MAX_KEPT = 16;
/** Characters of one that another answer repeats. Chosen. */
const MAX_REPEATED_CHARS = 2_000;

interface Kept {
  readonly answer: ShownAnswer;
  readonly why: string;
}

export class Undelivered {
  #kept: readonly Kept[] = [];
  /** How many were dropped since an answer has said so. */
  #dropped = 0;
  readonly #keep: (session: string, texts: readonly string[]) => void;

  /** @param keep gets the texts of a session whenever they have changed, for a later bridge. */
  constructor(keep: (session: string, texts: readonly string[]) => void = () => undefined) {
    this.#keep = keep;
  }

  /** @param why no request got it, a clause. */
  add(answer: ShownAnswer, why: string): void {
    const all = [...this.#kept, { answer, why }];
    this.#dropped += Math.max(0, all.length - MAX_KEPT);
    this.#setKept(all.slice(-MAX_KEPT));
  }

  /** The oldest of a session, as it is. */
  takeOldest(session: string): ShownAnswer | undefined {
    const oldest = this.#kept.find(({ answer }) => answer.session === session);
    this.#setKept(this.#kept.filter((kept) => kept !== oldest));
    return oldest?.answer;
  }

  /** The answer with a notice for each that was kept for its session, and one for those that were dropped. */
  addTo(answer: ShownAnswer): ShownAnswer {
    if (this.#kept.length === 0 && this.#dropped === 0) {
      return answer;
    }
    const isOfSession = (kept: Kept): boolean => kept.answer.session === answer.session;
    const notices = [
      ...(this.#dropped === 0 ? [] : [describeDropped(this.#dropped)]),
      ...this.#kept.filter(isOfSession).map(({ answer: kept, why }) => describe(kept, why)),
    ];
    this.#setKept(this.#kept.filter((kept) => !isOfSession(kept)));
    this.#dropped = 0;
    return { ...answer, notices: [...notices, ...answer.notices] };
  }

  #setKept(kept: readonly Kept[]): void {
    const isChanged = (one: Kept): boolean => !(kept.includes(one) && this.#kept.includes(one));
    const changed = new Set([...this.#kept, ...kept].filter(isChanged).map(({ answer }) => answer.session));
    this.#kept = kept;
    for (const session of changed) {
      const ofSession = kept.filter(({ answer }) => answer.session === session);
      this.#keep(
        session,
        ofSession.map(({ answer, why }) => describe(answer, why)),
      );
    }
  }
}

function describeDropped(count: number): string {
  return `${counted(count, 'answer')} ${count === 1 ? 'was' : 'were'} not delivered, and too many waited to be repeated.`;
}

function describe(answer: ShownAnswer, why: string): string {
  const which = answer.cell === undefined ? 'An earlier call' : `Cell ${answer.cell}`;
  const what = answer.status === 'running' ? 'goes on' : `ended with status ${answer.status}`;
  return `${which} ${what}; ${why}:\n${renderText(answer, MAX_REPEATED_CHARS)}`;
}
