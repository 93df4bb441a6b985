/** The rules of `policy.json` about Python packages. The first that matches decides; otherwise `MCP_BRIDGE_PACKAGES` does. */

import { meetsSpecifier } from '../../../core/base/package-versions.ts';
import type { Decision } from '../../../core/calls/contract.ts';
import { matchesGlob } from './globs.ts';
import { clauseOf } from './rules.ts';
import { type PackageRule, type PolicyPlace, placed } from './schema.ts';

/**
 * What the rules say about a package; undefined if none matches. Without a version, as before anything is looked up, a rule
 * about versions counts only if it allows: what is chosen is decided again before it is fetched.
 */
export function decidePackage(
  rules: readonly PackageRule[],
  place: PolicyPlace,
  name: string,
  version: string | undefined,
): Decision | undefined {
  const index = rules.findIndex((rule) => matches(rule, fold(name), version));
  const rule = rules[index];
  return rule && decisionOf(rule, index, place);
}

/** The rules that can decide about a name, in order, each with the versions that it is for; none after one for all versions. */
export function rulesOfPackage(
  rules: readonly PackageRule[],
  place: PolicyPlace,
  name: string,
): (Decision & { readonly version: string | undefined })[] {
  const found = rules.flatMap((rule, index) => {
    return isNamed(rule, fold(name)) ? { ...decisionOf(rule, index, place), version: rule.version } : [];
  });
  const last = found.findIndex(({ version }) => version === undefined);
  return last === -1 ? found : found.slice(0, last + 1);
}

function decisionOf({ effect, reason }: PackageRule, index: number, place: PolicyPlace): Decision {
  return { effect, reason: clauseOf(effect, placed(place, `packages[${index}]`), reason) };
}

function isNamed({ package: patterns }: PackageRule, name: string): boolean {
  return patterns.some((pattern) => matchesGlob(fold(pattern), name));
}

function matches(rule: PackageRule, name: string, version?: string): boolean {
  const { effect, version: specifier } = rule;
  if (!isNamed(rule, name)) {
    return false;
  }
  if (specifier === undefined || version === undefined) {
    return specifier === undefined || effect === 'allow';
  }
  // In doubt, the stricter outcome counts.
  return meetsSpecifier(version, specifier) ?? effect !== 'allow';
}

/** Names are the same if these texts are (PEP 503). */
function fold(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-');
}
