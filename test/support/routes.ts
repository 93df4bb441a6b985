/** Small APIs for tests: a table of routes behind a check of the credential. */
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';

export interface ApiCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The body as JSON, or as the fields of a form. */
  fields(): Record<string, unknown>;
}

/** What it returns is sent as JSON; undefined if it answers itself. */
export type Route = (call: ApiCall) => unknown;

/** Routes by `METHOD /path`, where `*` stands for one segment, after `authorize`, which refuses by 401 if it returns false. */
export function routes(authorize: (call: ApiCall) => boolean, table: Readonly<Record<string, Route>>): RequestListener {
  const compiled = Object.entries(table).map(([key, route]) => ({
    pattern: new RegExp(`^${key.replaceAll('*', '[^/]+')}$`),
    route,
  }));
  return (request, response) => {
    const answer = (call: ApiCall): void => {
      const wanted = `${call.method} ${call.url.pathname}`;
      const found = compiled.find(({ pattern }) => pattern.test(wanted));
      if (!authorize(call)) {
        sendJson(
          response,
          { error: { message: 'no valid credential', type: 'authentication_error' } },
          { status: 401 },
        );
      } else if (found === undefined) {
        sendJson(response, { error: { message: `no ${wanted} here` } }, { status: 404 });
      } else {
        const value = found.route(call);
        if (value !== undefined) {
          sendJson(response, value);
        }
      }
    };
    // The client left in the middle, or the route has a fault: the client notices.
    readCall(request, response)
      .then(answer)
      .catch(() => response.destroy());
  };
}

export function sendJson(
  response: ServerResponse,
  value: unknown,
  { status = 200, headers = {} }: { readonly status?: number; readonly headers?: Record<string, string> } = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

/** Server-sent events, one at a time. Events with a `type` carry it as their name, too. */
export function sendEvents(response: ServerResponse, events: readonly (object | string)[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) {
    const name = typeof event === 'object' && 'type' in event ? `event: ${String(event.type)}\n` : '';
    response.write(`${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  }
  response.end();
}

async function readCall(request: IncomingMessage, response: ServerResponse): Promise<ApiCall> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) {
    chunks.push(chunk);
  }
  const { method = '', headers, url = '/' } = request;
  const body = Buffer.concat(chunks);
  const fields = (): Record<string, unknown> => {
    const text = body.toString('utf8');
    const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
    return isForm ? Object.fromEntries(new URLSearchParams(text)) : (JSON.parse(text) as Record<string, unknown>);
  };
  return { request, response, method, url: new URL(`http://api${url}`), headers, body, fields };
}
