/** How a tool is shown whose definition is not the one that was accepted. */
import type { KnownTool, ToolChange } from './known.ts';

/** `changed since 2026-11-21: description, input schema`, or that it was never accepted. */
export function describeChange({ parts, since }: ToolChange): string {
  return parts.length === 0 ? 'not accepted yet' : `changed since ${since}: ${parts.join(', ')}`;
}

/**
 * The tool with its change, which stands before its description wherever that is shown. Of a refused one, nothing is shown
 * that tells an agent what to do; names and types of its parameters stay, so that a call that was accepted meanwhile works.
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

/** Keys of JSON Schema whose members have names that the server chose. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions']);
const PROSE: ReadonlySet<string> = new Set(['description', 'title', '$comment', 'examples', 'default']);

/** A schema as deep as the intake lets it be, without texts for reading. */
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
