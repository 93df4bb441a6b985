/** Three-valued logic for conditions: whether one holds, or why that cannot be determined from the arguments of a call. */

export type Verdict = { readonly is: 'yes' | 'no' } | { readonly is: 'unsure'; readonly why: string };

export const YES: Verdict = { is: 'yes' };
export const NO: Verdict = { is: 'no' };

/** @param why the reason, as a predicate of the argument's name: `is missing`. */
export function unsure(why: string): Verdict {
  return { is: 'unsure', why };
}

/** Conjunction: a `no` outweighs an `unsure`. */
export function all(verdicts: readonly Verdict[]): Verdict {
  return verdicts.find(({ is }) => is === 'no') ?? verdicts.find(({ is }) => is === 'unsure') ?? YES;
}

/** Disjunction: a `yes` outweighs an `unsure`. */
export function any(verdicts: readonly Verdict[]): Verdict {
  return verdicts.find(({ is }) => is === 'yes') ?? verdicts.find(({ is }) => is === 'unsure') ?? NO;
}
