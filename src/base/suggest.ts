/** "Did you mean …?" for mistyped names of servers, tools, settings, commands and options. */
import type { WorkBudget } from './work-budget.ts';

const MIN_SCORE = 0.5;
/** Half of a short name agrees with almost anything, so more of it must. */
const MIN_SCORE_SHORT = 0.6;
const SHORT_CHARS = 7;
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
  const find = (): string[] => search(name, [...candidates], { threshold }).slice(0, MAX_SUGGESTIONS);
  return budget === undefined ? find() : (budget.spend(find) ?? []);
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
  const threshold = name.length <= SHORT_CHARS ? Math.max(minScore, MIN_SCORE_SHORT) : minScore;
  const names = (await closestNames(name, candidates, threshold, budget)).map((candidate) => `'${candidate}'`);
  if (names.length === 0) {
    return '';
  }
  const last = names.pop();
  return ` Did you mean ${names.length === 0 ? last : `${names.join(', ')} or ${last}`}?`;
}
