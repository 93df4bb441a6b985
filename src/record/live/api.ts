/**
 * The routes of the local API: what is asked, of which bridge, and the answer. It knows nothing of sockets. What it can do, the command
 * line and the tools of the client can do as well; docs/live.md says which.
 */
import { type ErrorCode, toBridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { MAX_CODE_BYTES } from '../../core/base/limits.ts';
import { replyOf } from '../../core/base/replies.ts';
import { VERSION } from '../../core/base/version.ts';
import type { WaitingQuestions } from '../../core/base/waiting-question.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import { answerWaiting, ofSchedule } from '../local-api/approval.ts';
import type { BridgeInfo } from '../local-api/schema.ts';
import type { WatchedBridge } from './watched-bridge.ts';

export interface ApiRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The parsed body; undefined if there is none. */
  readonly body: unknown;
}

export interface ApiAnswer {
  readonly status: number;
  readonly json: unknown;
}

export interface ApiParts {
  readonly settings: Settings;
  /** When the process started, in milliseconds since 1970. */
  readonly startedAt: number;
  readonly transport: BridgeInfo['transport'];
  readonly bridges: () => readonly WatchedBridge[];
  /** Questions of scheduled runs of the user. */
  readonly waiting: WaitingQuestions;
}

/** A path of which `events` are asked is answered by a stream instead. */
export const EVENTS_PATH = '/v1/events';

/** Never rejects. */
export async function answerApi(request: ApiRequest, parts: ApiParts): Promise<ApiAnswer> {
  try {
    return await route(request, parts);
  } catch (error) {
    if (error instanceof ApiRefusal) {
      return refusal(error.status, error.code, error.message, error.hint);
    }
    const { code, message, hint } = toBridgeError(error);
    return refusal(code === 'SERVER_UNKNOWN' ? 404 : 502, code, message, hint);
  }
}

export function refusal(status: number, code: ErrorCode, message: string, hint?: string): ApiAnswer {
  return { status, json: { error: { code, message, ...(hint !== undefined && { hint }) } } };
}

class ApiRefusal extends Error {
  readonly status: number;
  readonly code: ErrorCode;
  readonly hint: string | undefined;

  constructor(status: number, message: string, hint?: string, code: ErrorCode = 'HTTP_REFUSED') {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

type Route = (request: ApiRequest, parts: ApiParts) => unknown;

const COLLECTIONS: Readonly<Record<string, Route>> = {
  '/v1/bridge': (_, parts) => describeBridge(parts),
  '/v1/sessions': (_, { bridges }) => bridges().flatMap((bridge) => bridge.sessions()),
  '/v1/approvals': async (_, { bridges, waiting }) => [
    ...bridges().flatMap((bridge) => bridge.approvals()),
    ...(await waiting.open()).map(ofSchedule),
  ],
  '/v1/servers': (_, { bridges }) => bridges().flatMap((bridge) => bridge.servers()),
};

async function route(request: ApiRequest, parts: ApiParts): Promise<ApiAnswer> {
  const { method, path } = request;
  const read = Object.hasOwn(COLLECTIONS, path) ? COLLECTIONS[path] : undefined;
  if (read !== undefined) {
    needMethod(method, 'GET');
    return { status: 200, json: await read(request, parts) };
  }
  const [kind, name, action, ...more] = partsOf(path);
  const change = more.length === 0 && name !== undefined ? changeOf(kind, action) : undefined;
  if (change === undefined || name === undefined) {
    throw new ApiRefusal(404, `There is no ${shown(path)}.`, 'GET /v1/bridge describes the bridge.');
  }
  needMethod(method, 'POST');
  return { status: 200, json: await change(name, request, parts) };
}

type Change = (name: string, request: ApiRequest, parts: ApiParts) => unknown;

function changeOf(kind: string | undefined, action: string | undefined): Change | undefined {
  const table = kind !== undefined && Object.hasOwn(CHANGES, kind) ? CHANGES[kind] : undefined;
  return table !== undefined && Object.hasOwn(table, action ?? '') ? table[action ?? ''] : undefined;
}

const CHANGES: Readonly<Record<string, Readonly<Record<string, Change>>>> = {
  sessions: {
    interrupt: (name, request, parts) => {
      const done = chooseBySession(name, request, parts).interrupt(name);
      return done ? { interrupted: name } : conflict(`No cell of the session '${shown(name)}' runs.`);
    },
    run: async (name, request, parts) => {
      const { body } = request;
      const code = isObject(body) ? body['code'] : undefined;
      if (typeof code !== 'string' || code.trim() === '' || Buffer.byteLength(code) > MAX_CODE_BYTES) {
        throw new ApiRefusal(400, `The body must be {"code": …} with at most ${MAX_CODE_BYTES} bytes of Python.`);
      }
      const bridge = chooseBySession(name, request, parts);
      const session = bridge.sessions().find((one) => one.name === name);
      if (session === undefined || session.state === 'running') {
        return conflict(`A cell of the session '${shown(name)}' runs.`, 'Interrupt it, or wait until it has ended.');
      }
      return { cell: await bridge.run(session, code) };
    },
    end: async (name, request, parts) => {
      const done = await chooseBySession(name, request, parts).end(name);
      return done ? { ended: name } : conflict(`The session '${shown(name)}' has no sandbox.`);
    },
    hibernate: async (name, request, parts) => {
      const done = await chooseBySession(name, request, parts).hibernate(name);
      const why = 'A cell runs, its variables cannot be saved, MCP_BRIDGE_CHECKPOINT is off, or it has no sandbox.';
      return done ? { hibernated: name } : conflict(`The session '${shown(name)}' was not let go.`, why);
    },
  },
  approvals: { '': answerQuestion },
  servers: {
    start: async (name, request, parts) => {
      const { bridge, server } = chooseByServer(name, request, parts);
      await bridge.startServer(server, false);
      return { started: name };
    },
    refresh: async (name, request, parts) => {
      const { bridge, server } = chooseByServer(name, request, parts);
      await bridge.startServer(server, true);
      return { refreshed: name };
    },
    stop: async (name, request, parts) => {
      const { bridge, server } = chooseByServer(name, request, parts);
      await bridge.stopServer(server);
      return { stopped: name };
    },
  },
};

async function answerQuestion(id: string, { body }: ApiRequest, { bridges, waiting }: ApiParts): Promise<unknown> {
  const bridge = bridges().find((each) => each.question(id) !== undefined);
  const open = bridge?.question(id);
  const reply = open === undefined ? await answerWaiting(waiting, id, body) : replyOf(open.question, body);
  if (reply === undefined) {
    throw new ApiRefusal(404, `No question ${shown(id)} waits.`, 'It may have been answered in the client.');
  }
  if (typeof reply === 'string') {
    throw new ApiRefusal(400, reply);
  }
  bridge?.answer(id, reply);
  return { answered: id, action: reply.action };
}

function chooseBySession(name: string, request: ApiRequest, { bridges }: ApiParts): WatchedBridge {
  const found = ofQuery(bridges(), request).filter((bridge) => bridge.sessions().some((one) => one.name === name));
  return onlyOne(found, `session '${shown(name)}'`, 'SESSION');
}

function chooseByServer(name: string, request: ApiRequest, { bridges }: ApiParts) {
  const found = ofQuery(bridges(), request).filter((bridge) => bridge.findServer(name) !== undefined);
  const bridge = onlyOne(found, `server '${shown(name)}'`, 'SERVER');
  const server = bridge.findServer(name);
  if (server === undefined) {
    throw new ApiRefusal(404, `There is no server '${shown(name)}'.`);
  }
  return { bridge, server };
}

/** An empty text in the query means that there is none. */
function ofQuery(bridges: readonly WatchedBridge[], { query }: ApiRequest): readonly WatchedBridge[] {
  return bridges.filter(({ whose }) =>
    (['principal', 'profile'] as const).every((key) => !query.has(key) || query.get(key) === (whose[key] ?? '')),
  );
}

function onlyOne(found: readonly WatchedBridge[], what: string, kind: string): WatchedBridge {
  const [first, ...others] = found;
  if (first === undefined) {
    throw new ApiRefusal(404, `There is no ${what}.`, `GET /v1/${kind.toLowerCase()}s lists them.`);
  }
  if (others.length > 0) {
    throw new ApiRefusal(409, `Several principals have a ${what}.`, 'Say which: add ?principal=NAME or ?profile=NAME.');
  }
  return first;
}

function conflict(message: string, hint?: string): never {
  throw new ApiRefusal(409, message, hint);
}

function needMethod(method: string, wanted: string): void {
  if (method !== wanted) {
    throw new ApiRefusal(405, `This path takes ${wanted}, not ${shown(method)}.`);
  }
}

function describeBridge({ bridges, settings, startedAt, transport }: ApiParts): BridgeInfo {
  const all = bridges();
  const engine = all.map((bridge) => bridge.engine).find((each) => each !== undefined);
  const client = all[0]?.client;
  return {
    pid: process.pid,
    version: VERSION,
    started: new Date(startedAt).toISOString(),
    transport,
    ...(transport === 'stdio' && client !== undefined && { client }),
    ...(engine !== undefined && { engine }),
    memory_bytes: process.memoryUsage.rss(),
    folder: process.cwd(),
    state_dir: settings.stateDir,
    settings: {
      runtime: settings.runtime,
      memory_bytes: settings.memoryBytes,
      timeout_seconds: settings.timeoutSeconds,
      idle_seconds: settings.idleTimeoutMs / 1000,
      max_sessions: settings.maxSessions,
      checkpoint: settings.checkpoint,
      audit: settings.audit,
    },
  };
}

/** `sessions`, NAME, `interrupt`. A name may have been encoded. */
function partsOf(path: string): readonly string[] {
  const [empty, version, ...parts] = path.split('/');
  if (empty !== '' || version !== 'v1') {
    return [];
  }
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return [];
  }
}

const MAX_SHOWN_CHARS = 100;

function shown(text: string): string {
  return text.slice(0, MAX_SHOWN_CHARS);
}
