/** Whether a condition holds, as far as that can be told from the arguments of a call. */

export type Verdict = { readonly is: 'yes' | 'no' } | { readonly is: 'unsure'; readonly why: string };

export const YES: Verdict = { is: 'yes' };
export const NO: Verdict = { is: 'no' };

/** @param why what stands in the way, to follow the name of the argument: `is missing`. */
export function unsure(why: string): Verdict {
  return { is: 'unsure', why };
}

/** Holds when all do; one that does not hold decides. */
export function all(verdicts: readonly Verdict[]): Verdict {
  return verdicts.find(({ is }) => is === 'no') ?? verdicts.find(({ is }) => is === 'unsure') ?? YES;
}

/** Holds when one does. */
export function any(verdicts: readonly Verdict[]): Verdict {
  return verdicts.find(({ is }) => is === 'yes') ?? verdicts.find(({ is }) => is === 'unsure') ?? NO;
}
