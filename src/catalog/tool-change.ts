/** How a tool is shown if its definition differs from the accepted one. */
import type { KnownTool, ToolChange } from './known.ts';

/** `changed since 2026-11-21: description, input schema`, or `not accepted yet`. */
export function describeChange({ parts, since }: ToolChange): string {
  return parts.length === 0 ? 'not accepted yet' : `changed since ${since}: ${parts.join(', ')}`;
}

/**
 * The tool with its change noted before its description. A refused tool loses all prose, which could give an agent
 * instructions. The names and types of its parameters stay, so that a call works as soon as a person accepts the tool.
 */
export function withChange(tool: KnownTool, change: ToolChange, remedy: string): KnownTool {
  const words = describeChange(change);
  if (!change.isRefused) {
    return { ...tool, change, description: `[${words}]\n${tool.description}`.trim() };
  }
  const { name, wireName, inputSchema, hiddenTexts, fingerprint } = tool;
  return {
    name,
    ...(wireName === undefined ? {} : { wireName }),
    description: `[refused: ${words}] ${remedy}`,
    inputSchema: withoutProse(inputSchema) as KnownTool['inputSchema'],
    ...(hiddenTexts === undefined ? {} : { hiddenTexts }),
    ...(fingerprint === undefined ? {} : { fingerprint }),
    change,
  };
}

/** Keywords of JSON Schema whose members have names chosen by the server. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions']);
const PROSE: ReadonlySet<string> = new Set(['description', 'title', '$comment', 'examples', 'default']);

/** The schema without prose. Its depth was limited when it entered the catalog. */
function withoutProse(schema: unknown, isNamed = false): unknown {
  if (Array.isArray(schema)) {
    return schema.map((member) => withoutProse(member));
  }
  if (typeof schema !== 'object' || schema === null) {
    return schema;
  }
  const members = Object.entries(schema).filter(([key]) => isNamed || !PROSE.has(key));
  return Object.fromEntries(members.map(([key, member]) => [key, withoutProse(member, !isNamed && NAMED.has(key))]));
}
