/**
 * Full-text search for tools: ranked, and tolerant of word order, inflection, spelling and notation. Synonyms match, and words
 * that no tool has are corrected. Servers are added, replaced and removed one by one. Pure and deterministic. Loaded with the
 * first search, because the correction needs a library.
 */
import { needsOf } from './search-needs.ts';
import { readQuery } from './search-query.ts';
import { type Hit, type Library, rank, readTerms, Tally, type Term } from './search-rank.ts';
import { buildShelf, type SearchServer, type Shelf, type StemNote } from './search-shelf.ts';
import { meaningsOf, suggestionsFor } from './search-typos.ts';
import { type Vocabulary, VocabularyBuilder } from './search-vocabulary.ts';
import { Reader } from './search-words.ts';

export type { SearchServer, SearchTool } from './search-shelf.ts';

export interface SearchAnswer {
  /**
   * Best first. If the query names several things: the best hit for the whole of it, the best for each thing in the order of
   * the query, then the second best for each, and so on.
   */
  readonly hits: readonly Hit[];
  /** If even the best hit matches little of the query or of one thing in it: the words that match nothing, not even nearly. */
  readonly unmatched: readonly UnmatchedWord[];
}

export interface UnmatchedWord {
  readonly word: string;
  /** Words to try instead, most similar first; may be empty. */
  readonly nearest: readonly string[];
}

export interface SearchIndex {
  /** Adds a server, or replaces the one with that name. `pause` is awaited now and then. */
  put(server: SearchServer, pause: () => Promise<void>): Promise<void>;
  remove(server: string): void;
  /** The best `limit` tools. */
  search(query: string, limit: number): SearchAnswer;
}

/** If the best hit covers less of the query, it is no answer. Chosen. */
const GOOD_COVERAGE = 0.5;
/** Words that get suggestions, which take long to find. Chosen: more would not help. */
const MAX_UNMATCHED = 5;

export function createSearchIndex(): SearchIndex {
  const shelves = new Map<string, Shelf>();
  const vocabulary = new VocabularyBuilder();
  const reader = new Reader<StemNote>();
  let toolCount = 0;
  let tally = new Tally(toolCount);

  function remove(server: string): void {
    const shelf = shelves.get(server);
    if (shelf !== undefined) {
      shelves.delete(server);
      vocabulary.remove(shelf);
      toolCount -= shelf.tools.length;
    }
  }

  function library(): Library {
    if (tally.toolCount !== toolCount) {
      tally = new Tally(toolCount);
    }
    const { words } = vocabulary;
    return { shelves: [...shelves.values()], vocabulary: words, toolCount, tally, corrected: correctorFor(words) };
  }

  return {
    async put(server, pause) {
      const shelf = await buildShelf(server, reader, pause);
      remove(server.name);
      shelves.set(server.name, shelf);
      vocabulary.add(shelf);
      toolCount += shelf.tools.length;
    },
    remove,
    search(query, limit) {
      const everything = library();
      const whole = answer(query, everything, limit);
      const needs = needsOf(query);
      const named = needs.length < 2 ? [] : needs.map((need) => answer(need, everything, limit));
      return {
        hits: inTurn([whole, ...named].map(({ hits }) => hits)).slice(0, limit),
        unmatched: eachOnce([whole, ...named].flatMap(({ unmatched }) => unmatched)).slice(0, MAX_UNMATCHED),
      };
    },
  };
}

/** Corrects each word once. */
function correctorFor(vocabulary: Vocabulary): Library['corrected'] {
  const known = new Map<string, readonly string[]>();
  return (word) => {
    const meanings = known.get(word.text) ?? meaningsOf(word, vocabulary);
    known.set(word.text, meanings);
    return meanings;
  };
}

function answer(query: string, library: Library, limit: number): SearchAnswer {
  const question = readQuery(query, (stem) => library.vocabulary.has(stem));
  const terms = readTerms(question, library);
  const hits = rank(question, terms, library, limit);
  const isWeak = (hits[0]?.coverage ?? 0) < GOOD_COVERAGE;
  return { hits, unmatched: isWeak ? unmatchedWords(terms, library.vocabulary) : [] };
}

/** The first of each list, then the second of each, and so on; every tool once. No score is above that of the hit before. */
function inTurn(lists: readonly (readonly Hit[])[]): Hit[] {
  const merged = new Map<string, Hit>();
  const depth = Math.max(...lists.map((list) => list.length));
  let least = Number.POSITIVE_INFINITY;
  for (let place = 0; place < depth; place += 1) {
    for (const hit of lists.flatMap((list) => list[place] ?? [])) {
      const key = JSON.stringify([hit.server, hit.place]);
      if (!merged.has(key)) {
        least = Math.min(least, hit.score);
        merged.set(key, { ...hit, score: least });
      }
    }
  }
  return [...merged.values()];
}

function eachOnce(unmatched: readonly UnmatchedWord[]): UnmatchedWord[] {
  return [...new Map(unmatched.map((one) => [one.word, one])).values()];
}

function unmatchedWords(terms: readonly Term[], vocabulary: Vocabulary): UnmatchedWord[] {
  return terms
    .filter(({ meanings }) => meanings.size === 0)
    .slice(0, MAX_UNMATCHED)
    .map(({ word }) => ({ word: word.text, nearest: suggestionsFor(word.stem, vocabulary) }));
}
