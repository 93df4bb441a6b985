/** A stand-in for the server of `ui`, with the same headers: it says what a test wants, however hostile or large, and records requests. */
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { UiEvent } from '../../src/record/ui/schema.ts';
import type { UiSamples } from './ui-samples.ts';

const TOKEN = 'token-of-the-test';
const TYPES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
  'favicon.svg': 'image/svg+xml',
};
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

type Samples = { -readonly [Key in keyof UiSamples]: UiSamples[Key] };

export class UiMockServer {
  readonly samples: Samples;
  readonly requests: RecordedRequest[] = [];
  /** Contents of artifacts, by id. */
  readonly files = new Map<string, Buffer>();
  /** Answers of actions, by the end of their path; otherwise `{ok: true}`. */
  readonly answers = new Map<string, unknown>();
  readonly #folder: string;
  readonly #streams = new Set<ServerResponse>();
  readonly #server = createServer((request, response) => {
    this.#handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });

  constructor(folder: string, samples: UiSamples) {
    this.#folder = folder;
    this.samples = { ...samples };
  }

  /** The address that `ui` would print. */
  async listen(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    return `http://127.0.0.1:${this.port}/#token=${TOKEN}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get readers(): number {
    return this.#streams.size;
  }

  send(...events: UiEvent[]): void {
    events.forEach((event) => this.#note(event));
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    for (const stream of this.#streams) {
      stream.write(text);
    }
  }

  /** The overview may be read again at any time: it has the cells that run. */
  #note(event: UiEvent): void {
    if (event.type !== 'cell_started' && event.type !== 'cell_ended') {
      return;
    }
    const { overview } = this.samples;
    const sessions = overview.sessions.map((session) => {
      if (session.bridge !== event.bridge || session.name !== event.session) {
        return session;
      }
      const { cell: _, ...idle } = { ...session, state: 'idle' as const };
      return event.type === 'cell_ended' ? idle : { ...idle, state: 'running' as const, cell: begunCell(event) };
    });
    this.samples.overview = { ...overview, sessions };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Content-Security-Policy', PAGE_POLICY);
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    if (!pathname.startsWith('/api/')) {
      await this.#sendFile(pathname === '/' ? 'index.html' : pathname.slice(1), response);
      return;
    }
    if (request.headers.authorization !== `Bearer ${TOKEN}`) {
      sendJson(response, { error: { message: 'The token is missing or wrong.' } }, 401);
      return;
    }
    const method = request.method ?? 'GET';
    const body = method === 'POST' ? await json(request) : undefined;
    this.requests.push({ method, path: request.url ?? '', body });
    if (method !== 'GET') {
      this.#act(pathname, searchParams, response);
    } else if (pathname === '/api/events') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(': hello\n\n');
      this.#streams.add(response);
      response.on('close', () => this.#streams.delete(response));
    } else {
      this.#answer(pathname, searchParams, response);
    }
  }

  async #sendFile(name: string, response: ServerResponse): Promise<void> {
    const type = TYPES[name];
    if (type === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.setHeader('Content-Type', type);
    response.end(await readFile(join(this.#folder, name)));
  }

  #answer(pathname: string, query: URLSearchParams, response: ServerResponse): void {
    const { cell, history, overview, savings, servers, stored } = this.samples;
    const ofKind = /^\/api\/stored\/(packages|functions|checkpoints|artifacts)$/.exec(pathname)?.[1];
    if (/^\/api\/stored\/\w+\/content$/.test(pathname)) {
      const headers = { 'Content-Disposition': 'attachment', 'Content-Security-Policy': "sandbox; default-src 'none'" };
      response.writeHead(200, headers).end(this.files.get(query.get('id') ?? ''));
    } else if (ofKind !== undefined) {
      sendJson(response, { items: stored[ofKind as keyof typeof stored] });
    } else {
      const text = query.get('text') ?? '';
      const kind = query.get('kind') ?? '';
      const matching = history.items.filter(
        (item) => JSON.stringify(item).includes(text) && (kind === '' || item.kind === kind),
      );
      const answers: Readonly<Record<string, unknown>> = {
        '/api/overview': { ...overview, now: new Date().toISOString() },
        '/api/servers': servers,
        '/api/history': { ...history, items: matching },
        '/api/cells': cell,
        '/api/savings': savings,
      };
      const answer = answers[pathname];
      sendJson(response, answer ?? { error: { message: `No ${pathname}.` } }, answer === undefined ? 404 : 200);
    }
  }

  #act(pathname: string, query: URLSearchParams, response: ServerResponse): void {
    const [, bridge = '', id = ''] = /^\/api\/bridges\/([^/]+)\/approvals\/([^/]+)/.exec(pathname) ?? [];
    if (id !== '') {
      const { overview } = this.samples;
      this.samples.overview = { ...overview, approvals: overview.approvals.filter((approval) => approval.id !== id) };
      const at = new Date().toISOString();
      this.send({
        type: 'approval_answered',
        at,
        bridge,
        session: 'default',
        id,
        answered_by: 'operator',
        action: 'accept',
      });
    }
    const kind = /^\/api\/stored\/(\w+)$/.exec(pathname)?.[1] as keyof UiSamples['stored'] | undefined;
    if (kind !== undefined) {
      const { stored } = this.samples;
      this.samples.stored = { ...stored, [kind]: stored[kind].filter((item) => item.id !== query.get('id')) };
    }
    sendJson(response, this.answers.get(pathname.split('/').at(-1) ?? '') ?? { ok: true });
  }
}

function sendJson(response: ServerResponse, answer: unknown, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
}

function begunCell({ at, cell: id, code, servers, timeout_ms: timeoutMs }: Extract<UiEvent, { type: 'cell_started' }>) {
  const deadline = new Date(Date.parse(at) + timeoutMs).toISOString();
  const nothing = { output: '', output_chars: 0, calls: [], calls_running: 0, calls_ended: 0 };
  return { id, code, servers, started: at, deadline, ...nothing };
}
