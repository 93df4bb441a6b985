/**
 * The rules of one policy, in order: the first that matches a call decides it. If the conditions of a rule cannot be
 * checked, both outcomes are followed and the stricter decision wins, so doubt never makes a policy more permissive than it reads.
 */

import { type Decision, EFFECTS, type Effect, isReadOnly } from '../../../core/calls/contract.ts';
import { judgeCondition } from './conditions.ts';
import type { PolicyCall, PolicyServer, PolicyTool } from './policy-call.ts';
import { type Condition, type Policy, type PolicyPlace, placed, type Rule } from './schema.ts';
import { mismatch, type Selector, selectsServer } from './selectors.ts';
import { all, type Verdict, YES } from './verdict.ts';

export interface CompiledRule extends Selector {
  readonly effect: Effect;
  readonly conditions: readonly (readonly [key: string, condition: Condition])[];
  /** `rules[1] of FILE`. */
  readonly place: string;
  /** The `reason` that the user wrote. */
  readonly reason: string | undefined;
  readonly decision: Decision;
  /** What a rule for dry runs says about tools that only read, which are called: as strict as a rule that allows them. */
  readonly forReading?: CompiledRule | undefined;
}

/** The rules of `policy`, then its preset or default, which matches every call. */
export function compileRules(policy: Policy, place: PolicyPlace): CompiledRule[] {
  const isForAll = place.path === '';
  const written = policy.rules.map((rule, index) => {
    const compiled = compile(rule, placed(place, `rules[${index}]`));
    const isQualified = rule.server === undefined && isForAll;
    const { forReading } = compiled;
    return {
      ...compiled,
      isQualified: isQualified && rule.effect === 'allow',
      forReading: forReading && { ...forReading, isQualified },
    };
  });
  return [...written, ...fallback(policy, place)];
}

/** The rules that can decide a call to the tool: those that match it, up to the first without conditions. */
export function rulesFor(rules: readonly CompiledRule[], server: PolicyServer, tool: PolicyTool): CompiledRule[] {
  const matching = rules
    .map((rule) => ruleFor(rule, tool))
    .filter((rule) => mismatch(rule, server, tool) === undefined);
  const last = matching.findIndex(({ conditions }) => conditions.length === 0);
  return last < 0 ? matching : matching.slice(0, last + 1);
}

/** The rule as it applies to a tool. */
export function ruleFor(rule: CompiledRule, tool: PolicyTool): CompiledRule {
  return rule.forReading !== undefined && isReadOnly(tool) ? rule.forReading : rule;
}

/** Whether the rules deny every call to the server, whatever its tools are. */
export function deniesServer(rules: readonly CompiledRule[], server: PolicyServer): boolean {
  for (const rule of rules.filter((candidate) => selectsServer(candidate, server))) {
    if (rule.effect !== 'deny') {
      return false;
    }
    if (rule.tool === undefined && rule.annotations === undefined && rule.conditions.length === 0) {
      return true;
    }
  }
  return false;
}

/** In the reason of a decision that a rule made although it may not apply. */
export const DOUBT = ', because its conditions cannot be checked: ';

/** Decides a call, given the result of `rulesFor` for its tool. */
export function decide(rules: readonly CompiledRule[], call: PolicyCall, from = 0): Decision {
  for (let index = from; index < rules.length; index += 1) {
    const rule = rules[index];
    const verdict = rule === undefined ? YES : verdictOf(rule, call);
    if (rule !== undefined && verdict.is === 'yes') {
      return rule.decision;
    }
    if (rule !== undefined && verdict.is === 'unsure') {
      const { effect, reason } = rule.decision;
      const doubtful = { effect, reason: `${reason}${DOUBT}${verdict.why}` };
      return stricter(decide(rules, call, index + 1), doubtful);
    }
  }
  return ALLOWED;
}

/** The stricter of two decisions, or `left` if they are equally strict. */
export function stricter(left: Decision, right: Decision): Decision {
  return EFFECTS.indexOf(right.effect) > EFFECTS.indexOf(left.effect) ? right : left;
}

/** Whether the conditions of a rule that matches the tool hold. An `unsure` verdict names the argument. */
export function verdictOf({ conditions }: CompiledRule, call: PolicyCall): Verdict {
  if (conditions.length === 0) {
    return YES;
  }
  return all(
    conditions.map(([key, condition]): Verdict => {
      const verdict = judgeCondition(key, condition, call);
      return verdict.is === 'unsure' ? { is: 'unsure', why: `the argument '${key}' ${verdict.why}` } : verdict;
    }),
  );
}

const ALLOWED: Decision = { effect: 'allow', reason: 'nothing denies it' };

function compile(rule: Rule, place: string): CompiledRule {
  const { effect, server, tool, annotations, reason } = rule;
  const conditions = Object.entries(rule.arguments ?? {});
  const decision = { effect, reason: clauseOf(effect, place, reason) };
  const compiled = { effect, server, tool, annotations, conditions, place, reason, decision };
  return effect === 'dry-run'
    ? { ...compiled, forReading: { ...compiled, ...readingAllowed(place, reason) } }
    : compiled;
}

function readingAllowed(place: string, reason: string | undefined): Pick<CompiledRule, 'effect' | 'decision'> {
  const clause = `${clauseOf('allow', place, reason)}, because its server marks it as read-only`;
  return { effect: 'allow', decision: { effect: 'allow', reason: clause } };
}

function fallback(policy: Policy, place: PolicyPlace): CompiledRule[] {
  if (policy.preset === undefined) {
    const { default: effect } = policy;
    return [effect === undefined ? endOf(place) : compile({ effect }, placed(place, '"default"'))];
  }
  const preset = placed(place, `preset "${policy.preset}"`);
  return policy.preset === 'read-only'
    ? [compile({ effect: 'allow', annotations: { readOnlyHint: true } }, preset), compile({ effect: 'deny' }, preset)]
    : [
        compile({ effect: 'ask', annotations: { destructiveHint: true } }, preset),
        compile({ effect: 'allow' }, preset),
      ];
}

function endOf(place: PolicyPlace): CompiledRule {
  const reason = `no rule of ${placed(place, undefined)} matches it`;
  return { ...compile({ effect: 'allow' }, placed(place, 'end')), decision: { effect: 'allow', reason } };
}

const SAYS: Readonly<Record<Effect, string>> = {
  allow: 'allows it',
  ask: 'asks for approval',
  'dry-run': 'makes it a dry run',
  deny: 'denies it',
};

/** What a rule says, as a clause. */
export function clauseOf(effect: Effect, place: string, reason: string | undefined): string {
  return `${place} ${SAYS[effect]}${reason === undefined ? '' : ` (${reason})`}`;
}
