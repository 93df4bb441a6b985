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
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  type RequestId,
  type Result,
  Server,
  type ServerContext,
  type Transport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { callOnce } from '../../core/base/call-once.ts';
import { BridgeError, renderError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { limitConcurrency } from '../../core/base/limit-concurrency.ts';
import { explainSchemaIssues } from '../../core/base/schema-issues.ts';
import type { KeptTasks } from '../../core/session/kept-tasks.ts';
import type { RequestContext } from '../../core/session/lazy-bridge.ts';
import type { ObserveCall, ReceivedCall } from './call-observer.ts';
import { answerInTime, LongCells } from './cell-answers.ts';
import { type ClientFacts, readClient } from './client-facts.ts';
import { legacyPerson } from './client-person.ts';
import type { FrontCall, FrontTool, RunPythonCall } from './front-tool.ts';
import {
  type Introduction,
  instructionsOf,
  LASTING,
  LEGACY_CAPABILITIES,
  MODERN_CAPABILITIES,
  serverInfo,
  toolList,
} from './introduction.ts';
import { LegacyTasks } from './legacy-tasks.ts';
import { createProgressReporter } from './progress-notifications.ts';
import { listResources, type ResourceOptions, readResource } from './resources.ts';
import { createRunPython, type RunPythonOptions } from './run-python.ts';
import { SuspendedCalls } from './suspended-calls.ts';
import { declaresTasks, noTasks, Tasks } from './tasks.ts';
import { Undelivered } from './undelivered.ts';

export interface FrontOptions extends RunPythonOptions, ResourceOptions, Omit<Introduction, 'tools'> {
  /** By default only `run_python`. */
  readonly tools?: readonly FrontTool[] | undefined;
  /**
   * Makes an answer of the bridge itself once the client has read enough of earlier ones. `request` is that of HTTP. By default,
   * one after the other, as `untilRoom` says.
   */
  readonly makeAnswer?:
    | ((id: RequestId, request: Request | undefined, work: MakeAnswer) => Promise<Result>)
    | undefined;
  /** Called with each request of HTTP that is being handled. What it returns is called when that has ended. */
  readonly hold?: ((request: Request) => (() => void) | undefined) | undefined;
  /** Counts the answer of a call. */
  readonly noteAnswer?: ((id: RequestId, request: Request | undefined, result: Result) => void) | undefined;
  /**
   * How long a client waits for one answer, in ms, by its name and whether it asked for progress; undefined if until the end, as by
   * default.
   */
  readonly patienceOf?: ((client: string | undefined, hasProgress: boolean) => number | undefined) | undefined;
  /** What is kept of tasks for later processes; nothing by default. */
  readonly keptTasks?: KeptTasks | undefined;
  /** Watches each call of a tool. */
  readonly observeCall?: ObserveCall | undefined;
}

type MakeAnswer = () => Promise<Result>;

/** Serves one client over `transport`, in the era of its first request. `close` ends the connection and aborts its requests. */
export function serveClient(transport: Transport, options: FrontOptions): { close(): Promise<void> } {
  const onerror = (error: Error): void => options.logger.debug(`MCP: ${error.message}`);
  return serveStdio(createServerFactory(options), { transport, onerror });
}

/** Makes the servers for one connection, which may need more than one to find the era. They hold no state. */
export function createServerFactory(options: FrontOptions): McpServerFactory {
  const tools = options.tools ?? [createRunPython(options)];
  const announceList = callOnce((client: ClientFacts) => options.onToolsListed?.(client));
  const undelivered = new Undelivered((session, texts) => {
    void options.bridge.made().then((made) => made?.keepAnswers(session, texts));
  });
  const long = new LongCells(undelivered);
  const legacyTasks = new LegacyTasks(options.keptTasks);
  const modern = serveModern(options, { long, undelivered, tasks: new Tasks(options.keptTasks) });
  const makeAnswer = options.makeAnswer ?? makeInTurn(options);

  return ({ era }) => {
    const freshness = era === 'modern' ? LASTING : {};
    // Artifacts come and go, and the engine is chosen with the first cell.
    const volatile = era === 'modern' ? { ...freshness, ttlMs: 0 } : {};
    const server = new Server(serverInfo(options), {
      capabilities: era === 'modern' ? MODERN_CAPABILITIES : LEGACY_CAPABILITIES,
      instructions: instructionsOf(tools),
    });
    answerInSentences(server);
    const served = era === 'modern' ? modern : serveLegacy(server, options, long, legacyTasks);
    const handlers: Handlers = {
      'tools/list': (_request, context) => {
        const client = clientOf(server, context);
        // By then, the answer was written.
        setImmediate(() => announceList(client));
        return { ...toolList(tools, client), ...freshness };
      },
      'tools/call': (request, context) => {
        const { params } = request;
        const answer = () => {
          const tool = findTool(tools, params?.name);
          const { showsViews } = clientOf(server, context);
          const call = isObject(params?.['task']) ? (served.startTask ?? served.callTool) : served.callTool;
          return call(showsViews ? inView(tool) : tool, params?.arguments ?? {}, context);
        };
        return options.observeCall?.(receivedCall(request, tools, context, server), answer) ?? answer();
      },
      'resources/list': async () => ({ resources: await listResources(options), ...volatile }),
      'resources/templates/list': () => ({ resourceTemplates: [], ...freshness }),
      'resources/read': async (request) => ({ ...(await readResource(request, options)), ...volatile }),
      ...served.aboutTasks,
    };
    const note = (context: ServerContext): void => noteClient(options, clientOf(server, context));
    const handle = handleWith(handlers, note, options, makeAnswer);
    server.fallbackRequestHandler = handle;
    if (era === 'modern') {
      letTasksThrough(server, handle);
    }
    return server;
  };
}

/** The requests that wait for a call. */
const CALLS: ReadonlySet<string> = new Set(['tools/call', 'tasks/result']);

type Handle = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;
type Handlers = Readonly<Record<string, (request: JSONRPCRequest, context: ServerContext) => Result | Promise<Result>>>;

/** @param note called before each request. */
function handleWith(
  handlers: Handlers,
  note: (context: ServerContext) => void,
  { hold, noteAnswer }: FrontOptions,
  makeAnswer: NonNullable<FrontOptions['makeAnswer']>,
): Handle {
  return (request, context) => {
    const handler = Object.hasOwn(handlers, request.method) ? handlers[request.method] : undefined;
    if (handler === undefined) {
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `Method not found: ${request.method}`);
    }
    note(context);
    return holding(hold, context, () =>
      CALLS.has(request.method)
        ? noted(Promise.resolve(handler(request, context)), noteAnswer, request, context)
        : makeAnswer(request.id, context.http?.req, async () => handler(request, context)).catch(refuse),
    );
  };
}

/** Of 2026-07-28, the SDK (2.4.0) refuses names of the core of 2025-11-25, unless they have a handler of their own. */
function letTasksThrough(server: Server, handle: Handle): void {
  for (const method of ['tasks/get', 'tasks/cancel']) {
    server.setRequestHandler(method, { params: z.looseObject({}) }, (params, context) =>
      handle({ jsonrpc: '2.0', id: context.mcpReq.id, method, params }, context),
    );
  }
}

/** The SDK (2.4.0) answers params that do not match its schemas as a fault of its own, with a dump of the schema checker. */
function answerInSentences(server: Server): void {
  const connect = server.connect.bind(server);
  server.connect = (transport) => {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const { error } = message as { readonly error?: { readonly message: string } };
      const explained = error === undefined ? undefined : explainSchemaIssues(error.message);
      return explained === error?.message
        ? send(message, options)
        : send(
            {
              ...message,
              error: { code: ProtocolErrorCode.InvalidParams, message: `Invalid params: ${explained}` },
            },
            options,
          );
    };
    return connect(transport);
  };
}

/** @param server of a client of 2025-11-25 or older. */
function clientOf(server: Server | undefined, { mcpReq }: ServerContext): ClientFacts {
  const envelope: unknown = mcpReq.envelope;
  return isObject(envelope)
    ? readClient(envelope[CLIENT_INFO_META_KEY], envelope[CLIENT_CAPABILITIES_META_KEY])
    : readClient(server?.getClientVersion(), server?.getClientCapabilities());
}

function patienceFor({ patienceOf }: FrontOptions, { name }: ClientFacts, { mcpReq }: ServerContext) {
  return patienceOf?.(name, mcpReq._meta?.progressToken !== undefined);
}

function noteClient({ onClient }: FrontOptions, { name }: ClientFacts): void {
  if (name !== undefined) {
    onClient?.(name);
  }
}

/** Holds the request until its work has ended, however it ends. */
function holding(hold: FrontOptions['hold'], { http }: ServerContext, work: () => Promise<Result>): Promise<Result> {
  const release = http?.req && hold?.(http.req);
  if (release === undefined) {
    return work();
  }
  try {
    return work().finally(release);
  } catch (error) {
    release();
    throw error;
  }
}

function receivedCall(
  { id, params }: JSONRPCRequest,
  tools: readonly FrontTool[],
  { http, mcpReq, sessionId }: ServerContext,
  server: Server,
): ReceivedCall {
  const envelope: unknown = mcpReq.envelope;
  const version: unknown = isObject(envelope) ? envelope[PROTOCOL_VERSION_META_KEY] : undefined;
  return {
    tool: tools.find(({ definition }) => definition.name === params?.name)?.definition.name,
    requestId: id,
    protocolVersion: typeof version === 'string' ? version : server.getNegotiatedProtocolVersion(),
    meta: mcpReq._meta,
    given: params?.arguments,
    http: http?.req && { headers: http.req.headers, session: sessionId },
  };
}

/** The same tool for a client that shows views. */
function inView(tool: FrontTool): FrontTool {
  return tool.view === undefined
    ? tool
    : {
        ...tool,
        async call(given) {
          const call = await tool.call(given);
          return call.kind === 'cell' ? { ...call, cell: { ...call.cell, wantsView: true } } : call;
        },
      };
}

/** The next one begins only when the client has read most of what was sent. */
function makeInTurn({ untilRoom }: FrontOptions): NonNullable<FrontOptions['makeAnswer']> {
  const inTurn = limitConcurrency(1);
  return (_id, _request, work) =>
    inTurn(async () => {
      await untilRoom?.();
      return work();
    });
}

async function noted(
  called: Promise<Result>,
  note: FrontOptions['noteAnswer'],
  { id }: JSONRPCRequest,
  { http }: ServerContext,
): Promise<Result> {
  const result = await called;
  note?.(id, http?.req, result);
  return result;
}

/** JSON-RPC leaves -32000 to -32099 to servers. */
const REFUSED = -32_000;

function refuse(error: unknown): never {
  if (error instanceof BridgeError) {
    throw new ProtocolError(REFUSED, renderError(error), { code: error.code });
  }
  throw error;
}

/** The options with what the other requests of the same message have. */
function ofRequest(options: FrontOptions, { http }: ServerContext): FrontOptions {
  const { untilRoom } = options;
  return http === undefined || untilRoom === undefined ? options : { ...options, untilRoom: () => untilRoom(http.req) };
}

type CallTool = (tool: FrontTool, given: unknown, context: ServerContext) => Promise<Result>;

/** What depends on the era. */
interface ServedEra {
  readonly callTool: CallTool;
  /** For a call that is to be a task; undefined if the server decides that. */
  readonly startTask?: CallTool;
  readonly aboutTasks: Handlers;
}

/** Until 2025-11-25, the server asks the client while its request waits. */
function serveLegacy(server: Server, options: FrontOptions, long: LongCells, tasks: LegacyTasks): ServedEra {
  // The SDK numbers its requests from 0, and its client of version 1 (1.32.2) never cancels request 0.
  const useUpFirstNumber = callOnce(() => void server.ping().catch(() => undefined));
  const personOf = (context: ServerContext, meta?: Readonly<Record<string, unknown>>) =>
    legacyPerson(server.getClientCapabilities(), context, useUpFirstNumber, meta);
  const answer = async (
    call: FrontCall,
    request: RequestContext & Pick<RunPythonCall, 'patienceMs'>,
    to: FrontOptions,
  ) => ({
    ...(call.kind === 'own'
      ? await call.answer(request)
      : await call.render(await answerInTime(to, { ...call.cell, ...request }, long))),
  });
  const callTool: CallTool = async (tool, given, context) => {
    const read = tool.call(given);
    const call = read instanceof Promise ? await read : read;
    const progress = createProgressReporter(context);
    const request = {
      signal: context.mcpReq.signal,
      onProgress: progress?.report,
      person: personOf(context),
      patienceMs: patienceFor(options, clientOf(server, context), context),
    };
    try {
      return await answer(call, request, ofRequest(options, context));
    } finally {
      progress?.stop();
    }
  };
  const startTask: CallTool = async (tool, given, context) => {
    const call = await tool.call(given);
    // Its answer is not that of a request, which would need room.
    return tasks.create((request) => answer(call, request, { ...options, untilRoom: undefined }), personOf(context));
  };
  const aboutTasks: Handlers = {
    'tasks/get': ({ params }) => tasks.get(params),
    'tasks/list': () => tasks.list(),
    'tasks/cancel': ({ params }) => tasks.cancel(params),
    'tasks/result': ({ params }, context) => tasks.result(params, context, personOf),
  };
  return { callTool, startTask, aboutTasks };
}

/** Since 2026-07-28, a question ends the request, and the client sends it again with the reply. */
function serveModern(
  options: FrontOptions,
  { long, ...kept }: { readonly long: LongCells; readonly undelivered: Undelivered; readonly tasks: Tasks },
): ServedEra {
  const calls = new SuspendedCalls({
    answer: (call) => answerInTime(options, call, long),
    ...kept,
    patienceOf: (context) => patienceFor(options, clientOf(undefined, context), context),
    capabilitiesOf: ({ mcpReq }) => capabilitiesIn(mcpReq.envelope),
  });
  return {
    callTool: (tool, given, context) =>
      calls.serve({ name: tool.definition.name, given }, context, () => tool.call(given)),
    aboutTasks: modernTaskHandlers(kept.tasks),
  };
}

/** The requests about tasks. Each throws -32021 if its client does not declare tasks. */
function modernTaskHandlers(tasks: Tasks): Handlers {
  const declared =
    (act: (params: unknown, replies: ServerContext['mcpReq']['inputResponses']) => Promise<Result>) =>
    ({ method, params }: JSONRPCRequest, { mcpReq }: ServerContext) => {
      if (!declaresTasks(capabilitiesIn(mcpReq.envelope))) {
        throw noTasks(method);
      }
      // The SDK has taken them out of the parameters.
      return act(params, mcpReq.inputResponses);
    };
  return {
    'tasks/get': declared((params) => tasks.get(params)),
    'tasks/update': declared((params, replies) => tasks.update(params, replies)),
    'tasks/cancel': declared((params) => tasks.cancel(params)),
  };
}

/** What a client of 2026-07-28 declares with a request. */
function capabilitiesIn(envelope: unknown): unknown {
  return (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
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
