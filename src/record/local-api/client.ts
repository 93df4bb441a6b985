/**
 * Talks to the running bridges of a state directory. One process over HTTP serves several principals, and its API shows all of them, so
 * their folders need not be searched.
 */
import { type IncomingMessage, request } from 'node:http';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { findEndpoints, type LiveEndpoint } from './endpoints.ts';
import {
  API_HOST,
  type BridgeInfo,
  type LiveApproval,
  type LiveEvent,
  type LiveServer,
  type LiveSession,
} from './schema.ts';

/** A bridge that is busy for longer is not shown. Chosen. */
const ANSWER_MS = 5_000;
/** Chosen: sixteen sessions with long code have less. */
const MAX_ANSWER_BYTES = 64 * 1024 ** 2;
/** Of one event, whose code may be long. */
const MAX_EVENT_CHARS = 16 * 1024 ** 2;

/** One running bridge. */
export interface LiveClient {
  /** Name of its socket, which no other bridge has at the same time. */
  readonly id: string;
  readonly pid: number;
  /** Rejects if the bridge has ended, or refuses. */
  get(path: string): Promise<unknown>;
  post(path: string, body?: unknown): Promise<unknown>;
  /** Resolves when nothing that happens from now on is missed. The events end with the stream, or when `signal` aborts. */
  events(signal: AbortSignal): Promise<AsyncGenerator<LiveEvent>>;
}

/** In the order of their start, as far as process ids show it. Whether they answer is not known yet. */
export async function findBridges(stateDir: string): Promise<LiveClient[]> {
  const endpoints = await findEndpoints(stateDir);
  return endpoints.toSorted((a, b) => a.pid - b.pid).map(createClient);
}

/** A bridge and what it does now. */
export interface SeenBridge {
  readonly id: string;
  readonly info: BridgeInfo;
  readonly sessions: readonly LiveSession[];
  readonly approvals: readonly LiveApproval[];
  readonly servers: readonly LiveServer[];
}

/** What those say that answer; others have just ended, or are stopped. */
export async function describeBridges(clients: readonly LiveClient[]): Promise<SeenBridge[]> {
  const seen = await Promise.all(clients.map(async (client) => describe(client).catch(() => undefined)));
  return seen.filter((one) => one !== undefined);
}

async function describe(client: LiveClient): Promise<SeenBridge> {
  const [info, sessions, approvals, servers] = await Promise.all(
    ['bridge', 'sessions', 'approvals', 'servers'].map((name) => client.get(`/v1/${name}`)),
  );
  return {
    id: client.id,
    // A bridge of the same user has checked nothing else about us; a test validates what it sends.
    info: info as BridgeInfo,
    sessions: sessions as readonly LiveSession[],
    approvals: approvals as readonly LiveApproval[],
    servers: servers as readonly LiveServer[],
  };
}

function createClient({ id, pid, socket }: LiveEndpoint): LiveClient {
  return {
    id,
    pid,
    get: (path) => ask(socket, 'GET', path, undefined),
    post: (path, body) => ask(socket, 'POST', path, body),
    events: (signal) => openEvents(socket, signal),
  };
}

async function ask(socket: string, method: string, path: string, body: unknown): Promise<unknown> {
  // Saving a session, and starting a server, take as long as they take.
  const limit = method === 'GET' ? AbortSignal.timeout(ANSWER_MS) : undefined;
  const response = await open(socket, { method, path, body, signal: limit });
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) {
      throw new Error('the answer of the bridge is too long');
    }
    chunks.push(chunk);
  }
  const json = valueIn(Buffer.concat(chunks));
  const { statusCode = 0 } = response;
  if (statusCode !== 200) {
    throw toError(json, statusCode);
  }
  return json;
}

function valueIn(text: Buffer | string): unknown {
  const read = readUntrusted(text, JSON_BOUNDS.publication);
  if (!read.ok) {
    throw new Error(`the answer of the bridge is ${read.reason}`);
  }
  return read.value;
}

async function openEvents(socket: string, signal: AbortSignal): Promise<AsyncGenerator<LiveEvent>> {
  const response = await open(socket, { method: 'GET', path: '/v1/events', body: undefined, signal });
  if (response.statusCode !== 200) {
    response.destroy();
    throw toError(undefined, response.statusCode ?? 0);
  }
  return readEvents(response);
}

async function* readEvents(response: IncomingMessage): AsyncGenerator<LiveEvent> {
  let text = '';
  response.setEncoding('utf8');
  for await (const chunk of response as AsyncIterable<string>) {
    text += chunk;
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    if (text.length > MAX_EVENT_CHARS) {
      throw new Error('an event of the bridge is too long');
    }
    for (const part of parts) {
      const data = part.split('\n').find((line) => line.startsWith('data: '));
      if (data !== undefined) {
        yield valueIn(data.slice('data: '.length)) as LiveEvent;
      }
    }
  }
}

interface Asking {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly signal: AbortSignal | undefined;
}

function open(socketPath: string, { method, path, body, signal }: Asking): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = { Host: API_HOST, ...(text !== undefined && { 'Content-Type': 'application/json' }) };
    const sent = request({ socketPath, method, path, headers, agent: false, ...(signal && { signal }) }, resolve);
    sent.once('error', (error) => reject(noAnswer(error)));
    sent.end(text);
  });
}

/** A refusal of the bridge, with its HTTP status as `data.status`. */
function toError(json: unknown, status: number): BridgeError {
  const { error } = Object(json) as { readonly error?: { readonly message?: unknown; readonly hint?: unknown } };
  const message = typeof error?.message === 'string' ? error.message : `the bridge answered with status ${status}`;
  return new BridgeError('USAGE_INVALID', message, {
    ...(typeof error?.hint === 'string' && { hint: error.hint }),
    data: { status },
  });
}

function noAnswer(cause: Error): BridgeError {
  return new BridgeError('USAGE_INVALID', `the bridge does not answer: ${messageOf(cause)}`, { cause });
}
