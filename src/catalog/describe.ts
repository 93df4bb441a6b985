/**
 * Servers and tools as code in the sandbox reads about them. The keys are those that programs written for the Python
 * bridge of the same name expect. What servers say about themselves is data: cut to a length, and without characters
 * that hide text from the reader.
 */
import type { CatalogServer, CatalogTool } from './catalog.ts';
import { assignAliases } from './names.ts';

export type Detail = 'summary' | 'full';

/** Longest description in a summary, in characters: about 125 tokens. */
const SUMMARY_CHARS = 500;
/** Longest description otherwise. Chosen: the longest of 1,084 real tools fits. */
const DESCRIPTION_CHARS = 20_000;
/** Largest input schema that is shown, in characters of JSON. Chosen: far above the largest of 1,084 real tools. */
const SCHEMA_CHARS = 256 * 1024;
/** Deepest level of a schema that is shown. The deepest of 1,084 real schemas has 21. */
const SCHEMA_DEPTH = 64;

/** Controls but tab and line end, zero-width and bidirectional marks, variation selectors 17 up, tag characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the purpose.
const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** One tool as `query_tool_docs` and `search_tool_docs` give it. */
export interface ToolDocument {
  readonly server: string;
  readonly serverAlias: string;
  readonly tool: string;
  readonly toolAlias: string;
  readonly description?: string;
  /** Only with detail `full`. */
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  /** Whether code of this session may call it now. */
  readonly loaded: boolean;
  /** How to make it callable; only when it is not. */
  readonly load?: string;
}

/** One tool as `describe_server` and `list_tools` give it. */
export interface ToolMetadata {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  readonly input_schema: Readonly<Record<string, unknown>>;
  /** Each parameter whose name is not a Python identifier, with the identifier that stands for it. */
  readonly parameter_aliases?: Readonly<Record<string, string>>;
}

export function describeTool(
  server: CatalogServer,
  tool: CatalogTool,
  options: { readonly detail: Detail; readonly isLoaded: boolean },
): ToolDocument {
  const isFull = options.detail === 'full';
  const description = cleanText(tool.description, isFull ? DESCRIPTION_CHARS : SUMMARY_CHARS);
  return {
    server: server.name,
    serverAlias: server.alias,
    tool: tool.name,
    toolAlias: tool.alias,
    ...(description === '' ? {} : { description }),
    ...(isFull ? { inputSchema: cleanSchema(tool.inputSchema) } : {}),
    loaded: options.isLoaded,
    ...(options.isLoaded ? {} : { load: howToLoad(server.name) }),
  };
}

/** One next step that makes the tools of a server callable. */
export function howToLoad(server: string): string {
  return `call run_python again with servers=['${server}']`;
}

export function toolMetadata(tool: CatalogTool): ToolMetadata {
  const input_schema = cleanSchema(tool.inputSchema);
  const parameters = Object.keys(propertiesOf(input_schema));
  const aliases = assignAliases(parameters);
  const renamed = parameters.flatMap((name, index) => (aliases[index] === name ? [] : [[name, aliases[index]]]));
  return {
    name: tool.name,
    alias: tool.alias,
    description: cleanText(tool.description, DESCRIPTION_CHARS),
    input_schema,
    ...(renamed.length === 0 ? {} : { parameter_aliases: Object.fromEntries(renamed) }),
  };
}

/** `text` without invisible characters, cut to `maxChars` with a word on how much is missing. */
export function cleanText(text: string, maxChars: number): string {
  // Cut first: a server may send megabytes. Twice the length leaves room for what is removed.
  const clean = text
    .slice(0, maxChars * 2)
    .replace(INVISIBLE, '')
    .trim();
  if (clean.length <= maxChars && text.length <= maxChars * 2) {
    return clean;
  }
  return `${clean
    .slice(0, maxChars)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd()}… (${text.length.toLocaleString('en-US')} characters in all)`;
}

function cleanSchema(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const clean = cleanStrings(schema, SCHEMA_DEPTH) as Readonly<Record<string, unknown>>;
  const chars = JSON.stringify(clean).length;
  if (chars > SCHEMA_CHARS) {
    return {
      type: 'object',
      description: `The schema is too large to show: ${chars.toLocaleString('en-US')} characters.`,
    };
  }
  return clean;
}

function cleanStrings(value: unknown, depth: number): unknown {
  if (typeof value === 'string') {
    return value.replace(INVISIBLE, '');
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (depth === 0) {
    return '… (nested too deep to show)';
  }
  if (Array.isArray(value)) {
    return value.map((member) => cleanStrings(member, depth - 1));
  }
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, cleanStrings(member, depth - 1)]));
}

function propertiesOf(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { properties } = schema;
  return typeof properties === 'object' && properties !== null ? (properties as Record<string, unknown>) : {};
}
