/**
 * Calls of tools, through the gates to their server, and descriptions of loaded servers. Calls of cells and calls from the
 * command line go the same way.
 */
import { z } from 'zod';
import type { CancelSignal } from '../base/cancel.ts';
import { renderError, toBridgeError } from '../base/errors.ts';
import { isObject } from '../base/is-object.ts';
import type { Logger } from '../base/log.ts';
import { describeServer, howToLoad, toolMetadata } from '../catalog/describe.ts';
import { restoreHidden } from '../catalog/intake.ts';
import type { CatalogServer, CatalogTool, ServerMetadata } from '../catalog/known.ts';
import { resolveArguments } from '../catalog/parameters.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import type { CallMethod } from '../protocol/frames.ts';
import type { Elicit } from '../protocol/server-requests.ts';
import type { CallContext } from '../session/dispatch.ts';
import { isReadOnly, type ToolCall } from './contract.ts';
import { checked, type FindCallable, type Method, nameParam } from './method.ts';
import type { ObservedResults } from './observed-results.ts';
import type { CallPipeline } from './pipeline.ts';
import { elicitFor } from './server-questions.ts';

/** Sends calls to running servers. */
export interface ToolCaller {
  /** The untouched `CallToolResult`. Starts the server if need be; rejects with a `BridgeError`. */
  callTool(request: {
    readonly server: string;
    readonly tool: string;
    readonly arguments: Record<string, unknown>;
    readonly signal: CancelSignal;
    readonly onProgress?: CallContext['onProgress'];
    readonly elicit?: Elicit | undefined;
    /** Whether a large result may come as `ResultBytes`. */
    readonly takesBytes: boolean | undefined;
    /** Whether the gates took it for one that only reads. */
    readonly isTakenForRead: boolean;
  }): Promise<unknown>;
}

export interface ToolCallOptions {
  readonly directory: ServerDirectory;
  readonly findCallable: FindCallable;
  readonly pool: ToolCaller;
  readonly observed: ObservedResults;
  readonly logger: Logger;
  readonly calls: CallPipeline;
}

const CallToolParams = z.strictObject({
  server: nameParam,
  tool: nameParam,
  // Not `z.record`, which copies it key by key and leaves out a key `__proto__`.
  arguments: z.custom<Record<string, unknown>>(isObject, 'expected an object').default({}),
  /** Line of the cell that made the call, according to the sandbox. */
  line: z.int().positive().optional(),
  /** Whether the code wants the progress that the server reports. */
  progress: z.boolean().default(false),
});
type CallToolParams = z.output<typeof CallToolParams>;

const DescribeServerParams = z.strictObject({ server: nameParam.optional() });

/** A call of one tool, with its arguments named as code names them. */
export interface WantedCall {
  readonly server: CatalogServer;
  readonly tool: CatalogTool;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly line?: number | undefined;
  readonly wantsProgress?: boolean | undefined;
}

/** Calls a tool; resolves with the untouched `CallToolResult`, or with its bytes if the context takes them. Rejects as gates and servers do. */
export type CallTool = (wanted: WantedCall, context: CallContext) => Promise<unknown>;

export function createCallTool({
  directory,
  pool,
  observed,
  logger,
  calls,
}: Omit<ToolCallOptions, 'findCallable'>): CallTool {
  function send(tool: CatalogTool, call: ToolCall): Promise<unknown> {
    const { server, context } = call;
    logCall(logger, context, `${server.name}.${tool.name}`);
    const answer = pool.callTool({
      server: server.name,
      tool: tool.wireName ?? tool.name,
      arguments: call.arguments,
      signal: context.signal,
      onProgress: listenerOf(call),
      elicit: elicitFor(server.name, context.asker, logger),
      takesBytes: context.takesBytes,
      isTakenForRead: isReadOnly(tool),
    });
    directory.noteUse(server);
    const definition = directory.definitionKey(server);
    return answer.then((result) => {
      observed.note(definition, tool, call.arguments, result);
      return result;
    });
  }

  // Written out: spreads take time and memory, and one gather makes 1,000 calls at once.
  return ({ server, tool, arguments: given, line, wantsProgress }, context) => {
    const call = { server, tool, arguments: exactArguments(tool, given), line, wantsProgress, context };
    return calls.make(call, (one) => send(tool, one));
  };
}

/** Methods that need a loaded server. */
export function toolMethods(options: ToolCallOptions): [CallMethod, Method][] {
  const { directory, findCallable, calls } = options;
  const call = createCallTool(options);

  async function findAndCall(params: CallToolParams, context: CallContext): Promise<unknown> {
    const { server: name, tool: wanted, arguments: given, line, progress } = params;
    let server: CatalogServer;
    let tool: CatalogTool;
    try {
      server = await findCallable(name, context);
      tool = await directory.findToolToCall(server, wanted, context.signal);
    } catch (error) {
      calls.noteUnmade({ server: name, tool: wanted, given, context }, toBridgeError(error));
      throw error;
    }
    return call({ server, tool, arguments: given, line, wantsProgress: progress }, context);
  }

  const callTool = checked(CallToolParams, findAndCall);

  const describeServers = checked(DescribeServerParams, async (params, context) => {
    const { loaded } = context;
    if (params.server !== undefined) {
      const server = await directory.find(params.server);
      return loaded.has(server.name)
        ? describeLoaded(directory, server, context)
        : describeUnloaded(directory, server, loaded);
    }
    const servers = directory.servers().filter((server) => loaded.has(server.name));
    return Promise.all(servers.map((server) => describeOrSayWhyNot(directory, server, context)));
  });

  return [
    ['call_tool', callTool],
    ['describe_server', describeServers],
  ];
}

/** Where the server's progress goes: to the code, the client, both, or nowhere; then the server is not asked for it. */
function listenerOf({ server, tool, wantsProgress, context }: ToolCall): CallContext['onProgress'] {
  const { onProgress, onToolProgress } = context;
  const toCode = wantsProgress === true ? onProgress : undefined;
  if (onToolProgress === undefined) {
    return toCode;
  }
  const label = `${server.name}.${tool.name}`;
  return (report) => {
    toCode?.(report);
    onToolProgress({ ...report, tool: label });
  };
}

/** Calls of jobs in one sandbox that are logged. Chosen: enough to see what they do. */
const MAX_LOGGED_JOB_CALLS = 100;

/** The calls of jobs in each sandbox. */
const jobCalls = new WeakMap<object, number>();

/**
 * The first calls of jobs are logged at a higher level, because no one waits for their answer. Not all: a job can make millions,
 * and a client that does not read the log would stop the bridge, because writing to a full pipe blocks.
 */
function logCall(logger: Logger, { session, job, sandbox }: CallContext, tool: string): void {
  if (job === undefined || sandbox === undefined) {
    logger.debug(`session ${session}: call ${tool}`);
    return;
  }
  const count = (jobCalls.get(sandbox) ?? 0) + 1;
  jobCalls.set(sandbox, count);
  const end = count === MAX_LOGGED_JOB_CALLS ? '; further calls of jobs are logged at the level DEBUG only' : '';
  logger[count > MAX_LOGGED_JOB_CALLS ? 'debug' : 'info'](`session ${session}, job ${job}: call ${tool}${end}`);
}

/** Renames arguments and restores texts as the server expects them. */
function exactArguments(tool: CatalogTool, given: WantedCall['arguments']): Record<string, unknown> {
  const named = resolveArguments(tool.inputSchema, given);
  return tool.hiddenTexts === undefined ? named : (restoreHidden(named, tool.hiddenTexts) as Record<string, unknown>);
}

function describeWithoutTools(
  directory: ServerDirectory,
  server: CatalogServer,
  loaded: ReadonlySet<string>,
): Record<string, unknown> {
  const cwd = directory.workingDirectory(server) ?? null;
  return { ...describeServer(server, loaded), cwd };
}

/** Does not start the server, so its tools may be unknown. */
function describeUnloaded(
  directory: ServerDirectory,
  server: CatalogServer,
  loaded: ReadonlySet<string>,
): Record<string, unknown> {
  return {
    ...describeWithoutTools(directory, server, loaded),
    tool_count: directory.metadata(server)?.tools.length ?? null,
    last_error: directory.lastError(server) ?? null,
    load: howToLoad(server.name),
  };
}

async function describeLoaded(
  directory: ServerDirectory,
  server: CatalogServer,
  { loaded, signal }: CallContext,
): Promise<Record<string, unknown>> {
  const tools = await directory.tools(server, signal);
  directory.noteUse(server);
  return {
    ...describeWithoutTools(directory, server, loaded),
    ...wordsOf(directory.metadata(server)),
    tool_count: tools.length,
    tools: tools.map((tool) => toolMetadata(server, tool, true)),
  };
}

/** A server that fails must not hide the others. */
async function describeOrSayWhyNot(
  directory: ServerDirectory,
  server: CatalogServer,
  context: CallContext,
): Promise<Record<string, unknown>> {
  try {
    return await describeLoaded(directory, server, context);
  } catch (error) {
    const known = describeWithoutTools(directory, server, context.loaded);
    return { ...known, tool_count: null, tools: [], error: renderError(toBridgeError(error)) };
  }
}

/** The server's description, with keys as code reads them. */
function wordsOf(metadata: ServerMetadata | undefined): Record<string, unknown> {
  return {
    instructions: metadata?.instructions ?? null,
    protocol_version: metadata?.protocolVersion ?? null,
    server_version: metadata?.serverVersion ?? null,
    capabilities: metadata?.capabilities ?? {},
    notices: metadata?.notices ?? [],
  };
}
