/** "Did you mean …?" for mistyped names of servers, tools, settings, commands and options. */
import type { WorkBudget } from './work-budget.ts';

const MIN_SCORE = 0.5;
/**
 * A part of any length of a long candidate agrees with almost every short name ('nope' with the end of 'open_nodes'). So a short
 * name is compared with whole candidates and their words, and more of it must agree.
 */
const MIN_SCORE_SHORT = 0.65;
const SHORT_CHARS = 7;
/** Fragments up to this length are part of too many names. */
const MIN_PART_CHARS = 3;
const WORD_END = /[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u;
const MAX_SUGGESTIONS = 3;

/** The candidates most similar to `name`, best first, at most three; empty if none is similar enough. */
async function closestNames(
  name: string,
  candidates: readonly string[],
  threshold: number,
  budget: WorkBudget | undefined,
): Promise<string[]> {
  // Loaded on demand: it is needed only after a mistake.
  const { search } = await import('fast-fuzzy');
  const find = (): string[] => {
    if (name.length > SHORT_CHARS) {
      return search(name, [...candidates], { threshold }).slice(0, MAX_SUGGESTIONS);
    }
    const keySelector = (candidate: string): string[] => [candidate, ...candidate.split(WORD_END)];
    const near = search(name, [...candidates], {
      keySelector,
      useSellers: false,
      threshold: Math.max(threshold, MIN_SCORE_SHORT),
    });
    return [...new Set([...near, ...longerNames(name, candidates)])].slice(0, MAX_SUGGESTIONS);
  };
  return budget === undefined ? find() : (budget.spend(find) ?? []);
}

/** The candidates that contain `name`. */
function longerNames(name: string, candidates: readonly string[]): string[] {
  const part = name.toLowerCase();
  return part.length < MIN_PART_CHARS ? [] : candidates.filter((candidate) => candidate.toLowerCase().includes(part));
}

/**
 * ` Did you mean X or Y?` with a leading space, or an empty string if no candidate is similar. Long candidates of many words
 * resemble almost anything, so they need a higher `minScore`. If `budget` is used up, there is no suggestion.
 */
export async function didYouMean(
  name: string,
  candidates: readonly string[],
  minScore: number = MIN_SCORE,
  budget?: WorkBudget,
): Promise<string> {
  const names = (await closestNames(name, candidates, minScore, budget)).map((candidate) => `'${candidate}'`);
  if (names.length === 0) {
    return '';
  }
  const last = names.pop();
  return ` Did you mean ${names.length === 0 ? last : `${names.join(', ')} or ${last}`}?`;
}
