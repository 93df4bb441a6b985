/** Explains what happens to a call, rule by rule, for people who want to know why. */
import { EFFECTS, type Effect } from '../../../core/calls/contract.ts';
import type { Policies } from './policies.ts';
import type { PolicyServer, PolicyTool } from './policy-call.ts';
import { type CompiledRule, ruleFor, verdictOf } from './rules.ts';
import { mismatch } from './selectors.ts';

export type Outcome = 'decides' | 'may decide' | 'passed over' | 'not reached';

export interface TracedRule {
  /** `rules[1] of FILE`. */
  readonly place: string;
  readonly effect: Effect;
  readonly outcome: Outcome;
  /** The reason for the outcome, if there is one to give. */
  readonly why: string | null;
}

export interface Explanation {
  /** Possible effects, from the least to the most strict; more than one if they depend on the arguments. */
  readonly effects: readonly Effect[];
  readonly reason: string;
  /** Whether the tool is hidden from code. */
  readonly isHidden: boolean;
  readonly rules: readonly TracedRule[];
  /** Places of the limits that apply to the call. */
  readonly limits: readonly string[];
}

/** @param given the arguments; undefined if they are not known. */
export function explain(
  policies: Policies | undefined,
  server: PolicyServer,
  tool: PolicyTool,
  given: Readonly<Record<string, unknown>> | undefined,
): Explanation {
  if (policies === undefined) {
    const reason = 'there is no policy, so every call is allowed';
    return { effects: ['allow'], reason, isHidden: false, rules: [], limits: [] };
  }
  const settled = policies.of(server, tool);
  const decision = settled.decision ?? settled.denied ?? (given && policies.decide({ server, tool, arguments: given }));
  const traced = policies.ruleSets(server.name).map(({ rules }) => trace(rules, server, tool, given));
  return {
    effects: decision === undefined ? possibleEffects(settled.rules) : [decision.effect],
    reason: decision?.reason ?? 'it depends on the arguments',
    isHidden: settled.denied !== undefined,
    rules: policies.problemOf(server.name) === undefined ? traced.flat() : [],
    limits: settled.limits.map(({ place }) => place),
  };
}

/** The effects that all policies together can have: each contributes its possible effects, and the strictest wins. */
function possibleEffects(sets: readonly (readonly CompiledRule[])[]): Effect[] {
  const mildestOfEach = sets.map((rules) => Math.min(...rules.map(({ effect }) => EFFECTS.indexOf(effect))));
  const mildest = Math.max(...mildestOfEach);
  const all = new Set(sets.flat().map(({ effect }) => effect));
  return EFFECTS.filter((effect, index) => all.has(effect) && index >= mildest);
}

function trace(
  rules: readonly CompiledRule[],
  server: PolicyServer,
  tool: PolicyTool,
  given: Readonly<Record<string, unknown>> | undefined,
): TracedRule[] {
  let isDecided = false;
  return rules.map((written): TracedRule => {
    const rule = ruleFor(written, tool);
    const { place, effect } = rule;
    if (isDecided) {
      return { place, effect, outcome: 'not reached', why: null };
    }
    const key = mismatch(rule, server, tool);
    if (key !== undefined) {
      return { place, effect, outcome: 'passed over', why: WHY_PASSED_OVER[key] };
    }
    const found = outcomeOf(rule, server, tool, given);
    isDecided = found.outcome === 'decides';
    return { place, effect, ...found };
  });
}

const WHY_PASSED_OVER = {
  server: 'it is for other servers',
  tool: 'it is for other tools',
  annotations: "the tool's annotations do not match",
} as const;

function outcomeOf(
  rule: CompiledRule,
  server: PolicyServer,
  tool: PolicyTool,
  given: Readonly<Record<string, unknown>> | undefined,
): Pick<TracedRule, 'outcome' | 'why'> {
  if (rule.conditions.length === 0) {
    return { outcome: 'decides', why: null };
  }
  if (given === undefined) {
    const names = rule.conditions.map(([key]) => `'${key}'`).join(', ');
    return { outcome: 'may decide', why: `it depends on ${names}` };
  }
  const verdict = verdictOf(rule, { server, tool, arguments: given });
  switch (verdict.is) {
    case 'yes':
      return { outcome: 'decides', why: null };
    case 'no':
      return { outcome: 'passed over', why: 'its conditions do not hold' };
    case 'unsure':
      return { outcome: 'may decide', why: verdict.why };
  }
}
