/**
 * Ranks tools by how well they match a query. First, every word of the query adds to the score of the tools that have it or a
 * synonym of it (BM25F, Robertson and Zaragoza 2009). Then the best are examined closely: does the query contain the tool's
 * whole name, are its words adjacent in the tool's text, is the action the same? All numbers below were tuned together on 311
 * queries over 2,700 real tools, always with a half or a quarter of them held out (docs/internals/decisions/015-tool-search.md).
 */
import { actionFit, synonymsOf } from './search-lexicon.ts';
import type { Query, QueryWord } from './search-query.ts';
import type { Shelf, ShelfTool } from './search-shelf.ts';
import { stemsBeginning } from './search-typos.ts';
import { compareText, type Vocabulary } from './search-vocabulary.ts';

export interface Hit {
  readonly server: string;
  /** The index of the tool in the list of its server. */
  readonly place: number;
  readonly name: string;
  /** Higher is better. Comparable only within one answer. */
  readonly score: number;
  /** The share of the query that the tool matches, 0 to 1. */
  readonly coverage: number;
}

/** What a match is worth compared with a match of the exact word. */
const SYNONYM = 0.4;
const REPAIRED = 0.9;
const BEGINNING = 0.5;
const WRITTEN_TOGETHER = 0.4;
/** Rare words count more, but less so than in plain BM25. */
const RARITY_POWER = 0.7;
/** How much a word that no tool has counts in the coverage. */
const UNKNOWN_RARITY = 2.6;
const NAME_BONUS = 0.7;
const COVERAGE_BONUS = 0.8;
const ACTION_BONUS = 0.2;
const PAIR_BONUS = 0.3;
/** For the coverage, a match counts as a full one from this share of the word's worth on, even in a field of low weight. */
const FULL_MATCH_SHARE = 0.5;
/** How many of the best tools are examined closely. */
const CLOSE_LOOKS = 200;
const LEVELS = 1_000;
const MAX_BEGINNINGS = 8;
/** Words to correct. Limited, because each is compared with the whole vocabulary. */
const MAX_REPAIRS = 8;

/** Everything that can be searched. */
export interface Library {
  readonly shelves: readonly Shelf[];
  readonly vocabulary: Vocabulary;
  readonly toolCount: number;
  /** For the scores of `toolCount` tools, one query after the other. */
  readonly tally: Tally;
  /** See `meaningsOf`; kept for the parts of a query, because it takes the longest. */
  readonly corrected: (word: QueryWord) => readonly string[];
}

/** A word of the query with everything it may match. */
export interface Term {
  readonly word: QueryWord;
  /** Stems in the vocabulary, each with its worth; empty if no tool has anything similar. */
  readonly meanings: ReadonlyMap<string, number>;
  /** The most likely of them. */
  readonly stem: string;
}

export function readTerms({ words }: Query, { vocabulary, corrected }: Library): Term[] {
  let repairs = 0;
  return words.map((word) => {
    const isKnown = vocabulary.has(word.stem);
    repairs += isKnown ? 0 : 1;
    const stems = isKnown || repairs > MAX_REPAIRS ? [] : corrected(word);
    const meanings = new Map<string, number>();
    const add = (stem: string, worth: number): void => {
      if (vocabulary.has(stem)) {
        meanings.set(stem, Math.max(worth, meanings.get(stem) ?? 0));
      }
    };
    for (const [stem, worth] of [[word.stem, 1] as const, ...stems.map((other) => [other, REPAIRED] as const)]) {
      add(stem, worth);
      synonymsOf(stem).forEach((other) => add(other, worth * SYNONYM));
    }
    if (meanings.size === 0 && repairs <= MAX_REPAIRS) {
      stemsBeginning(word.stem, vocabulary, MAX_BEGINNINGS).forEach((other) => add(other, BEGINNING));
    }
    return { word, meanings, stem: stems[0] ?? word.stem };
  });
}

/** The best `limit` tools, best first; ties are ordered by server and name. */
export function rank(query: Query, terms: readonly Term[], library: Library, limit: number): Hit[] {
  const rarity = rarityIn(library);
  const look = closeLook(query, terms, rarity);
  const found = scoreTools(terms, library, rarity);
  const best: Hit[] = [];
  let start = 0;
  let next = 0;
  const promising = mostPromising(found);
  for (const { server, tools } of library.shelves) {
    for (let at = promising[next]; at !== undefined && at < start + tools.length; at = promising[next]) {
      next += 1;
      const tool = tools[at - start];
      const coverage = found.coverage[at] ?? 0;
      const score = tool === undefined ? 0 : look(tool, found.scores[at] ?? 0, coverage);
      // Made only then: hundreds are looked at.
      if (tool !== undefined && (best.length < limit || score >= (best.at(-1)?.score ?? 0))) {
        keepBest(best, { server, place: at - start, name: tool.name, coverage, score }, limit);
      }
    }
    start += tools.length;
  }
  return best;
}

/** Puts a hit into its place among the best, if it is one. Thousands of tools may be equal, and sorting them takes longest. */
function keepBest(best: Hit[], hit: Hit, limit: number): void {
  const last = best.at(-1);
  if (best.length >= limit && last !== undefined && compareHits(last, hit) <= 0) {
    return;
  }
  let place = best.length;
  for (let other = best[place - 1]; other !== undefined && compareHits(hit, other) < 0; other = best[place - 1]) {
    place -= 1;
  }
  best.splice(place, 0, hit);
  best.length = Math.min(best.length, limit);
}

function compareHits(left: Hit, right: Hit): number {
  return right.score - left.score || compareText(left.server, right.server) || compareText(left.name, right.name);
}

type Rarity = (stem: string) => number;

function rarityIn({ vocabulary, toolCount }: Library): Rarity {
  const known = new Map<string, number>();
  return (stem) => {
    let rarity = known.get(stem);
    if (rarity === undefined) {
      const having = vocabulary.get(stem)?.toolCount ?? 0;
      rarity = having === 0 ? 0 : Math.log(1 + (toolCount - having + 0.5) / (having + 0.5)) ** RARITY_POWER;
      known.set(stem, rarity);
    }
    return rarity;
  };
}

/** One number per tool, over all shelves in order. Valid until the tally begins the next query. */
interface Scores {
  readonly scores: Float64Array;
  /** How much of the query the tool matches, 0 to 1. */
  readonly coverage: Float64Array;
  /** The tools with a score, in any order. */
  readonly scored: Int32Array;
  /** Room for a number for each of these. */
  readonly promises: Float64Array;
}

function scoreTools(terms: readonly Term[], library: Library, rarity: Rarity): Scores {
  const { tally } = library;
  tally.begin(library);
  const worths = terms.map(({ word }) => word.weight * (rarity(word.stem) || UNKNOWN_RARITY));
  const wanted = worths.reduce((sum, worth) => sum + worth, 0);
  for (const [index, { word, meanings }] of terms.entries()) {
    meanings.forEach((share, stem) => tally.offer(stem, word.weight * share * rarity(stem)));
    tally.settle((worths[index] ?? 0) / wanted);
  }
  for (const { stem, weight } of writtenTogether(terms, library.vocabulary)) {
    tally.offer(stem, WRITTEN_TOGETHER * weight * rarity(stem));
    tally.settle(0);
  }
  return tally.result();
}

/**
 * Adds up what each word of the query is worth for each tool that has it; tools that have none cost nothing. Used again for each
 * query, because new memory takes longer than the sums.
 */
export class Tally {
  readonly toolCount: number;
  #vocabulary: Vocabulary = new Map();
  #starts: ReadonlyMap<Shelf, number> = new Map();
  readonly #scores: Float64Array;
  readonly #coverage: Float64Array;
  readonly #scored: Int32Array;
  readonly #promises: Float64Array;
  #scoredCount = 0;
  /** What the current word adds, and to which tools: if a tool has two of its meanings, only the better one counts. */
  readonly #gains: Float64Array;
  readonly #gaining: Int32Array;
  #gainingCount = 0;

  constructor(toolCount: number) {
    this.toolCount = toolCount;
    this.#scores = new Float64Array(toolCount);
    this.#coverage = new Float64Array(toolCount);
    this.#scored = new Int32Array(toolCount);
    this.#promises = new Float64Array(toolCount);
    this.#gains = new Float64Array(toolCount);
    this.#gaining = new Int32Array(toolCount);
  }

  /** Begins a query in a library of as many tools. */
  begin({ vocabulary, shelves }: Library): void {
    this.#vocabulary = vocabulary;
    this.#starts = startsOf(shelves);
    this.#scores.fill(0);
    this.#coverage.fill(0);
    this.#scoredCount = 0;
  }

  /** A meaning of the current word. */
  offer(stem: string, worth: number): void {
    for (const [shelf, { places, shares }] of this.#vocabulary.get(stem)?.postings ?? []) {
      const start = this.#starts.get(shelf) ?? 0;
      for (let index = 0; index < places.length; index += 1) {
        this.#gain(start + (places[index] ?? 0), worth * (shares[index] ?? 0));
      }
    }
  }

  #gain(tool: number, gain: number): void {
    const before = this.#gains[tool] ?? 0;
    if (gain <= before) {
      return;
    }
    this.#gains[tool] = gain;
    if (before === 0) {
      this.#gaining[this.#gainingCount] = tool;
      this.#gainingCount += 1;
    }
  }

  /** Ends the current word, which is `worth` so much of the query. */
  settle(worth: number): void {
    for (let index = 0; index < this.#gainingCount; index += 1) {
      const tool = this.#gaining[index] ?? 0;
      const gain = this.#gains[tool] ?? 0;
      const score = this.#scores[tool] ?? 0;
      if (score === 0) {
        this.#scored[this.#scoredCount] = tool;
        this.#scoredCount += 1;
      }
      this.#gains[tool] = 0;
      this.#scores[tool] = score + gain;
      this.#coverage[tool] = (this.#coverage[tool] ?? 0) + Math.min(worth, gain / FULL_MATCH_SHARE);
    }
    this.#gainingCount = 0;
  }

  result(): Scores {
    const scored = this.#scored.subarray(0, this.#scoredCount);
    const promises = this.#promises.subarray(0, this.#scoredCount);
    return { scores: this.#scores, coverage: this.#coverage, scored, promises };
  }
}

/** The index of each shelf's first tool when all shelves are in a row. */
function startsOf(shelves: readonly Shelf[]): Map<Shelf, number> {
  let start = 0;
  return new Map(
    shelves.map((shelf) => {
      const own = start;
      start += shelf.tools.length;
      return [shelf, own];
    }),
  );
}

/** Adjacent words that tools may write as one: `appservice` for `app service`. */
function writtenTogether(terms: readonly Term[], vocabulary: Vocabulary): { stem: string; weight: number }[] {
  const words = terms.map((term) => term.word);
  return words.flatMap((word, index) => {
    const [next, afterNext] = words.slice(index + 1, index + 3);
    const found: { stem: string; weight: number }[] = [];
    if (next !== undefined) {
      found.push({ stem: word.text + next.stem, weight: Math.min(word.weight, next.weight) });
    }
    if (next !== undefined && afterNext !== undefined) {
      const weight = Math.min(word.weight, afterNext.weight);
      found.push({ stem: word.text + next.text + afterNext.stem, weight });
    }
    return found.filter(({ stem }) => vocabulary.has(stem));
  });
}

/** The tools that can still be among the best after the close look, in order. */
function mostPromising({ scores, coverage, scored, promises }: Scores): number[] {
  let highest = 0;
  for (let index = 0; index < scored.length; index += 1) {
    const tool = scored[index] ?? 0;
    const promise = (scores[tool] ?? 0) * (1 + COVERAGE_BONUS * (coverage[tool] ?? 0));
    promises[index] = promise;
    highest = promise > highest ? promise : highest;
  }
  const least = levelOfBest(promises, highest);
  const best: number[] = [];
  for (let index = 0; index < scored.length; index += 1) {
    if ((promises[index] ?? 0) >= least) {
      best.push(scored[index] ?? 0);
    }
  }
  return best.toSorted((left, right) => left - right);
}

/** A threshold that at least `CLOSE_LOOKS` values reach, but not many more. Faster than sorting all of them. */
function levelOfBest(values: Float64Array, highest: number): number {
  const counts = new Uint32Array(LEVELS + 1);
  for (let index = 0; index < values.length; index += 1) {
    const level = Math.floor(((values[index] ?? 0) / highest) * LEVELS);
    counts[level] = (counts[level] ?? 0) + 1;
  }
  let level = LEVELS;
  for (let reached = counts[level] ?? 0; reached < CLOSE_LOOKS && level > 0; reached += counts[level] ?? 0) {
    level -= 1;
  }
  return (level / LEVELS) * highest;
}

function closeLook(query: Query, terms: readonly Term[], rarity: Rarity) {
  const asked = new Map<string, number>();
  for (const { word, meanings } of terms) {
    for (const [stem, worth] of meanings) {
      asked.set(stem, Math.max(asked.get(stem) ?? 0, worth * word.weight));
    }
  }
  const pairs = terms.slice(1).map((term, index) => {
    const before = terms[index] ?? term;
    const weight = Math.min(before.word.weight, term.word.weight);
    return { text: `${before.stem} ${term.stem} `, worth: weight * Math.max(rarity(before.stem), rarity(term.stem)) };
  });

  return (tool: ShelfTool, score: number, coverage: number): number => {
    const together = pairs.reduce((sum, { text, worth }) => sum + (hasWords(tool.lead, text) ? worth : 0), 0);
    const fit = query.action === undefined ? 0 : actionFit(query.action, tool.actions);
    return (
      (score + PAIR_BONUS * together) *
      (1 + NAME_BONUS * nameShare(tool, asked, rarity)) *
      (1 + COVERAGE_BONUS * coverage) *
      (1 + ACTION_BONUS * fit)
    );
  };
}

/** Whether a text of words between spaces has these, which end with a space. Not by a space before them: that would be found too often. */
function hasWords(text: string, words: string): boolean {
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + 1)) {
    if (text[at - 1] === ' ') {
      return true;
    }
  }
  return false;
}

/** How much of the tool's name the query contains, 0 to 1; rare words count more. */
function nameShare(tool: ShelfTool, asked: ReadonlyMap<string, number>, rarity: Rarity): number {
  let all = 0;
  let found = 0;
  for (const word of tool.nameStems) {
    const worth = rarity(word);
    all += worth;
    found += worth * (asked.get(word) ?? 0);
  }
  return all === 0 ? 0 : found / all;
}
