/** What `policy` prints for people: plain lines, no colors. */

import { escapeControls } from '../../core/base/log.ts';
import type { PackageVerdict } from '../../edges/terminal/command.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { ShownPolicy } from './rules/describe.ts';
import type { Explanation } from './rules/explain.ts';
import type { Unmatched } from './rules/unmatched.ts';

export function renderPolicies(policies: readonly ShownPolicy[]): string {
  if (policies.length === 0) {
    return 'There is no policy: every call is allowed.\n';
  }
  return policies
    .map(({ place, problem, about, rules, limits, packages, profiles, unmatched }) => {
      const title = `${place}, for ${about}:`;
      if (problem !== null) {
        return `${escapeControls(title)}\n  ${escapeControls(problem)}\n`;
      }
      const rows = rules.map(({ place: rule, effect, text }) => [`  ${rule}`, effect, text]);
      const bounds = limits.map(({ place: limit, text }) => [`  ${limit}`, 'limit', text]);
      const ofPackages = packages.map(({ place: rule, effect, text }) => [`  ${rule}`, effect, text]);
      const subsets = profiles.map(({ place: name, text }) => [`  ${name}`, 'profile', text]);
      return `${escapeControls(title)}\n${renderTable([...rows, ...bounds, ...ofPackages, ...subsets], '')}${renderUnmatched(unmatched)}`;
    })
    .join('\n');
}

function renderUnmatched(unmatched: readonly Unmatched[]): string {
  return unmatched.map(({ place, text }) => `warning: ${escapeControls(`${place}: ${text}`)}\n`).join('');
}

export function renderExplained(explained: ExplainedTool): string {
  const { server, tool, effects, reason, isHidden, hints, rules, limits, unmatched } = explained;
  const claims = Object.entries(hints)
    .filter(([, value]) => value)
    .map(([hint]) => hint);
  const facts = [
    `${server}.${tool}: ${effects.join(' or ')}`,
    `  because ${reason}`,
    ...(isHidden ? ['  hidden from code, because every call to it is denied'] : []),
    `  annotations: ${claims.length === 0 ? 'none' : claims.join(', ')}`,
    ...limits.map((limit) => `  limited by ${limit}`),
  ];
  const rows = rules.map(({ place, effect, outcome, why }) => [
    `  ${place}`,
    effect,
    why === null ? outcome : `${outcome}: ${why}`,
  ]);
  const table = rows.length === 0 ? '' : `\n${renderTable(rows, '')}`;
  return `${facts.map(escapeControls).join('\n')}\n${table}${renderUnmatched(unmatched)}`;
}

export function renderCalls(calls: readonly CheckedCall[], unknown: readonly string[]): string {
  const rows = calls.map(({ line, server, tool, effects, reason }) => [
    `line ${line}`,
    `${server}.${tool}`,
    effects.length === 0 ? 'fails' : effects.join(' or '),
    reason,
  ]);
  const more = unknown.map((clause) => `cannot be checked: ${escapeControls(clause)}\n`);
  return `${renderTable(rows, 'The code calls no tool.')}${more.join('')}`;
}

export function renderPackages(packages: readonly PackageVerdict[]): string {
  return renderTable(
    packages.map(({ effects, reason, requirement }) => [requirement, effects.join(' or '), reason]),
    '',
  );
}

/** A call in a piece of code and what would happen to it; also the JSON output. */
export interface CheckedCall {
  readonly line: number;
  readonly server: string;
  readonly tool: string;
  /** Null if they are not literals in the code. */
  readonly arguments: Readonly<Record<string, unknown>> | null;
  /** Empty if there is no such server or tool. */
  readonly effects: readonly string[];
  readonly reason: string;
}

/** The result of `explain` for a tool; also the JSON output. */
export interface ExplainedTool extends Explanation {
  readonly server: string;
  readonly tool: string;
  /** The tool's annotations with their defaults, as policies read them. */
  readonly hints: Readonly<Record<string, boolean>>;
  /** Patterns of all policies that match nothing that is known. */
  readonly unmatched: readonly Unmatched[];
}
