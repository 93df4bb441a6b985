/** Which calls a rule or a limit is about: by server, by tool, by what the server says that the tool does. */
import type { PolicyServer, PolicyTool } from './decision.ts';
import { matchesGlob } from './globs.ts';
import { hintsOf } from './hints.ts';
import type { Annotations } from './schema.ts';

export interface Selector {
  readonly server?: readonly string[] | undefined;
  readonly tool?: readonly string[] | undefined;
  readonly annotations?: Annotations | undefined;
}

/** Patterns that begin like this name methods of MCP, and never a tool. */
const METHOD_PATTERN = /^(?:resources|prompts)\//;

/** What keeps a selector from matching; undefined when it matches. */
export function selects(selector: Selector, server: PolicyServer, tool: PolicyTool): keyof Selector | undefined {
  if (!selectsServer(selector, server)) {
    return 'server';
  }
  if (selector.tool !== undefined && !namesTool(selector.tool, tool)) {
    return 'tool';
  }
  return selector.annotations === undefined || fitsHints(selector.annotations, tool) ? undefined : 'annotations';
}

export function selectsServer({ server: patterns }: Selector, server: PolicyServer): boolean {
  return patterns === undefined || names(patterns, server);
}

function namesTool(patterns: readonly string[], tool: PolicyTool): boolean {
  const ofKind = patterns.filter((pattern) => METHOD_PATTERN.test(pattern) === (tool.isMethod === true));
  return names(ofKind, tool);
}

/** By name or alias, in any case: a denial that depends on capitals would be missed too easily. */
function names(
  patterns: readonly string[],
  { name, alias }: { readonly name: string; readonly alias: string },
): boolean {
  const candidates = [name.toLowerCase(), alias.toLowerCase()];
  return patterns.some((pattern) => candidates.some((text) => matchesGlob(pattern.toLowerCase(), text)));
}

function fitsHints(wanted: Annotations, { annotations }: PolicyTool): boolean {
  const hints = hintsOf(annotations);
  return Object.entries(wanted).every(([hint, value]) => hints[hint as keyof typeof hints] === value);
}
