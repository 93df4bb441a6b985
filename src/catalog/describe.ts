/**
 * Servers and tools as code in the sandbox reads about them. The keys are those that programs written for the Python
 * bridge of the same name expect. What servers say about themselves is data; it was made fit to be read when it entered the
 * catalog.
 */

import type { Schema } from './json-schema.ts';
import type { CatalogServer, CatalogTool } from './known.ts';
import { parametersOf } from './parameters.ts';
import { toolSpec } from './tool-spec.ts';
import { visibleText } from './visible.ts';

export type Detail = 'summary' | 'full';

/** Longest description in a summary, in characters: about 125 tokens. */
const SUMMARY_CHARS = 500;

/** One tool as `query_tool_docs` and `search_tool_docs` give it. */
export interface ToolDocument {
  readonly server: string;
  readonly serverAlias: string;
  readonly tool: string;
  readonly toolAlias: string;
  readonly description?: string;
  /** Only with detail `full`: how it is called, `name(parameter: type, …) -> type`. */
  readonly signature?: string;
  /** Definitions of the types that the signature names; only with detail `full`. */
  readonly types?: readonly string[];
  /** The type of the result is that of the results seen so far; the server names none. */
  readonly resultObserved?: true;
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
  options: { readonly detail: Detail; readonly isLoaded: boolean; readonly observed?: Schema | undefined },
): ToolDocument {
  const isFull = options.detail === 'full';
  const description = isFull ? tool.description : visibleText(tool.description, SUMMARY_CHARS);
  return {
    server: server.name,
    serverAlias: server.alias,
    tool: tool.name,
    toolAlias: tool.alias,
    ...(description === '' ? {} : { description }),
    ...(isFull ? fullDocument(tool, options.observed) : {}),
    loaded: options.isLoaded,
    ...(options.isLoaded ? {} : { load: howToLoad(server.name) }),
  };
}

function fullDocument(tool: CatalogTool, observed: Schema | undefined): Partial<ToolDocument> {
  const { signature, types, observed: isObserved } = toolSpec(tool, { observed });
  return {
    signature,
    ...(types.length === 0 ? {} : { types }),
    ...(isObserved === undefined ? {} : { resultObserved: isObserved }),
    inputSchema: tool.inputSchema,
  };
}

/** One next step that makes the tools of a server callable. */
export function howToLoad(server: string): string {
  return `call run_python again with servers=['${server}']`;
}

export function toolMetadata(tool: CatalogTool): ToolMetadata {
  const { list } = parametersOf(tool.inputSchema);
  const renamed = list.filter(({ name, alias }) => name !== alias).map(({ name, alias }) => [name, alias]);
  return {
    name: tool.name,
    alias: tool.alias,
    description: tool.description,
    input_schema: tool.inputSchema,
    ...(renamed.length === 0 ? {} : { parameter_aliases: Object.fromEntries(renamed) }),
  };
}
