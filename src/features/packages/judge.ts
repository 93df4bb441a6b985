/** What is decided about a package before any person is asked: by the policy, the settings, and the list of common packages. */
import { BridgeError, toBridgeError } from '../../core/base/errors.ts';
import { type Decision, EFFECTS, type Effect } from '../../core/calls/contract.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { PackageRules, PackageVerdict } from '../../edges/terminal/command.ts';
import { COMMON_PACKAGES } from './common.ts';
import { parseRequirement, type Requirement } from './requirement.ts';

export type PackagesMode = Settings['packages'];

/**
 * What passes with a name that passes: releases as people state them. Local versions, `===`, extras and markers are texts of
 * any kind, so the person sees them first.
 */
const PLAIN_VERSIONS =
  /^(?:(?:^|,)(?:==|!=|<=|>=|~=|<|>)\d{1,8}(?:\.\d{1,8}){0,3}(?:\.\*|(?:a|b|rc|\.post|\.dev)\d{1,3})?)*$/;

export const NOT_COMMON = 'not in the list of common packages';
const NOT_PLAIN = 'only plain versions such as >=2,<3 are installed without asking';
const OTHER_VERSION = 'no rule of the policy allows this version';

/** The rules of the user's policy about packages. */
export type PackagePolicy = Pick<PackageRules, 'ofPackage'>;

export interface Judge {
  readonly mode: PackagesMode;
  /** The current policy; undefined if there is none. */
  readonly policy: PackagePolicy | undefined;
}

/** Who allows a request without a question: the list of common packages, a setting, or a rule of the policy. */
export type Allower = 'common' | 'setting' | 'policy';

/** The decision about looking a requirement up. */
export type LookUp = Decision &
  ({ readonly effect: 'allow'; readonly by: Allower } | { readonly effect: 'ask' | 'deny' });

export function judgeLookUp({ name, text }: Requirement, { mode, policy }: Judge): LookUp {
  const decision = policy?.ofPackage(name, undefined);
  if (decision?.effect === 'deny' || decision?.effect === 'ask') {
    return { effect: decision.effect, reason: decision.reason };
  }
  if (mode === 'any') {
    return { effect: 'allow', by: 'setting', reason: decision?.reason ?? 'MCP_BRIDGE_PACKAGES is any' };
  }
  if (decision === undefined && mode === 'ask') {
    return { effect: 'ask', reason: 'MCP_BRIDGE_PACKAGES is ask' };
  }
  if (decision === undefined && !COMMON_PACKAGES.has(name)) {
    return { effect: 'ask', reason: NOT_COMMON };
  }
  if (!PLAIN_VERSIONS.test(text.slice(name.length))) {
    return { effect: 'ask', reason: NOT_PLAIN };
  }
  return decision === undefined
    ? { effect: 'allow', by: 'common', reason: 'it is in the list of common packages' }
    : { effect: 'allow', by: 'policy', reason: decision.reason };
}

/**
 * The decision about a version that was chosen; undefined if it follows from what was allowed.
 *
 * @param isWanted whether it was asked for, and is not only needed by another package.
 */
export function judgeChosen(name: string, version: string, isWanted: boolean, judge: Judge): Decision | undefined {
  const { mode, policy } = judge;
  const decision = policy?.ofPackage(name, version);
  // A rule that allows some versions let the name be looked up; this is another version.
  const isOther =
    decision === undefined &&
    isWanted &&
    policy?.ofPackage(name, undefined)?.effect === 'allow' &&
    !(mode === 'any' || (mode === 'common' && COMMON_PACKAGES.has(name)));
  return isOther ? { effect: 'ask', reason: OTHER_VERSION } : decision;
}

export interface ExplainOptions {
  readonly mode: PackagesMode;
  readonly rules: PackageRules | undefined;
  readonly preinstall: readonly string[];
}

/** What happens if code asks for a requirement, and why. Throws `USAGE_INVALID` for what is no requirement. */
export function explainPackage(text: string, { mode, preinstall, rules }: ExplainOptions): PackageVerdict {
  const wanted = parseTyped(text);
  const { name, text: requirement } = wanted;
  const judge = { mode, policy: rules };
  const isPreinstalled = preinstall
    .map(parseRequirement)
    .some((one) => one.text === requirement || one.name === requirement);
  if (mode === 'off' && !isPreinstalled) {
    return { requirement, effects: ['deny'], reason: 'MCP_BRIDGE_PACKAGES is off' };
  }
  const first = isPreinstalled ? judgePreinstalled(name, judge) : judgeLookUp(wanted, judge);
  const [, version] = /^==([^*,;]+)$/.exec(requirement.slice(name.length)) ?? [];
  const ofName = rules?.rulesOfPackage(name) ?? [];
  const ofVersions = ofName.filter((rule) => rule.version !== undefined && !(isPreinstalled && rule.effect !== 'deny'));
  if (first.effect === 'deny' || ofVersions.length === 0) {
    return { requirement, effects: [first.effect], reason: first.reason };
  }
  if (version !== undefined) {
    const { effect, reason } = stricter(first, judgeChosen(name, version, !isPreinstalled, judge) ?? first);
    return { requirement, effects: [effect], reason };
  }
  const last = ofName.find((rule) => rule.version === undefined);
  const otherwise = isPreinstalled ? first : stricter(first, last ?? judgeLookUp(wanted, { mode, policy: undefined }));
  const effects = new Set<Effect>([...ofVersions.map((rule) => stricter(first, rule).effect), otherwise.effect]);
  const reasons = ofVersions.map((rule) => `${rule.reason} if its version is ${rule.version}`);
  return {
    requirement,
    effects: EFFECTS.filter((effect) => effects.has(effect)),
    reason: [...reasons, `otherwise ${otherwise.reason}`].join('; '),
  };
}

function parseTyped(text: string): Requirement {
  try {
    return parseRequirement(text);
  } catch (error) {
    const { hint, message } = toBridgeError(error);
    throw new BridgeError('USAGE_INVALID', message, { hint, cause: error });
  }
}

/** The user has allowed it. Only a denial by the policy is stricter. */
function judgePreinstalled(name: string, { policy }: Judge): Decision {
  const decision = policy?.ofPackage(name, undefined);
  return decision?.effect === 'deny' ? decision : { effect: 'allow', reason: 'MCP_BRIDGE_PREINSTALL names it' };
}

function stricter(one: Decision, other: Decision): Decision {
  return EFFECTS.indexOf(other.effect) > EFFECTS.indexOf(one.effect) ? other : one;
}
