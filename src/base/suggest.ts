/** "Did you mean …?" for names that people and models type: servers, settings, commands, options. */

const MIN_SCORE = 0.5;
const MAX_SUGGESTIONS = 3;

/** The candidates most like `name`, best first, at most three; empty when none is near. */
async function closestNames(name: string, candidates: readonly string[], threshold: number): Promise<string[]> {
  // Loaded on demand: only a mistake needs it.
  const { search } = await import('fast-fuzzy');
  return search(name, [...candidates], { threshold }).slice(0, MAX_SUGGESTIONS);
}

/**
 * ` Did you mean X or Y?` (with the leading space), or an empty text when nothing is near. Long candidates that hold many
 * words are near to nearly everything: those want a higher `minScore`.
 */
export async function didYouMean(
  name: string,
  candidates: readonly string[],
  minScore: number = MIN_SCORE,
): Promise<string> {
  const names = (await closestNames(name, candidates, minScore)).map((candidate) => `'${candidate}'`);
  if (names.length === 0) {
    return '';
  }
  const last = names.pop();
  return ` Did you mean ${names.length === 0 ? last : `${names.join(', ')} or ${last}`}?`;
}
