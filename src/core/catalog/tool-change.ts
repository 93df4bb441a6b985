/** How a tool is shown if its definition differs from the accepted one. */
import { isObject } from '../base/is-object.ts';
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

/** The keywords of JSON Schema that say which types a value may have. All others can hold text, for example in `enum`. */
const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const ALTERNATIVES = ['anyOf', 'oneOf', 'allOf'] as const;
/** A name that cannot hold much of a sentence. Chosen. */
const PLAIN_NAME = /^[\w.$@-]{1,64}$/;

/** What a schema says about types and the names of parameters. Its depth was limited when it entered the catalog. */
function withoutProse(schema: unknown): unknown {
  if (!isObject(schema)) {
    return schema === false ? false : {};
  }
  const { type, properties, required, items, additionalProperties } = schema;
  const types = [type].flat().filter((one) => TYPES.has(one));
  const kept = isObject(properties) ? Object.entries(properties).filter(([name]) => PLAIN_NAME.test(name)) : [];
  const names = new Set<unknown>(kept.map(([name]) => name));
  return {
    ...(types.length === 0 ? {} : { type: Array.isArray(type) ? types : types[0] }),
    ...(isObject(properties)
      ? { properties: Object.fromEntries(kept.map(([name, member]) => [name, withoutProse(member)])) }
      : {}),
    ...(Array.isArray(required) ? { required: required.filter((name) => names.has(name)) } : {}),
    ...(items === undefined ? {} : { items: withoutProse(items) }),
    ...(typeof additionalProperties === 'boolean' ? { additionalProperties } : {}),
    ...Object.fromEntries(
      ALTERNATIVES.flatMap((key) => {
        const members = schema[key];
        return Array.isArray(members) ? [[key, members.map((member) => withoutProse(member))]] : [];
      }),
    ),
  };
}
