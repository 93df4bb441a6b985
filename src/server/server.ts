/**
 * The MCP server: one tool, and as resources its manual and the kept files, for both protocol eras (2025-11-25 and older, 2026-07-28).
 * Requests are served through the SDK's fallback handler: it passes them on untouched, so that a bad argument gets
 * our sentence instead of a schema dump, and nothing is validated twice on the way.
 */
import {
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
import { CAPABILITY_RESOURCE_URI } from './capabilities.ts';
import { createProgressReporter } from './progress.ts';
import { listResources, type ResourceOptions, readResource } from './resources.ts';
import { callRunPython, type RunPythonOptions } from './run-python.ts';
import { describeRunPython, TOOL_NAME } from './tool-definition.ts';

const INSTRUCTIONS =
  'run_python is a live Python session that calls the other MCP servers of this user as code. ' +
  `The manual is ${CAPABILITY_RESOURCE_URI}, or runtime.capability_summary() inside.`;

/** How long a client may keep the lists: they do not change while the process lives. Chosen: an hour. */
const LIST_TTL_MS = 3_600_000;
/** Wait after the first `tools/list` before `onIdle`, so that requests sent right behind it are not held up. */
const IDLE_DELAY_MS = 200;

export interface FrontOptions extends RunPythonOptions, ResourceOptions {
  readonly version: string;
  /** Called once, a moment after the first `tools/list` was answered; may load modules, starts nothing. */
  readonly onIdle?: (() => void) | undefined;
}

/** Serves one client over `transport`, in the era it opens with. `close` ends the connection; requests in flight are aborted. */
export function serveClient(transport: Transport, options: FrontOptions): { close(): Promise<void> } {
  const onerror = (error: Error): void => options.logger.debug(`MCP: ${error.message}`);
  return serveStdio(createServerFactory(options), { transport, onerror });
}

/** Makes the servers for one connection, which may need more than one to find the era; none of them holds state. */
export function createServerFactory(options: FrontOptions): McpServerFactory {
  const tool = describeRunPython(options.defaultTimeoutSeconds, options.maxTimeoutSeconds);
  const announceIdle = once(() => options.onIdle?.());

  return ({ era }) => {
    const freshness = era === 'modern' ? { ttlMs: LIST_TTL_MS, cacheScope: 'private' } : {};
    // Artifacts come and go, and the engine is chosen late.
    const volatile = era === 'modern' ? { ...freshness, ttlMs: 0 } : {};
    const handlers: Record<string, (request: JSONRPCRequest, context: ServerContext) => Result | Promise<Result>> = {
      'tools/list': () => {
        setTimeout(announceIdle, IDLE_DELAY_MS).unref();
        return { tools: [tool], ...freshness };
      },
      'tools/call': (request, context) => callTool(options, request, context),
      'resources/list': async () => ({ resources: await listResources(options), ...volatile }),
      'resources/templates/list': () => ({ resourceTemplates: [], ...freshness }),
      'resources/read': async (request) => ({ ...(await readResource(request, options)), ...volatile }),
    };
    const server = new Server(
      { name: 'mcp-server-code-execution-mode', version: options.version },
      { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
    );
    server.fallbackRequestHandler = async (request, context) => {
      const handler = Object.hasOwn(handlers, request.method) ? handlers[request.method] : undefined;
      if (handler === undefined) {
        throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `Method not found: ${request.method}`);
      }
      return handler(request, context);
    };
    return server;
  };
}

async function callTool(options: FrontOptions, request: JSONRPCRequest, context: ServerContext): Promise<Result> {
  const { name, arguments: given = {} } = request.params ?? {};
  if (name !== TOOL_NAME) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown tool: ${JSON.stringify(name)}; the only one is ${TOOL_NAME}.`,
    );
  }
  const progress = createProgressReporter(context);
  const answer = await callRunPython(options, { given, signal: context.mcpReq.signal, onProgress: progress?.report });
  progress?.stop();
  return { ...answer };
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
