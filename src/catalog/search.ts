/**
 * Finds tools by words: ranked, whatever their order, form, spelling and way of writing; words of the same meaning
 * match, and words that no tool has are repaired. Servers are put in, replaced and taken out one by one. Pure and
 * deterministic; loaded with the first search, because the repair of words needs a library.
 */
import { readQuery } from './search-query.ts';
import { type Hit, type Library, rank, readTerms, type Term } from './search-rank.ts';
import { buildShelf, type SearchServer, type Shelf } from './search-shelf.ts';
import { suggestionsFor } from './search-typos.ts';
import { type Vocabulary, VocabularyBuilder } from './search-vocabulary.ts';
import { createReader } from './search-words.ts';

export type { SearchServer, SearchTool } from './search-shelf.ts';

export interface SearchAnswer {
  /** Best first. */
  readonly hits: readonly Hit[];
  /** When even the best hit has little of the query: the words that match nothing, not even nearly. */
  readonly unmatched: readonly UnmatchedWord[];
}

export interface UnmatchedWord {
  readonly word: string;
  /** Words of tools to try instead, most alike first; may be empty. */
  readonly nearest: readonly string[];
}

export interface SearchIndex {
  /** Puts a server in, in place of the one of that name; `pause` is awaited between tools. */
  put(server: SearchServer, pause: () => Promise<void>): Promise<void>;
  remove(server: string): void;
  /** The best `limit` tools. */
  search(query: string, limit: number): SearchAnswer;
}

/** A best hit with less of the query is no answer to it. Chosen. */
const GOOD_COVERAGE = 0.5;
/** Finding words to try instead takes long; nobody needs them for more. */
const MAX_UNMATCHED = 5;

export function createSearchIndex(): SearchIndex {
  const shelves = new Map<string, Shelf>();
  const vocabulary = new VocabularyBuilder();
  const read = createReader();
  let toolCount = 0;

  function remove(server: string): void {
    const shelf = shelves.get(server);
    if (shelf !== undefined) {
      shelves.delete(server);
      vocabulary.remove(shelf);
      toolCount -= shelf.tools.length;
    }
  }

  return {
    async put(server, pause) {
      const shelf = await buildShelf(server, read, pause);
      remove(server.name);
      shelves.set(server.name, shelf);
      vocabulary.add(shelf);
      toolCount += shelf.tools.length;
    },
    remove,
    search(query, limit) {
      const library: Library = { shelves: [...shelves.values()], vocabulary: vocabulary.words, toolCount };
      const question = readQuery(query, (stem) => library.vocabulary.has(stem));
      const terms = readTerms(question, library);
      const hits = rank(question, terms, library, limit);
      const isWeak = (hits[0]?.coverage ?? 0) < GOOD_COVERAGE;
      return { hits, unmatched: isWeak ? unmatchedWords(terms, library.vocabulary) : [] };
    },
  };
}

function unmatchedWords(terms: readonly Term[], vocabulary: Vocabulary): UnmatchedWord[] {
  return terms
    .filter(({ meanings }) => meanings.size === 0)
    .slice(0, MAX_UNMATCHED)
    .map(({ word }) => ({ word: word.text, nearest: suggestionsFor(word.stem, vocabulary) }));
}
