/**
 * The documents in which sandboxed code reads about tools. Their keys are those that code written for the Python bridge of the
 * same name expects. Text from servers is untrusted data; it was made safe to show when it entered the catalog.
 */

import type { Schema } from './json-schema.ts';
import type { CatalogServer, CatalogTool } from './known.ts';
import { parametersOf } from './parameters.ts';
import { signatureLine, toolSpec } from './tool-spec.ts';
import { firstSentence, visibleText } from './visible.ts';

export type Detail = 'summary' | 'full';

/** The longest description in a summary: about 125 tokens. */
const SUMMARY_CHARS = 500;

/** One tool as `query_tool_docs` returns it. */
export interface ToolDocument {
  readonly server: string;
  readonly serverAlias: string;
  readonly tool: string;
  readonly toolAlias: string;
  readonly description?: string;
  /** How to call it: `name(parameter: type, …) -> type`, in one short line; in full if one tool was asked for, or with detail `full`. */
  readonly signature: string;
  /** Definitions of the types in the full signature. */
  readonly types?: readonly string[];
  /** The server does not describe its result; the type was inferred from the results seen so far. */
  readonly resultObserved?: true;
  /** What the text looked like that the tool returned. */
  readonly resultText?: string;
  /** Only with detail `full`. */
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  /** Whether the session can call it now. */
  readonly loaded: boolean;
  /** How to make it callable, if it is not. */
  readonly load?: string;
}

/** One tool as `search_tool_docs` returns it: enough to choose it and, usually, to call it, in few tokens. */
export interface ToolHit extends ToolDocument {
  /** Higher is better. Comparable only within one answer. A whole number, because digits cost tokens. */
  readonly score: number;
}

/**
 * Characters of signature and sentence together. The sentence always gets at least its minimum. With these numbers, hits over
 * 2,700 real tools cost 76 tokens on average (o200k); the goal was 80.
 */
const HIT_CHARS = 170;
const MIN_SENTENCE_CHARS = 60;
/** Scores are mostly below 20; in tenths, close ones still differ. */
const SCORE_STEPS = 10;

/** One tool as `describe_server` and `list_tools` return it: a summary, and what code for the Python bridge reads. */
export interface ToolMetadata extends ToolDocument {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  readonly input_schema: Readonly<Record<string, unknown>>;
  /** Parameters whose names are not Python identifiers, each with the identifier to use instead. */
  readonly parameter_aliases?: Readonly<Record<string, string>>;
}

export function describeTool(
  server: CatalogServer,
  tool: CatalogTool,
  options: {
    readonly detail: Detail;
    readonly isLoaded: boolean;
    /** No other tool was asked for, so there is room for all of its signature. */
    readonly isAlone?: boolean;
    readonly observed?: Schema | undefined;
  },
): ToolDocument {
  const isFull = options.detail === 'full';
  const description = isFull ? tool.description : visibleText(tool.description, SUMMARY_CHARS);
  return {
    server: server.name,
    serverAlias: server.alias,
    tool: tool.name,
    toolAlias: tool.alias,
    ...(description === '' ? {} : { description }),
    ...(isFull || options.isAlone === true
      ? fullSignature(tool, options.observed)
      : { signature: signatureLine(tool) }),
    ...(isFull ? { inputSchema: tool.inputSchema } : {}),
    loaded: options.isLoaded,
    ...(options.isLoaded ? {} : { load: howToLoad(server.name) }),
  };
}

function fullSignature(
  tool: CatalogTool,
  observed: Schema | undefined,
): Pick<ToolDocument, 'signature' | 'types' | 'resultObserved' | 'resultText'> {
  const { signature, types, observed: isObserved, observed_text: text } = toolSpec(tool, { observed });
  return {
    signature,
    ...(types.length === 0 ? {} : { types }),
    ...(isObserved === undefined ? {} : { resultObserved: isObserved }),
    ...(text === undefined ? {} : { resultText: text }),
  };
}

export function describeHit(
  server: CatalogServer,
  tool: CatalogTool,
  options: { readonly detail: Detail; readonly isLoaded: boolean; readonly score: number },
): ToolHit {
  const document = describeTool(server, tool, options);
  const maxChars = Math.max(MIN_SENTENCE_CHARS, HIT_CHARS - document.signature.length);
  const isShort = options.detail === 'summary' && document.description !== undefined;
  return {
    ...document,
    ...(isShort ? { description: firstSentence(tool.description, maxChars) } : {}),
    ...(options.isLoaded ? {} : { load: `servers=['${server.name}']` }),
    score: Math.round(options.score * SCORE_STEPS),
  };
}

/** What every description of a server begins with. `name` and `alias` are what code for the Python bridge reads. */
export function describeServer({ name, alias, description }: CatalogServer, loaded: ReadonlySet<string>) {
  return { server: name, serverAlias: alias, name, alias, description, loaded: loaded.has(name) };
}

/** The step that makes the tools of a server callable. */
export function howToLoad(server: string): string {
  return `call run_python again with servers=['${server}']`;
}

export function toolMetadata(server: CatalogServer, tool: CatalogTool, isLoaded: boolean): ToolMetadata {
  const { list } = parametersOf(tool.inputSchema);
  const renamed = list.filter(({ name, alias }) => name !== alias).map(({ name, alias }) => [name, alias]);
  return {
    ...describeTool(server, tool, { detail: 'summary', isLoaded }),
    name: tool.name,
    alias: tool.alias,
    description: tool.description,
    input_schema: tool.inputSchema,
    ...(renamed.length === 0 ? {} : { parameter_aliases: Object.fromEntries(renamed) }),
  };
}
