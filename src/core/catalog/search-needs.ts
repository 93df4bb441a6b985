/**
 * Splits a query that names several things into its needs: "read the sheet, plot it and send the chart". A part is a need of
 * its own only if it begins with a verb and says of what, so "list issues and pull requests" stays together.
 */
import { isVerb } from './search-lexicon.ts';
import { MAX_QUERY_CHARS } from './search-query.ts';
import { STOP_WORDS, searchWordsOf } from './search-words.ts';

/** By default a search returns five tools: one for each need, and the best for the whole query. */
const MAX_NEEDS = 4;
const SENTENCE_END = /[.!?;](?=\s|$)|[。！？；\n]/u;
const JOINT = /\s*,\s*(?:and\s|then\s)?|\s(?:and|then)\s(?:then\s)?/i;
/** Words that may come before the verb, besides stop words. */
const OPENERS: ReadonlySet<string> = new Set('first second third next later finally lastly please now'.split(' '));

/** The parts of the query that each ask for something, in order; fewer than two if it asks for one thing. */
export function needsOf(query: string): string[] {
  return query.slice(0, MAX_QUERY_CHARS).split(SENTENCE_END).flatMap(needsOfSentence).slice(0, MAX_NEEDS);
}

function needsOfSentence(sentence: string): string[] {
  const parts: string[] = [];
  for (const part of sentence.split(JOINT)) {
    const last = parts.at(-1);
    if (last !== undefined && !(isNeed(last) && isNeed(part))) {
      parts[parts.length - 1] = `${last}, ${part}`;
    } else {
      parts.push(part);
    }
  }
  return parts.filter(isNeed).map((part) => part.trim());
}

function isNeed(part: string): boolean {
  const [verb, ...others] = searchWordsOf(part).filter((word) => !STOP_WORDS.has(word) && !OPENERS.has(word));
  return verb !== undefined && isVerb(verb) && others.some((word) => !isVerb(word));
}
