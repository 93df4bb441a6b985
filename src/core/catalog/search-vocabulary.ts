/** All words of all shelves, and which tools have them. */
import type { Posting, Shelf } from './search-shelf.ts';

export interface VocabularyEntry {
  readonly toolCount: number;
  /** See `lettersOf`. */
  readonly letters: number;
  readonly postings: ReadonlyMap<Shelf, Posting>;
}

/** By stem. */
export type Vocabulary = ReadonlyMap<string, VocabularyEntry>;

interface CountedEntry extends VocabularyEntry {
  toolCount: number;
  readonly postings: Map<Shelf, Posting>;
}

export class VocabularyBuilder {
  readonly #entries = new Map<string, CountedEntry>();

  get words(): Vocabulary {
    return this.#entries;
  }

  add(shelf: Shelf): void {
    for (const [stem, posting] of shelf.postings) {
      let entry = this.#entries.get(stem);
      if (entry === undefined) {
        entry = { toolCount: 0, letters: lettersOf(stem), postings: new Map() };
        this.#entries.set(stem, entry);
      }
      entry.toolCount += posting.places.length;
      entry.postings.set(shelf, posting);
    }
  }

  remove(shelf: Shelf): void {
    for (const stem of shelf.postings.keys()) {
      const entry = this.#entries.get(stem);
      entry?.postings.delete(shelf);
      if (entry?.postings.size === 0) {
        this.#entries.delete(stem);
      } else if (entry !== undefined) {
        entry.toolCount -= shelf.postings.get(stem)?.places.length ?? 0;
      }
    }
  }
}

/** The set of letters in a word: one bit for each letter of the alphabet; other characters share those bits. */
export function lettersOf(word: string): number {
  let letters = 0;
  for (let index = 0; index < word.length; index += 1) {
    letters |= 1 << (word.charCodeAt(index) & 31);
  }
  return letters;
}

/** Compares by code unit, so that the order is the same in every locale. */
export function compareText(left: string, right: string): number {
  if (left === right) {
    return 0;
  }
  return left < right ? -1 : 1;
}
