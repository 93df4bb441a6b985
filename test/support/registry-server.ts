/** An MCP registry on 127.0.0.1, with the API and the schema of the official one, and servers that a test names. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const OFFICIAL = 'io.modelcontextprotocol.registry/official';

export interface RegistryServer {
  /** For `MCP_BRIDGE_REGISTRY`. */
  readonly url: string;
  /** Path and query of every request so far. */
  readonly requests: readonly string[];
  /** Each in the form of `server.json`, with the status that the registry adds. */
  readonly servers: RegisteredServer[];
  /** Answers each request with this instead, until it is undefined. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  close(): Promise<void>;
}

export type RegisteredServer = Readonly<Record<string, unknown>> & {
  readonly name: string;
  readonly status?: string;
  readonly isLatest?: boolean;
};

/** @param api the version of the API that it has. */
export async function startRegistry(
  servers: RegisteredServer[],
  { api = 'v0.1' }: { api?: 'v0' | 'v0.1' } = {},
): Promise<RegistryServer> {
  const requests: string[] = [];
  const registry: { answer: RegistryServer['answer'] } = { answer: undefined };
  const listener = createServer((request, response) => {
    requests.push(request.url ?? '');
    if (registry.answer !== undefined) {
      registry.answer(request, response);
      return;
    }
    const url = new URL(request.url ?? '/', 'http://registry');
    if (url.pathname !== `/${api}/servers`) {
      response.writeHead(404).end('{"title":"Not Found"}');
      return;
    }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(pageOf(servers, url.searchParams)));
  });
  await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  return Object.assign(registry, {
    url: `http://127.0.0.1:${port}`,
    requests,
    servers,
    close: async () => {
      listener.closeAllConnections();
      await new Promise((resolve) => void listener.close(resolve));
    },
  });
}

function pageOf(servers: readonly RegisteredServer[], query: URLSearchParams) {
  const word = (query.get('search') ?? '').toLowerCase();
  const found = servers.filter(({ name }) => name.toLowerCase().includes(word));
  const [start, limit] = [Number(query.get('cursor') ?? 0), Number(query.get('limit') ?? 30)];
  const page = found.slice(start, start + limit);
  const next = start + limit < found.length ? { nextCursor: String(start + limit) } : {};
  return { servers: page.map(itemOf), metadata: { count: page.length, ...next } };
}

function itemOf({ isLatest = true, status = 'active', ...server }: RegisteredServer) {
  const dates = { publishedAt: '2026-01-01T00:00:00Z', updatedAt: '2026-01-01T00:00:00Z' };
  const schema = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
  return {
    server: { $schema: schema, description: '', version: '1.0.0', ...server },
    _meta: { [OFFICIAL]: { status, isLatest, ...dates } },
  };
}
