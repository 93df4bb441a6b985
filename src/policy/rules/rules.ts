/**
 * The rules of one policy, in their order: the first that matches a call decides it. Where it cannot be told whether the
 * conditions of a rule hold, both ways are followed and the stricter decision counts, so that no doubt ever makes a policy
 * milder than it reads.
 */

import type { Decision, Effect } from '../../calls/contract.ts';
import { judgeCondition } from './conditions.ts';
import { type PolicyCall, type PolicyServer, type PolicyTool, stricter } from './decision.ts';
import type { Condition, Policy, Rule } from './schema.ts';
import { type Selector, selects, selectsServer } from './selectors.ts';
import { all, type Verdict, YES } from './verdict.ts';

/** Where a policy stands. */
export interface PolicyPlace {
  /** Absolute path. */
  readonly file: string;
  /** Where in the file; empty for all of it, else such as `mcpServers.files.policy`. */
  readonly path: string;
}

export interface CompiledRule extends Selector {
  readonly effect: Effect;
  readonly conditions: readonly (readonly [key: string, condition: Condition])[];
  /** `rules[1] of FILE`. */
  readonly place: string;
  /** The person's own words. */
  readonly reason: string | undefined;
  readonly decision: Decision;
}

/** The rules as `policy` has them, then its preset or default, which matches every call. */
export function compileRules(policy: Policy, place: PolicyPlace): CompiledRule[] {
  const written = policy.rules.map((rule, index) => compile(rule, placed(place, `rules[${index}]`)));
  return [...written, ...fallback(policy, place)];
}

/** The part of `rules` that may decide a call of the tool: those that match it, up to the first without conditions. */
export function rulesFor(rules: readonly CompiledRule[], server: PolicyServer, tool: PolicyTool): CompiledRule[] {
  const matching = rules.filter((rule) => selects(rule, server, tool) === undefined);
  const last = matching.findIndex(({ conditions }) => conditions.length === 0);
  return last < 0 ? matching : matching.slice(0, last + 1);
}

/** Whether the rules deny every call of the server, whatever its tools are. */
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

/** Decides a call by what `rulesFor` gave for its tool. */
export function decide(rules: readonly CompiledRule[], call: PolicyCall, from = 0): Decision {
  for (let index = from; index < rules.length; index += 1) {
    const rule = rules[index];
    const verdict = rule === undefined ? YES : verdictOf(rule, call);
    if (rule !== undefined && verdict.is === 'yes') {
      return rule.decision;
    }
    if (rule !== undefined && verdict.is === 'unsure') {
      const { effect, reason } = rule.decision;
      const doubtful = { effect, reason: `${reason}, as it cannot be told whether it applies: ${verdict.why}` };
      return stricter(decide(rules, call, index + 1), doubtful);
    }
  }
  return ALLOWED;
}

/** Whether the conditions of a rule that matches the tool hold; what is unsure names the argument. */
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
  return { effect, server, tool, annotations, conditions, place, reason, decision };
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
  const reason = `no rule of ${placed(place, undefined)} is about it`;
  return { ...compile({ effect: 'allow' }, placed(place, 'end')), decision: { effect: 'allow', reason } };
}

/** `rules[1] of FILE (mcpServers.files.policy)`. */
export function placed({ file, path }: PolicyPlace, what: string | undefined): string {
  return `${what === undefined ? '' : `${what} of `}${file}${path === '' ? '' : ` (${path})`}`;
}

const SAYS: Readonly<Record<Effect, string>> = {
  allow: 'allows it',
  ask: 'wants a person to be asked',
  deny: 'denies it',
};

function clauseOf(effect: Effect, place: string, reason: string | undefined): string {
  return `${place} ${SAYS[effect]}${reason === undefined ? '' : ` (${reason})`}`;
}
