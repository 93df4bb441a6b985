/**
 * The patterns of a policy that match nothing: misspelled names, mostly. A rule that matches nothing neither denies nor
 * allows, so it must be visible before someone relies on it.
 */
import { parametersOf } from '../../../core/catalog/parameters.ts';
import { argumentIn } from './conditions.ts';
import type { PolicyServer, PolicyTool } from './policy-call.ts';
import { type CompiledRule, compileRules } from './rules.ts';
import type { ReadPolicy } from './schema.ts';
import { mismatch, namesTool, type Selector, selectsServer } from './selectors.ts';

/** A configured server, disabled or not. */
export interface KnownServer {
  readonly server: PolicyServer;
  /** Its tools and MCP methods; undefined if its tools are not known yet. */
  readonly tools: readonly PolicyTool[] | undefined;
}

export interface Unmatched {
  /** `rules[1]`, `limits[0]` or `profiles.research`. */
  readonly place: string;
  /** One clause. */
  readonly text: string;
}

/** @param servers all servers that the policy applies to. */
export function unmatchedIn(read: ReadPolicy, servers: readonly KnownServer[]): Unmatched[] {
  if (!('policy' in read)) {
    return [];
  }
  const { policy, place } = read;
  const about = (list: 'rules' | 'limits', selectors: readonly Selector[]): Unmatched[] =>
    selectors.flatMap((selector, index) => {
      return faultsOf(selector, servers).map((text) => ({ place: `${list}[${index}]`, text }));
    });
  const rules = compileRules(policy, place).slice(0, policy.rules.length);
  const unknownArguments = rules.flatMap((rule, index) => {
    return argumentFaultsOf(rule, servers).map((text) => ({ place: `rules[${index}]`, text }));
  });
  const inProfiles = Object.entries(policy.profiles ?? {}).flatMap(([name, profile]) => {
    const selector = { server: profile.servers, tool: profile.tools, isQualified: true };
    return faultsOf(selector, servers).map((text) => ({ place: `profiles.${name}`, text }));
  });
  return [...about('rules', rules), ...unknownArguments, ...about('limits', policy.limits), ...inProfiles];
}

function faultsOf(selector: Selector, servers: readonly KnownServer[]): string[] {
  const unknown = (selector.server ?? [])
    .filter((pattern) => !servers.some(({ server }) => selectsServer({ server: [pattern] }, server)))
    .map((pattern) => `no configured server matches '${pattern}'`);
  const selected = servers.filter(({ server }) => selectsServer(selector, server));
  if (selected.length === 0) {
    return unknown;
  }
  const unnamed = (selector.tool ?? [])
    .filter((pattern) => !selected.some((known) => mayName(pattern, selector, known)))
    .map((pattern) => `no known tool matches '${pattern}'`);
  const faults = [...unknown, ...unnamed];
  return faults.length === 0 && excludesAll(selector, selected) ? [NO_HINTS] : faults;
}

/** Conditions on arguments that none of the rule's tools has, if all of these are known and take no others. */
function argumentFaultsOf(rule: CompiledRule, servers: readonly KnownServer[]): string[] {
  const selected = servers.filter(({ server }) => selectsServer(rule, server));
  const tools = selected.flatMap(({ server, tools: known = [] }) => {
    return known.filter((tool) => mismatch(rule, server, tool) === undefined);
  });
  if (tools.length === 0 || selected.some(({ tools: known }) => known === undefined)) {
    return [];
  }
  return rule.conditions
    .map(([key]) => (key.startsWith('/') ? argumentIn(key) : key))
    .filter((name) => !tools.some((tool) => mayTake(tool, name)))
    .map((name) => `no known tool of the rule has an argument '${name}'`);
}

function mayTake({ inputSchema, isMethod }: PolicyTool, name: string): boolean {
  const { list, isOpen } = parametersOf(inputSchema);
  const isKnown = list.some((parameter) => parameter.name === name || parameter.alias === name);
  return isMethod === true ? METHOD_ARGUMENTS.has(name) : isOpen || isKnown;
}

/** The bridge itself names the arguments of methods. */
const METHOD_ARGUMENTS: ReadonlySet<string> = new Set(['uri', 'name', 'arguments']);

const NO_HINTS = 'no known tool matches both its names and its annotations';

/** Whether every tool is known, and the annotations match none that the rest of the selector names. */
function excludesAll(selector: Selector, selected: readonly KnownServer[]): boolean {
  const isNamed = selector.server !== undefined || selector.tool !== undefined;
  return (
    isNamed &&
    selector.annotations !== undefined &&
    selected.every(({ server, tools }) => tools?.every((tool) => mismatch(selector, server, tool) !== undefined))
  );
}

/** Whether the pattern names a tool of the server. If its tools are unknown, a pattern for another server does not. */
function mayName(pattern: string, selector: Selector, { server, tools }: KnownServer): boolean {
  if (tools !== undefined) {
    return tools.some((tool) => namesTool(pattern, selector, server, tool));
  }
  const dots = [...pattern.matchAll(/\./g)].map(({ index }) => index);
  return dots.length === 0 || dots.some((at) => selectsServer({ server: [pattern.slice(0, at)] }, server));
}
