/**
 * What code in a sandbox may ask of the host: calls of tools and documents about them; features add methods of their own.
 * Everything is checked again, whatever the proxies in the sandbox did: parameters by a schema, the server against the
 * servers loaded in the session, the tool against the list of its server.
 */
import { z } from 'zod';
import { BridgeError, toBridgeError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { describeHit, describeServer, describeTool, toolMetadata } from '../catalog/describe.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import { createToolSearch } from '../directory/tool-search.ts';
import { carriedAsText } from '../protocol/exact-json.ts';
import type { CallMethod } from '../protocol/frames.ts';
import { encodeToon } from '../render/toon.ts';
import type { HandleCall } from '../session/dispatch.ts';
import type { ExtraTool, ExtraTools } from './extra-tools.ts';
import { findServersMethod } from './find-servers.ts';
import { checked, checkParams, createFindCallable, type Method, nameParam } from './method.ts';
import { createObservedResults, type ObservedResults, type ShapeMemory } from './observed-results.ts';
import { type CallPipeline, createCallPipeline } from './pipeline.ts';
import { specMethod } from './spec-calls.ts';
import { stubsMethod } from './stub-calls.ts';
import { type SurfacePool, surfaceMethods } from './surface-calls.ts';
import { type ToolCaller, toolMethods } from './tool-calls.ts';

/** The connections to the servers. */
export interface ToolPool extends SurfacePool, ToolCaller {}

export interface HostCallsOptions {
  readonly pool: ToolPool;
  readonly directory: ServerDirectory;
  readonly logger: Logger;
  /** How long a search waits for servers whose tools are not known yet; 5 s by default. */
  readonly searchWaitMs?: number;
  /** Whether the first call of a server loads it; no by default. */
  readonly autoload?: boolean;
  /** The gates that each call to a server passes; none by default. */
  readonly calls?: CallPipeline;
  /** What search finds beside the tools of servers; undefined if there is nothing. Called for each search. */
  readonly extraTools?: (() => Promise<ExtraTools | undefined>) | undefined;
  /** Keeps the shapes of results for later runs. */
  readonly shapes?: ShapeMemory | undefined;
  /** Methods of features, by name. */
  readonly methods?: readonly (readonly [CallMethod, Method])[];
}

/** Far more than a search reads. A long query is not an error. */
const MAX_QUERY_CHARS = 100_000;
const MAX_LIMIT = 20;
const DEFAULT_LIMIT = 5;

const detailParam = z.enum(['summary', 'full']).default('summary');
const ListToolsParams = z.strictObject({ server: nameParam });
const QueryToolDocsParams = z.strictObject({ server: nameParam, tool: nameParam.optional(), detail: detailParam });
const SearchToolDocsParams = z.strictObject({
  query: z.string().max(MAX_QUERY_CHARS),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  detail: detailParam,
});
interface CallOptions extends HostCallsOptions {
  readonly observed: ObservedResults;
}

/** Answers the calls of a sandbox by method, except those of the dispatcher (`start_job`, `reset`). Rejects with a `BridgeError`. */
export function createHostCalls(options: HostCallsOptions): HandleCall {
  const { directory, pool, logger, autoload = false, calls = createCallPipeline() } = options;
  const findCallable = createFindCallable(directory, autoload);
  const observed = createObservedResults(options.shapes);
  const methods = new Map<string, Method>([
    ...toolMethods({ directory, findCallable, pool, observed, logger, calls }),
    ...documentMethods(directory, { ...options, observed }),
    specMethod(directory, observed),
    stubsMethod(directory, observed),
    ...surfaceMethods({ findCallable, pool, logger, calls }),
    findServersMethod(directory, autoload),
    ['discovered_servers', checked(z.strictObject({}), async (_, { loaded }) => serverStates(directory, loaded))],
    ['to_toon', checked(z.strictObject({ value: z.unknown() }), ({ value }) => encodeToon(carriedAsText(value)))],
    ...(options.methods ?? []),
  ]);
  return (call, context) => {
    const method = methods.get(call.method);
    if (method === undefined) {
      const reason = `there is no method ${JSON.stringify(call.method.slice(0, 64))}`;
      return Promise.reject(new BridgeError('CALL_REFUSED', reason));
    }
    // Not an async function, which would wait for the promise of `run` three turns longer.
    try {
      return method.run(checkParams(method, call.params), context);
    } catch (error) {
      return Promise.reject(toBridgeError(error));
    }
  };
}

/** Methods that read the documents of tools, of any configured server. */
function documentMethods(
  directory: ServerDirectory,
  { extraTools, searchWaitMs, observed }: CallOptions,
): [CallMethod, Method][] {
  const searchTools = createToolSearch(directory, searchWaitMs);

  const listTools = checked(ListToolsParams, async (params, { loaded, signal }) => {
    const server = await directory.find(params.server);
    const tools = await directory.tools(server, signal);
    if (loaded.has(server.name)) {
      directory.noteUse(server);
    }
    return tools.map((tool) => toolMetadata(server, tool, loaded.has(server.name)));
  });

  const queryToolDocs = checked(QueryToolDocsParams, async (params, { loaded, signal }) => {
    const server = await directory.find(params.server);
    const isAlone = params.tool !== undefined;
    const tools =
      params.tool === undefined
        ? await directory.tools(server, signal)
        : [await directory.findTool(server, params.tool, signal)];
    const isLoaded = loaded.has(server.name);
    const notices = directory.metadata(server)?.notices ?? [];
    await observed.ready;
    return {
      documents: tools.map((tool) => {
        const shape = observed.schema(directory.definitionKey(server), tool);
        return describeTool(server, tool, { detail: params.detail, isLoaded, isAlone, observed: shape });
      }),
      notices: notices.map((notice) => ({ server: server.name, notice })),
    };
  });

  const searchToolDocs = checked(SearchToolDocsParams, async (params, { loaded, signal }) => {
    const extra = await extraTools?.();
    const more = extra === undefined ? [] : [{ server: extra.source, tools: extra.tools, isExtra: true }];
    const { found, unmatched, notSearched, notices } = await searchTools(params.query, params.limit, signal, more);
    const documents = found.map(({ isExtra, server, tool, score }) => {
      const isLoaded = isExtra === true || loaded.has(server.name);
      const document = describeHit(server, tool, { detail: params.detail, isLoaded, score });
      return isExtra === true ? { ...document, ...functionParts(tool as ExtraTool) } : document;
    });
    return { documents, unmatched, not_searched: notSearched, notices };
  });

  return [
    ['list_tools', listTools],
    ['query_tool_docs', queryToolDocs],
    ['search_tool_docs', searchToolDocs],
  ];
}

/** What the document of a function has beside, or instead of, that of a tool. */
function functionParts({ isAsync, signature }: ExtraTool) {
  return { signature, kind: 'function', awaited: isAsync };
}

/** Every configured server and what is known about it. Starts none. */
async function serverStates(directory: ServerDirectory, loaded: ReadonlySet<string>): Promise<unknown[]> {
  await directory.ready();
  return directory.servers().map((server) => ({
    ...describeServer(server, loaded),
    tool_count: directory.metadata(server)?.tools.length ?? null,
    last_error: directory.lastError(server) ?? null,
  }));
}
