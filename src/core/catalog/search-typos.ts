/**
 * Finds matches for a word that no tool has: it may be misspelled, two words written as one, or the beginning of a longer
 * word.
 */
import { fuzzy } from 'fast-fuzzy';
import type { QueryWord } from './search-query.ts';
import { compareText, lettersOf, type Vocabulary } from './search-vocabulary.ts';
import { stemOf } from './search-words.ts';

const MIN_CHARS = 4;
/** Anything longer is not a word, and comparing it takes long. */
const MAX_CHARS = 32;
/** Words of at least this length may have two wrong letters, shorter ones have one. Measured on 311 queries. */
const TWO_MISTAKES_CHARS = 8;
const MAX_MEANINGS = 2;
const MIN_PART_CHARS = 3;
/** A short part of a compound word must occur in at least this many tools, otherwise the match is chance. */
const MIN_PART_TOOLS = 3;
const LONG_PART_CHARS = 4;
/** Words that are less alike are not suggested. Chosen: `click` is no misspelled `block`. */
const MIN_LIKENESS = 0.65;
const MAX_SUGGESTIONS = 3;
/** The vocabulary is already in plain lower case, and whole words are compared. */
const AS_THEY_ARE = { ignoreCase: false, ignoreSymbols: false, normalizeWhitespace: false, useSellers: false } as const;

/**
 * The stems of the vocabulary that an unknown word may stand for; empty if none is similar. Words with digits have none: they
 * are mostly ids.
 */
export function meaningsOf({ stem, text }: QueryWord, vocabulary: Vocabulary): string[] {
  if (stem.length < MIN_CHARS || stem.length > MAX_CHARS || /\d/.test(stem)) {
    return [];
  }
  const parts = splitInTwo(text, vocabulary);
  return parts.length > 0 ? parts : nearlyLike(stem, vocabulary);
}

/** Longer stems that begin with `stem`, most frequent first. */
export function stemsBeginning(stem: string, vocabulary: Vocabulary, limit: number): string[] {
  return stem.length < MIN_PART_CHARS
    ? []
    : mostUsed(
        [...vocabulary.keys()].filter((word) => word.startsWith(stem)),
        vocabulary,
      ).slice(0, limit);
}

/** Words of the vocabulary to try instead, most similar first. */
export function suggestionsFor(stem: string, vocabulary: Vocabulary): string[] {
  if (stem.length > MAX_CHARS || /\d/.test(stem)) {
    return [];
  }
  return wordsLike(stem, vocabulary, Math.ceil(stem.length * (1 - MIN_LIKENESS)))
    .filter((word) => word.length >= MIN_CHARS)
    .map((word) => ({ word, likeness: fuzzy(stem, word, AS_THEY_ARE) }))
    .filter(({ likeness }) => likeness >= MIN_LIKENESS)
    .toSorted((left, right) => right.likeness - left.likeness || compareText(left.word, right.word))
    .slice(0, MAX_SUGGESTIONS)
    .map(({ word }) => word);
}

/** `websearch` as `web` and `search`. */
function splitInTwo(text: string, vocabulary: Vocabulary): string[] {
  const isWord = (word: string) =>
    (vocabulary.get(word)?.toolCount ?? 0) >= (word.length >= LONG_PART_CHARS ? 1 : MIN_PART_TOOLS);
  for (let end = MIN_PART_CHARS; end <= text.length - MIN_PART_CHARS; end += 1) {
    const parts = [stemOf(text.slice(0, end)), stemOf(text.slice(end))];
    if (parts.every(isWord)) {
      return parts;
    }
  }
  return [];
}

function nearlyLike(stem: string, vocabulary: Vocabulary): string[] {
  let mistakes = stem.length >= TWO_MISTAKES_CHARS ? 2 : 1;
  let found: string[] = [];
  for (const word of wordsLike(stem, vocabulary, mistakes)) {
    if (word.length < MIN_PART_CHARS || /\d/.test(word)) {
      continue;
    }
    const longest = Math.max(stem.length, word.length);
    const distance = Math.round((1 - fuzzy(stem, word, AS_THEY_ARE)) * longest);
    if (distance < mistakes) {
      mistakes = distance;
      found = [];
    }
    if (distance === mistakes) {
      found.push(word);
    }
  }
  return mostUsed(found, vocabulary).slice(0, MAX_MEANINGS);
}

/**
 * The words within that many mistakes of `stem`, plus a few others. Filters by length, first or last letter, and the set of
 * letters, because comparing letter by letter takes a thousand times longer.
 */
function wordsLike(stem: string, vocabulary: Vocabulary, mistakes: number): string[] {
  const letters = lettersOf(stem);
  const found: string[] = [];
  for (const [word, entry] of vocabulary) {
    const hasAnEnd = word[0] === stem[0] || word.at(-1) === stem.at(-1);
    const isNear = hasAnEnd && Math.abs(word.length - stem.length) <= mistakes;
    if (isNear && bitCount(letters & ~entry.letters) <= mistakes && bitCount(entry.letters & ~letters) <= mistakes) {
      found.push(word);
    }
  }
  return found;
}

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) {
    count += 1;
  }
  return count;
}

function mostUsed(words: string[], vocabulary: Vocabulary): string[] {
  return words.toSorted(
    (left, right) =>
      (vocabulary.get(right)?.toolCount ?? 0) - (vocabulary.get(left)?.toolCount ?? 0) || compareText(left, right),
  );
}
