/**
 * Calls of tools, and what a loaded server says of itself. Everything that decides about a call or keeps a record of it is a
 * gate: it stands between the sandbox, which is not believed, and the pool, which sends what it is given.
 */
import { z } from 'zod';
import type { CancelSignal } from '../base/cancel.ts';
import { type BridgeError, renderError, toBridgeError } from '../base/errors.ts';
import { isObject } from '../base/is-object.ts';
import type { Logger } from '../base/log.ts';
import type { CatalogServer, CatalogTool } from '../catalog/catalog.ts';
import { toolMetadata } from '../catalog/describe.ts';
import { restoreHidden, type ServerMetadata } from '../catalog/intake.ts';
import { resolveArguments } from '../catalog/parameters.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import type { Decision } from '../policy/rules/decision.ts';
import type { CallContext } from '../session/dispatch.ts';
import type { Elicit } from '../upstream/elicitation.ts';
import type { FindCallable } from './callable-servers.ts';
import { checked, type Method, nameParam } from './checked-call.ts';
import type { ObservedResults } from './observed-results.ts';
import { elicitFor } from './server-questions.ts';

/** The connections to the servers, for calls of tools. */
export interface ToolCaller {
  /** The untouched `CallToolResult`. Starts the server if need be; rejects with a `BridgeError`. */
  callTool(request: {
    readonly server: string;
    readonly tool: string;
    readonly arguments: Record<string, unknown>;
    readonly signal: CancelSignal;
    readonly onProgress?: CallContext['onProgress'];
    readonly elicit?: Elicit | undefined;
  }): Promise<unknown>;
}

/** One call of a tool that exists on a server that is loaded. */
export interface ToolCall {
  readonly server: CatalogServer;
  readonly tool: CatalogTool;
  /** As the server will get them. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The line of the cell that leads to the call, as the sandbox says. */
  readonly line?: number | undefined;
  /** Whether the code listens to what the server reports of its progress. */
  readonly wantsProgress?: boolean | undefined;
  readonly context: CallContext;
  /** What a policy decided about it; set by its gate, for the record. */
  decision?: Decision;
}

/** A call that no gate saw, because its server is not loaded, or there is no such server or tool. */
export interface UnmadeCall {
  readonly server: string;
  readonly tool: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly context: CallContext;
}

export type NoteUnmade = (call: UnmadeCall, error: BridgeError) => void;

/** Makes a call. */
export type MakeCall = (call: ToolCall) => Promise<unknown>;

/**
 * Stands around each call: refuses it by rejecting with a `BridgeError`, waits, looks at its outcome, or changes it. It calls
 * `proceed` at most once. With nothing to do a gate returns what `proceed` gives, unawaited.
 */
export type CallGate = (call: ToolCall, proceed: MakeCall) => Promise<unknown>;

export interface ToolCallOptions {
  readonly directory: ServerDirectory;
  readonly findCallable: FindCallable;
  readonly pool: ToolCaller;
  readonly observed: ObservedResults;
  readonly logger: Logger;
  /** The first one is asked first and sees the outcome last. */
  readonly gates: readonly CallGate[];
  readonly noteUnmade?: NoteUnmade | undefined;
}

const CallToolParams = z.strictObject({
  server: nameParam,
  tool: nameParam,
  // Not `z.record`, which copies it key by key and leaves out a key `__proto__`.
  arguments: z.custom<Record<string, unknown>>(isObject, 'expected an object').default({}),
  /** Line of the cell that leads to the call, as the sandbox says. */
  line: z.int().positive().optional(),
  /** Whether the code listens to what the server reports of its progress. */
  progress: z.boolean().default(false),
});
type CallToolParams = z.output<typeof CallToolParams>;
const DescribeServerParams = z.strictObject({ server: nameParam.optional() });

/** Calls that need the server to be loaded. */
export function toolMethods(options: ToolCallOptions): [string, Method][] {
  const { directory, findCallable, pool, logger, observed } = options;
  const make = options.gates.reduceRight<MakeCall>((proceed, gate) => (call) => gate(call, proceed), send);

  async function send(call: ToolCall): Promise<unknown> {
    const { server, tool, context } = call;
    logCall(logger, context, `${server.name}.${tool.name}`);
    const answer = pool.callTool({
      server: server.name,
      tool: tool.wireName ?? tool.name,
      arguments: call.arguments,
      signal: context.signal,
      onProgress: listenerOf(call),
      elicit: elicitFor(server.name, context.asker, logger),
    });
    directory.noteUse(server);
    observed.note(directory.definitionKey(server), tool, await answer);
    return answer;
  }

  async function find({ server: name, tool: wanted, arguments: given }: CallToolParams, context: CallContext) {
    try {
      const server = await findCallable(name, context);
      return { server, tool: await directory.findToolToCall(server, wanted, context.signal) };
    } catch (error) {
      options.noteUnmade?.({ server: name, tool: wanted, given, context }, toBridgeError(error));
      throw error;
    }
  }

  const callTool = checked(CallToolParams, async (params, context) => {
    const { server, tool } = await find(params, context);
    const { line, progress: wantsProgress } = params;
    return make({ server, tool, arguments: exactArguments(tool, params.arguments), line, wantsProgress, context });
  });

  const describeServers = checked(DescribeServerParams, async (params, context) => {
    const { loaded, signal } = context;
    if (params.server !== undefined) {
      return describeServer(directory, await findCallable(params.server, context), signal);
    }
    const servers = directory.servers().filter((server) => loaded.has(server.name));
    return Promise.all(servers.map((server) => describeOrSayWhyNot(directory, server, signal)));
  });

  return [
    ['call_tool', callTool],
    ['describe_server', describeServers],
  ];
}

/** Who listens to what the server reports of its progress: the code, the client, both, or nobody, who does not ask for it. */
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

/** What goes on while nobody waits for an answer is worth a line. */
function logCall(logger: Logger, { session, job }: CallContext, tool: string): void {
  const caller = job === undefined ? `session ${session}` : `session ${session}, job ${job}`;
  logger[job === undefined ? 'debug' : 'info'](`${caller}: call ${tool}`);
}

/** The arguments with the names and texts that the server expects. */
function exactArguments(tool: CatalogTool, given: Record<string, unknown>): Record<string, unknown> {
  const named = resolveArguments(tool.inputSchema, given);
  return tool.hiddenTexts === undefined ? named : (restoreHidden(named, tool.hiddenTexts) as Record<string, unknown>);
}

function describeWithoutTools(directory: ServerDirectory, server: CatalogServer): Record<string, unknown> {
  const { name, alias, description } = server;
  return { name, alias, description, cwd: directory.workingDirectory(server) ?? null };
}

async function describeServer(
  directory: ServerDirectory,
  server: CatalogServer,
  signal: CancelSignal,
): Promise<Record<string, unknown>> {
  const tools = await directory.tools(server, signal);
  directory.noteUse(server);
  const words = wordsOf(directory.metadata(server));
  return { ...describeWithoutTools(directory, server), ...words, tools: tools.map(toolMetadata) };
}

/** One server that fails must not hide the others. */
async function describeOrSayWhyNot(
  directory: ServerDirectory,
  server: CatalogServer,
  signal: CancelSignal,
): Promise<Record<string, unknown>> {
  try {
    return await describeServer(directory, server, signal);
  } catch (error) {
    return { ...describeWithoutTools(directory, server), tools: [], error: renderError(toBridgeError(error)) };
  }
}

/** What a server said of itself, under the names that code reads. */
function wordsOf(metadata: ServerMetadata | undefined): Record<string, unknown> {
  return {
    instructions: metadata?.instructions ?? null,
    protocol_version: metadata?.protocolVersion ?? null,
    server_version: metadata?.serverVersion ?? null,
    capabilities: metadata?.capabilities ?? {},
    notices: metadata?.notices ?? [],
  };
}
