/**
 * The MCP server: its tools, usually one, the manual and the kept files as resources, for both protocol eras (2025-11-25 and older,
 * 2026-07-28). The SDK's fallback handler serves all requests, because it does not validate them: a bad argument gets a
 * sentence of ours instead of a schema dump.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type JSONRPCRequest,
  type McpServerFactory,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
  type ServerContext,
  type Transport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { isObject } from '../base/is-object.ts';
import { CAPABILITY_RESOURCE_URI } from './capabilities.ts';
import { legacyPerson } from './client-person.ts';
import type { FrontTool } from './front-tool.ts';
import { createProgressReporter } from './progress-notifications.ts';
import { listResources, type ResourceOptions, readResource } from './resources.ts';
import { answerCell, createRunPython, type RunPythonOptions } from './run-python.ts';
import { SuspendedCalls } from './suspended-calls.ts';

/** The last sentence of the instructions. It holds for each tool that runs Python. */
const WHERE_THE_MANUAL_IS = `The manual is ${CAPABILITY_RESOURCE_URI}, or runtime.capability_summary() inside.`;

/** How long a client may cache the lists, which do not change while the process lives. Chosen: an hour. */
const LIST_TTL_MS = 3_600_000;
/** Longer names are cut. Chosen. */
const MAX_CLIENT_NAME_CHARS = 200;
/** Wait between the first `tools/list` and `onIdle`, so that requests sent right after it are not delayed. */
const IDLE_DELAY_MS = 200;

export interface FrontOptions extends RunPythonOptions, ResourceOptions {
  readonly version: string;
  /** What the client sees, in this order; by default only `run_python`. */
  readonly tools?: readonly FrontTool[] | undefined;
  /** Called with the name that the client gives itself, before each request that reads or calls anything. */
  readonly onClient?: ((name: string) => void) | undefined;
  /** Called once, shortly after the first `tools/list` was answered. May load modules, must start nothing. */
  readonly onIdle?: (() => void) | undefined;
}

/** Serves one client over `transport`, in the era of its first request. `close` ends the connection and aborts its requests. */
export function serveClient(transport: Transport, options: FrontOptions): { close(): Promise<void> } {
  const onerror = (error: Error): void => options.logger.debug(`MCP: ${error.message}`);
  return serveStdio(createServerFactory(options), { transport, onerror });
}

/** Makes the servers for one connection, which may need more than one to find the era. They hold no state. */
export function createServerFactory(options: FrontOptions): McpServerFactory {
  const tools = options.tools ?? [createRunPython(options)];
  const announceIdle = once(() => options.onIdle?.());
  const runModern = serveModern(options);

  return ({ era }) => {
    const freshness = era === 'modern' ? { ttlMs: LIST_TTL_MS, cacheScope: 'private' } : {};
    // Artifacts come and go, and the engine is chosen with the first cell.
    const volatile = era === 'modern' ? { ...freshness, ttlMs: 0 } : {};
    const handlers: Record<string, (request: JSONRPCRequest, context: ServerContext) => Result | Promise<Result>> = {
      'tools/list': () => {
        setTimeout(announceIdle, IDLE_DELAY_MS).unref();
        return { tools: tools.map(({ definition }) => definition), ...freshness };
      },
      'tools/call': ({ params }, context) => callTool(findTool(tools, params?.name), params?.arguments ?? {}, context),
      'resources/list': async () => ({ resources: await listResources(options), ...volatile }),
      'resources/templates/list': () => ({ resourceTemplates: [], ...freshness }),
      'resources/read': async (request) => ({ ...(await readResource(request, options)), ...volatile }),
    };
    const server = new Server(
      { name: 'mcp-server-code-execution-mode', version: options.version },
      { capabilities: { tools: {}, resources: {} }, instructions: instructionsOf(tools) },
    );
    const callTool = era === 'modern' ? runModern : serveLegacy(server, options);
    server.fallbackRequestHandler = async (request, context) => {
      const handler = Object.hasOwn(handlers, request.method) ? handlers[request.method] : undefined;
      if (handler === undefined) {
        throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `Method not found: ${request.method}`);
      }
      const name = clientName(server, context);
      if (name !== undefined) {
        options.onClient?.(name);
      }
      return handler(request, context);
    };
    return server;
  };
}

/** MCP: `clientInfo` of `initialize`; since 2026-07-28, in the envelope of each request. Not verified. */
function clientName(server: Server, { mcpReq }: ServerContext): string | undefined {
  const envelope: unknown = mcpReq.envelope;
  const info = isObject(envelope) ? envelope[CLIENT_INFO_META_KEY] : server.getClientVersion();
  const name = isObject(info) ? info['name'] : undefined;
  return typeof name === 'string' ? name.slice(0, MAX_CLIENT_NAME_CHARS) : undefined;
}

type CallTool = (tool: FrontTool, given: unknown, context: ServerContext) => Promise<Result>;

/** Until 2025-11-25, the server asks the client while its request waits. */
function serveLegacy(server: Server, options: FrontOptions): CallTool {
  // The SDK numbers its requests from 0, and its client of version 1 (1.32.2) never cancels request 0.
  const useUpFirstNumber = once(() => void server.ping().catch(() => undefined));
  return async (tool, given, context) => {
    const call = await tool.call(given);
    const progress = createProgressReporter(context);
    const request = {
      signal: context.mcpReq.signal,
      onProgress: progress?.report,
      person: legacyPerson(server.getClientCapabilities(), context, useUpFirstNumber),
    };
    try {
      return {
        ...(call.kind === 'own'
          ? await call.answer(request)
          : await call.render(await answerCell(options, { ...call.cell, ...request }))),
      };
    } finally {
      progress?.stop();
    }
  };
}

/** Since 2026-07-28, a question ends the request, and the client sends it again with the reply. */
function serveModern(options: FrontOptions): CallTool {
  const calls = new SuspendedCalls({
    answer: (call) => answerCell(options, call),
    capabilitiesOf: ({ mcpReq }) =>
      (mcpReq.envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY],
  });
  return (tool, given, context) => calls.serve({ name: tool.definition.name, given }, context, () => tool.call(given));
}

/** What the tools are for, and where the manual is. */
function instructionsOf(tools: readonly FrontTool[]): string {
  return [...new Set(tools.map(({ purpose }) => purpose)), WHERE_THE_MANUAL_IS].join(' ');
}

/** Throws -32602 if there is no such tool. */
function findTool(tools: readonly FrontTool[], name: unknown): FrontTool {
  const tool = tools.find(({ definition }) => definition.name === name);
  if (tool === undefined) {
    const names = tools.map(({ definition }) => definition.name).join(', ');
    const which = tools.length === 1 ? `the only one is ${names}` : `there are ${names}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${JSON.stringify(name)}; ${which}.`);
  }
  return tool;
}

function once(action: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) {
      isDone = true;
      action();
    }
  };
}
