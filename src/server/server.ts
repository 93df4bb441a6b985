/**
 * The MCP server: one tool, its manual and the kept files as resources, for both protocol eras (2025-11-25 and older,
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
import { createProgressReporter } from './progress-notifications.ts';
import { listResources, type ResourceOptions, readResource } from './resources.ts';
import { answerCell, callRunPython, type RunPythonOptions, render } from './run-python.ts';
import { SuspendedCalls } from './suspended-calls.ts';
import { describeRunPython, TOOL_NAME } from './tool-definition.ts';

const INSTRUCTIONS =
  'run_python is a live Python session that calls the other MCP servers of this user as code. ' +
  `The manual is ${CAPABILITY_RESOURCE_URI}, or runtime.capability_summary() inside.`;

/** How long a client may cache the lists, which do not change while the process lives. Chosen: an hour. */
const LIST_TTL_MS = 3_600_000;
/** Longer names are cut. Chosen. */
const MAX_CLIENT_NAME_CHARS = 200;
/** Wait between the first `tools/list` and `onIdle`, so that requests sent right after it are not delayed. */
const IDLE_DELAY_MS = 200;

export interface FrontOptions extends RunPythonOptions, ResourceOptions {
  readonly version: string;
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
  const tool = describeRunPython(options.defaultTimeoutSeconds, options.maxTimeoutSeconds);
  const announceIdle = once(() => options.onIdle?.());
  const runModern = serveModern(options);

  return ({ era }) => {
    const freshness = era === 'modern' ? { ttlMs: LIST_TTL_MS, cacheScope: 'private' } : {};
    // Artifacts come and go, and the engine is chosen with the first cell.
    const volatile = era === 'modern' ? { ...freshness, ttlMs: 0 } : {};
    const handlers: Record<string, (request: JSONRPCRequest, context: ServerContext) => Result | Promise<Result>> = {
      'tools/list': () => {
        setTimeout(announceIdle, IDLE_DELAY_MS).unref();
        return { tools: [tool], ...freshness };
      },
      'tools/call': (request, context) => runPython(givenArguments(request), context),
      'resources/list': async () => ({ resources: await listResources(options), ...volatile }),
      'resources/templates/list': () => ({ resourceTemplates: [], ...freshness }),
      'resources/read': async (request) => ({ ...(await readResource(request, options)), ...volatile }),
    };
    const server = new Server(
      { name: 'mcp-server-code-execution-mode', version: options.version },
      { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
    );
    const runPython = era === 'modern' ? runModern : serveLegacy(server, options);
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

type RunPython = (given: unknown, context: ServerContext) => Promise<Result>;

/** Until 2025-11-25, the server asks the client while its request waits. */
function serveLegacy(server: Server, options: FrontOptions): RunPython {
  // The SDK numbers its requests from 0, and its client of version 1 (1.32.2) never cancels request 0.
  const useUpFirstNumber = once(() => void server.ping().catch(() => undefined));
  return async (given, context) => {
    const progress = createProgressReporter(context);
    const answer = await callRunPython(options, {
      given,
      signal: context.mcpReq.signal,
      onProgress: progress?.report,
      person: legacyPerson(server.getClientCapabilities(), context, useUpFirstNumber),
    });
    progress?.stop();
    return { ...answer };
  };
}

/** Since 2026-07-28, a question ends the request, and the client sends it again with the reply. */
function serveModern(options: FrontOptions): RunPython {
  const calls = new SuspendedCalls({
    answer: (call) => answerCell(options, call),
    render: (answer) => render(options, answer),
    capabilitiesOf: ({ mcpReq }) =>
      (mcpReq.envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY],
  });
  return (given, context) => calls.serve(given, context);
}

/** The arguments of a call of `run_python`. Throws -32602 for any other tool. */
function givenArguments({ params }: JSONRPCRequest): unknown {
  const { name, arguments: given = {} } = params ?? {};
  if (name !== TOOL_NAME) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown tool: ${JSON.stringify(name)}; the only one is ${TOOL_NAME}.`,
    );
  }
  return given;
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
