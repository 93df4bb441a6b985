/** The server of `ui` with a bridge that is no process: its local API is real, its sessions and servers are not. */
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createContext } from '../../src/app/bridge/context.ts';
import { uiParts } from '../../src/app/cli/ui-parts.ts';
import type { SessionView } from '../../src/core/session/session.ts';
import { QuestionQueue } from '../../src/features/waiting-questions/question-queue.ts';
import { serveApi } from '../../src/record/live/api-server.ts';
import { EventStreams } from '../../src/record/live/event-streams.ts';
import { WatchedBridge } from '../../src/record/live/watched-bridge.ts';
import { createEndpoint } from '../../src/record/local-api/endpoints.ts';
import type { UiParts } from '../../src/record/ui/parts.ts';
import { type ListeningUi, serveUi } from '../../src/record/ui/server.ts';

export function newStateDir(): string {
  const stateDir = mkdtempSync(join(tmpdir(), 'ui-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  return stateDir;
}

interface StartUi {
  readonly stateDir?: string;
  readonly pageFolder?: string;
  readonly parts?: Partial<UiParts>;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Got {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly json: unknown;
}

export interface Ask {
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: unknown;
  /** Instead of JSON. */
  readonly text?: string;
}

export interface StartedUi extends ListeningUi {
  readonly stateDir: string;
  /** With the token. */
  ask(method: string, path: string, given?: Ask): Promise<Got>;
  /** Without anything but what is given. */
  raw(method: string, path: string, given?: Ask): Promise<Got>;
  /** The events from now on, until the test has ended. */
  events(): Promise<{ readonly seen: readonly Record<string, unknown>[] }>;
}

export async function startUi({
  env = {},
  pageFolder = '/nothing',
  parts = {},
  ...given
}: StartUi = {}): Promise<StartedUi> {
  const stateDir = given.stateDir ?? newStateDir();
  const environment = { HOME: stateDir, MCP_BRIDGE_STATE_DIR: stateDir, MCP_BRIDGE_LOG_LEVEL: 'error', ...env };
  const context = { ...createContext(environment), env: environment };
  const server = await serveUi({ port: 0, context, parts: { ...uiParts, ...parts }, pageFolder });
  onTestFinished(() => server.close());
  const raw: StartedUi['raw'] = (method, path, ask) => send({ ...ask, method, path, port: server.port });
  const withToken = (ask: Ask = {}): Ask => ({
    ...ask,
    headers: {
      Host: `127.0.0.1:${server.port}`,
      Authorization: `Bearer ${server.token}`,
      ...((ask.body !== undefined || ask.text !== undefined) && { 'Content-Type': 'application/json' }),
      ...ask.headers,
    },
  });
  return {
    ...server,
    stateDir,
    raw,
    ask: (method, path, ask) => raw(method, path, withToken(ask)),
    events: () => follow(server.port, withToken().headers ?? {}),
  };
}

interface Sent extends Ask {
  readonly port: number;
  readonly method: string;
  readonly path: string;
}

function send({ body, headers = {}, method, path, port, text }: Sent): Promise<Got> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, headers, agent: false, setHost: false };
    const sent = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => {
        const received = Buffer.concat(chunks).toString('utf8');
        const { headers: got, statusCode: status = 0 } = response;
        resolve({ status, headers: got, text: received, json: jsonOf(received) });
      });
    });
    sent.once('error', reject);
    sent.end(text ?? (body === undefined ? undefined : JSON.stringify(body)));
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function follow(port: number, headers: NonNullable<Ask['headers']>) {
  return new Promise<{ readonly seen: readonly Record<string, unknown>[] }>((resolve, reject) => {
    const seen: Record<string, unknown>[] = [];
    const sent = request({ host: '127.0.0.1', port, path: '/api/events', headers, agent: false }, (response) => {
      if (response.statusCode !== 200) {
        reject(new Error(`status ${response.statusCode}`));
        return;
      }
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => {
        const parts = (text + more).split('\n\n');
        text = parts.pop() ?? '';
        seen.push(
          ...parts.filter((part) => part.startsWith('data: ')).map((part) => JSON.parse(part.slice('data: '.length))),
        );
      });
      resolve({ seen });
    });
    sent.once('error', reject);
    onTestFinished(() => void sent.destroy());
    sent.end();
  });
}

const VIEW: SessionView = {
  name: 'work',
  state: 'idle',
  engine: 'podman',
  generation: 1,
  cells: 3,
  waiting: 0,
  servers: ['files'],
  ageMs: 10,
  idleMs: 5,
  names: { variables: ['a'], functions: [], imports: [], omitted: 0 },
  memoryBytes: 30_000_000,
  saved: undefined,
};

/** A bridge that can be watched, with one session and one server. */
export async function startFakeBridge(
  stateDir: string,
  { principal, views = [VIEW] }: { readonly principal?: string; readonly views?: readonly SessionView[] } = {},
) {
  const { settings } = createContext({ HOME: stateDir, MCP_BRIDGE_STATE_DIR: stateDir });
  const done: string[] = [];
  const events = new EventStreams();
  const server = { name: 'files', alias: 'files', description: '' };
  const bridge = new WatchedBridge({
    id: 'a1b2c3d4-0001',
    principal,
    profile: undefined,
    client: () => 'tests',
    mask: (text) => text,
    events,
    timeoutMs: 30_000,
    sessions: () => ({
      views: () => [...views],
      kill: async (name) => Boolean(done.push(`end ${name}`)),
      hibernate: async () => false,
    }),
    servers: {
      refresh: () => undefined,
      known: {
        servers: () => [server],
        metadata: () => ({ tools: [{}, {}] }) as never,
        refresh: async () => ({}) as never,
      },
      pool: {
        states: () => [{ name: 'files', state: 'ready', pid: 7, requests: 0, failures: 0 }] as never,
        stop: async (name) => void done.push(`stop ${name}`),
        forgetListing: () => undefined,
      },
    },
    onAnswered: ({ action, choice }) => void done.push(`answered ${choice ?? action}`),
  });
  const endpoint = await createEndpoint({ stateDir, hasMounts: false });
  const waiting = new QuestionQueue(stateDir);
  const parts = { settings, startedAt: Date.now(), transport: 'stdio', bridges: () => [bridge], waiting } as const;
  const api = await serveApi(endpoint.socket, parts, events);
  await endpoint.publish();
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) {
      isOpen = false;
      await endpoint.remove();
      events.close('it has ended');
      await api.close();
    }
  };
  onTestFinished(close);
  return { bridge, close, done, events, socket: endpoint.socket };
}
