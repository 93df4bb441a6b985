/** Which calls a rule or limit matches: by server, by tool, and by the tool's annotations. */
import { matchesGlob } from './globs.ts';
import type { PolicyServer, PolicyTool } from './policy-call.ts';
import type { Annotations } from './schema.ts';

export interface Selector {
  readonly server?: readonly string[] | undefined;
  readonly tool?: readonly string[] | undefined;
  readonly annotations?: Annotations | undefined;
  /**
   * Whether a pattern with a dot names `server.tool` only, and not a tool whose own name has that dot. Otherwise a server
   * could name a tool `github.read` and be allowed what was meant for the server `github`.
   */
  readonly isQualified?: boolean | undefined;
}

/** Patterns that start like this name MCP methods, never a tool. */
const METHOD_PATTERN = /^(?:resources|prompts)\//;
/** The same after the name of a server. */
const QUALIFIED_METHOD_PATTERN = /\.(?:resources|prompts)\//;

/** The first key of the selector that does not match; undefined if all match. */
export function mismatch(
  selector: Selector,
  server: PolicyServer,
  tool: PolicyTool,
): 'server' | 'tool' | 'annotations' | undefined {
  if (!selectsServer(selector, server)) {
    return 'server';
  }
  if (selector.tool?.some((pattern) => namesTool(pattern, selector, server, tool)) === false) {
    return 'tool';
  }
  return selector.annotations === undefined || matchesHints(selector.annotations, tool) ? undefined : 'annotations';
}

export function selectsServer({ server: patterns }: Selector, server: PolicyServer): boolean {
  return patterns === undefined || names(patterns, server);
}

/** Whether the pattern names the tool, by its own name or as `server.tool`. */
export function namesTool(
  pattern: string,
  { isQualified = false }: Pick<Selector, 'isQualified'>,
  server: PolicyServer,
  tool: PolicyTool,
): boolean {
  const isMethod = tool.isMethod === true;
  const hasDot = pattern.includes('.');
  const isOwn = METHOD_PATTERN.test(pattern) === isMethod && !(hasDot && isQualified) && names([pattern], tool);
  return isOwn || (hasDot && QUALIFIED_METHOD_PATTERN.test(pattern) === isMethod && namesBoth(pattern, server, tool));
}

function namesBoth(pattern: string, server: PolicyServer, tool: PolicyTool): boolean {
  return [server.name, server.alias].some((name) => {
    return names([pattern], { name: `${name}.${tool.name}`, alias: `${name}.${tool.alias}` });
  });
}

/** By name or alias, ignoring case: a denial that depends on capitals would be too easy to get wrong. */
function names(
  patterns: readonly string[],
  { name, alias }: { readonly name: string; readonly alias: string },
): boolean {
  const candidates = [name.toLowerCase(), alias.toLowerCase()];
  return patterns.some((pattern) => candidates.some((text) => matchesGlob(pattern.toLowerCase(), text)));
}

function matchesHints(wanted: Annotations, { annotations }: PolicyTool): boolean {
  const hints = hintsOf(annotations);
  return Object.entries(wanted).every(([hint, value]) => hints[hint as keyof typeof hints] === value);
}

export type Hints = Required<{ [Key in keyof Annotations]: boolean }>;

/**
 * The server's claims about a tool (MCP `ToolAnnotations`), with the defaults of the specification. They are unchecked, so
 * if two contradict each other, the worse one counts.
 */
export function hintsOf(annotations: Readonly<Record<string, unknown>> = {}): Hints {
  const saysDestructive = annotations['destructiveHint'] === true;
  const readOnlyHint = annotations['readOnlyHint'] === true && !saysDestructive;
  return {
    readOnlyHint,
    destructiveHint: saysDestructive || (!readOnlyHint && annotations['destructiveHint'] !== false),
    idempotentHint: annotations['idempotentHint'] === true,
    openWorldHint: annotations['openWorldHint'] !== false,
  };
}
