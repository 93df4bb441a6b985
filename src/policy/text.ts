/** What `policy` prints for people: plain lines, no colors. */

import { escapeControls } from '../base/log.ts';
import { renderTable } from '../terminal/text-table.ts';
import type { ShownPolicy } from './rules/describe.ts';
import type { Explanation } from './rules/trace.ts';

export function renderPolicies(policies: readonly ShownPolicy[]): string {
  if (policies.length === 0) {
    return 'There is no policy: every call is allowed.\n';
  }
  return policies
    .map(({ place, problem, about, rules, limits }) => {
      const title = `${place}, about ${about}:`;
      if (problem !== null) {
        return `${escapeControls(title)}\n  ${escapeControls(problem)}\n`;
      }
      const rows = rules.map(({ place: rule, effect, text }) => [`  ${rule}`, effect, text]);
      const bounds = limits.map(({ place: limit, text }) => [`  ${limit}`, 'limit', text]);
      return `${escapeControls(title)}\n${renderTable([...rows, ...bounds], '')}`;
    })
    .join('\n');
}

export function renderExplained(explained: ExplainedTool): string {
  const { server, tool, effects, reason, isHidden, hints, rules, limits } = explained;
  const said = Object.entries(hints)
    .filter(([, value]) => value)
    .map(([hint]) => hint);
  const facts = [
    `${server}.${tool}: ${effects.join(' or ')}`,
    `  because ${reason}`,
    ...(isHidden ? ['  hidden from code: no call of it can be made'] : []),
    `  counts as ${said.length === 0 ? 'none of the annotations' : said.join(', ')}`,
    ...limits.map((limit) => `  counted in ${limit}`),
  ];
  const rows = rules.map(({ place, effect, outcome, why }) => [
    `  ${place}`,
    effect,
    why === null ? outcome : `${outcome}: ${why}`,
  ]);
  return `${facts.map(escapeControls).join('\n')}\n${rows.length === 0 ? '' : `\n${renderTable(rows, '')}`}`;
}

export function renderCalls(calls: readonly CheckedCall[], unknown: readonly string[]): string {
  const rows = calls.map(({ line, server, tool, effects, reason }) => [
    `line ${line}`,
    `${server}.${tool}`,
    effects.length === 0 ? 'fails' : effects.join(' or '),
    reason,
  ]);
  const more = unknown.map((clause) => `not known: ${escapeControls(clause)}\n`);
  return `${renderTable(rows, 'The code names no tool.')}${more.join('')}`;
}

/** A call in a piece of code with what would happen to it; also the JSON. */
export interface CheckedCall {
  readonly line: number;
  readonly server: string;
  readonly tool: string;
  /** Null when reading the code does not tell them. */
  readonly arguments: Readonly<Record<string, unknown>> | null;
  /** Empty when there is no such server or tool. */
  readonly effects: readonly string[];
  readonly reason: string;
}

/** What `explain` tells of a tool; also the JSON. */
export interface ExplainedTool extends Explanation {
  readonly server: string;
  readonly tool: string;
  /** As a policy reads what the server says. */
  readonly hints: Readonly<Record<string, boolean>>;
}
