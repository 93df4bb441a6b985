/**
 * What code in a sandbox may ask of the host: calls of tools and documents about them; features add methods of their own.
 * Everything that arrives is checked here, whatever the proxies in the sandbox did: the parameters by a schema, the
 * server against the servers loaded in that session, the tool against what its server lists.
 */

import { z } from 'zod';
import { BridgeError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { describeHit, describeTool, toolMetadata } from '../catalog/describe.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import { createToolSearch } from '../directory/tool-search.ts';
import { carriedAsText } from '../protocol/exact-json.ts';
import { encodeToon } from '../render/toon.ts';
import type { HandleCall } from '../session/dispatch.ts';
import { createFindCallable } from './callable-servers.ts';
import { checked, type Method, nameParam } from './checked-call.ts';
import { findServersMethod } from './find-servers.ts';
import { createObservedResults, type ObservedResults } from './observed-results.ts';
import { type CallPipeline, createCallPipeline } from './pipeline.ts';
import { specMethods } from './spec-calls.ts';
import { type SurfacePool, surfaceMethods } from './surface-calls.ts';
import { type ToolCaller, toolMethods } from './tool-calls.ts';

/** The connections to the servers. */
export interface ToolPool extends SurfacePool, ToolCaller {}

export interface HostCallsOptions {
  readonly pool: ToolPool;
  readonly directory: ServerDirectory;
  readonly logger: Logger;
  /** How long a search waits for servers whose tools are not known yet; 5 s when left out. */
  readonly searchWaitMs?: number;
  /** Whether a server is loaded by its first call. */
  readonly autoload?: boolean;
  /** The way of each call to a server; straight to it if left out. */
  readonly calls?: CallPipeline;
  /** What features answer, by the name of the method. */
  readonly methods?: readonly (readonly [string, Method])[];
}

/** Far more than a search reads; a long one is no mistake. */
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

/** The calls of the sandbox by method, except `reset`, which is the session's. Rejects with a `BridgeError`. */
export function createHostCalls(options: HostCallsOptions): HandleCall {
  const { directory, pool, logger, autoload = false, calls = createCallPipeline() } = options;
  const findCallable = createFindCallable(directory, autoload);
  const observed = createObservedResults();
  const methods = new Map<string, Method>([
    ...toolMethods({ directory, findCallable, pool, observed, logger, calls }),
    ...documentMethods(directory, { ...options, observed }),
    ...specMethods(directory, observed),
    ...surfaceMethods({ findCallable, pool, logger, calls }),
    findServersMethod(directory, autoload),
    ['discovered_servers', checked(z.strictObject({}), async (_, { loaded }) => serverStates(directory, loaded))],
    ['to_toon', checked(z.strictObject({ value: z.unknown() }), ({ value }) => encodeToon(carriedAsText(value)))],
    ...(options.methods ?? []),
  ]);
  return ({ method, params }, context) => {
    const run = methods.get(method);
    if (run === undefined) {
      const reason = `there is no call of the name ${JSON.stringify(method.slice(0, 64))}`;
      return Promise.reject(new BridgeError('CALL_REFUSED', reason));
    }
    return run(params, context);
  };
}

/** Calls that read documents, of loaded servers and of others. */
function documentMethods(directory: ServerDirectory, { searchWaitMs, observed }: CallOptions): [string, Method][] {
  const searchTools = createToolSearch(directory, searchWaitMs);

  const listTools = checked(ListToolsParams, async (params, { loaded, signal }) => {
    const server = await directory.find(params.server);
    const tools = await directory.tools(server, signal);
    if (loaded.has(server.name)) {
      directory.noteUse(server);
    }
    return tools.map(toolMetadata);
  });

  const queryToolDocs = checked(QueryToolDocsParams, async (params, { loaded, signal }) => {
    const server = await directory.find(params.server);
    const tools =
      params.tool === undefined
        ? await directory.tools(server, signal)
        : [await directory.findTool(server, params.tool, signal)];
    const isLoaded = loaded.has(server.name);
    const notices = directory.metadata(server)?.notices ?? [];
    return {
      documents: tools.map((tool) => {
        const shape = observed.schema(directory.definitionKey(server), tool);
        return describeTool(server, tool, { detail: params.detail, isLoaded, observed: shape });
      }),
      notices: notices.map((notice) => ({ server: server.name, notice })),
    };
  });

  const searchToolDocs = checked(SearchToolDocsParams, async (params, { loaded, signal }) => {
    const { found, unmatched, notSearched, notices } = await searchTools(params.query, params.limit, signal);
    const documents = found.map(({ server, tool, score }) =>
      describeHit(server, tool, { detail: params.detail, isLoaded: loaded.has(server.name), score }),
    );
    return { documents, unmatched, not_searched: notSearched, notices };
  });

  return [
    ['list_tools', listTools],
    ['query_tool_docs', queryToolDocs],
    ['search_tool_docs', searchToolDocs],
  ];
}

/** Every configured server, with what is known of it; starts none. */
async function serverStates(directory: ServerDirectory, loaded: ReadonlySet<string>): Promise<unknown[]> {
  await directory.ready();
  return directory.servers().map((server) => ({
    name: server.name,
    description: server.description,
    alias: server.alias,
    loaded: loaded.has(server.name),
    tool_count: directory.metadata(server)?.tools.length ?? null,
    last_error: directory.lastError(server) ?? null,
  }));
}
