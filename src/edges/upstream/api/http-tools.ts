/**
 * An API without a description: its tools are the methods of HTTP that its entry allows, each with any path. Code that uses the
 * library of an API sends the same requests, which then pass the gates as calls of these tools.
 */
import { EGRESS_METHODS, type EgressMethod, EgressRules, type EgressSource } from '../../../core/base/egress.ts';
import { isObject, type JsonObject } from '../../../core/base/is-object.ts';
import { stringifyExact } from '../../../core/protocol/exact-json.ts';
import type { HttpRequest } from '../http/http-client.ts';
import type { UpstreamTool } from '../tool-list.ts';
import { argumentError } from './argument-error.ts';
import type { AnyOperation } from './compiled-api.ts';
import { linesOf, type ReadApi, readLines } from './compiled-lines.ts';
import type { ApiDescription } from './description.ts';
import { isNothing, isScalar, pairsOf, percentEncode, Room, scalarText } from './parameter-values.ts';
import { naming } from './request-body.ts';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Set by the bridge, the entry or the connection. */
const OWN_HEADER =
  /^(?:host|connection|content-length|transfer-encoding|keep-alive|upgrade|expect|te|trailer|proxy-.*|forwarded|x-forwarded-.*|via|x-(?:http-)?method(?:-override)?)$/i;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_TEXT = /^[\t -~]*$/;
/** Without an entry that says more, its own origin. */
const NOTHING: EgressSource = { hosts: [], isPrivate: false, prefixes: {} };
/** As of other APIs. */
const MAX_QUERY_CHARS = 256 * 1024;

interface About {
  readonly host: string;
  /** How a call gets its credential, as a sentence. */
  readonly credential: string;
}

/** The tools of such an API, in place of those of a description. */
export class HttpTools implements ApiDescription {
  readonly #about: About;
  readonly #source: EgressSource;
  #read: ReadApi | undefined;

  constructor(about: About, source: EgressSource = NOTHING) {
    this.#about = about;
    this.#source = source;
  }

  get current(): ReadApi {
    if (this.#read === undefined) {
      throw new Error('the tools were not made');
    }
    return this.#read;
  }

  hasChanged(): boolean {
    return false;
  }

  async open(): Promise<void> {
    this.#read = await httpTools(this.#about, this.#source);
  }

  async refresh(): Promise<void> {}
}

async function httpTools(about: About, { methods = EGRESS_METHODS }: EgressSource): Promise<ReadApi> {
  const offered = EGRESS_METHODS.filter((method) => methods.includes(method));
  const lines = linesOf({
    title: about.host,
    version: '',
    instructions: '',
    addresses: [],
    credentials: [],
    tools: offered.map((method) => toolOf(method, about)),
    operations: Object.fromEntries(offered.map((method) => [method.toLowerCase(), { kind: 'any' as const, method }])),
    notices: [],
  });
  return readLines(lines.map((line) => Buffer.from(line)));
}

function toolOf(method: EgressMethod, { credential, host }: About): UpstreamTool {
  const takesBody = method !== 'GET' && method !== 'HEAD';
  return {
    name: method.toLowerCase(),
    description: `Sends ${method} to ${host}. ${credential}`,
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The path, or an address of a host that the entry allows.' },
        query: { type: 'object', description: 'Parameters of the query.' },
        headers: { type: 'object', additionalProperties: { type: 'string' } },
        ...(takesBody && { body: { description: 'A text is sent as it is, any other value as JSON.' } }),
      },
      required: ['path'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: READS.has(method), destructiveHint: !READS.has(method) },
  };
}

/** The request of a call. Throws a `RequestError` that names the argument at fault. */
export function anyRequest(
  { method }: AnyOperation,
  args: JsonObject,
  base: URL,
  source: EgressSource = NOTHING,
): HttpRequest {
  const { body, path, query = {}, headers = {}, ...others } = args;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw argumentError(unknown, 'is none of this tool; it takes path, query, headers and body');
  }
  const url = addressOf(path, query, base);
  const rules = new EgressRules(base.href, source);
  const refusal = rules.fit(url) === 0 ? 'the entry does not allow this host' : rules.refusal(method, url);
  if (refusal !== undefined) {
    throw argumentError('path', `is not allowed: ${refusal}`);
  }
  const sent = bodyOf(body);
  return { url, method, headers: { ...sent.headers, ...headersOf(headers) }, body: sent.content };
}

function addressOf(path: unknown, query: unknown, base: URL): URL {
  if (typeof path !== 'string' || !/^(?:\/(?![/\\])|https?:\/\/)/i.test(path) || !URL.canParse(path, base.origin)) {
    throw argumentError('path', 'must be a path that begins with "/", or an address');
  }
  const url = new URL(path, base.origin);
  // Policies have judged the text.
  const written = path.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '') || '/';
  if (url.pathname !== written || (/^http/i.test(path) && url.origin === base.origin)) {
    throw argumentError(
      'path',
      `must be written plainly: ${JSON.stringify(url.origin === base.origin ? url.pathname : url.origin + url.pathname)}`,
    );
  }
  [url.hash, url.username, url.password] = ['', '', ''];
  if (!isObject(query) || isScalar(query)) {
    throw argumentError('query', 'must be an object');
  }
  const form = { argument: 'query', in: 'query', style: 'form', explode: true, allowReserved: false } as const;
  const room = new Room(MAX_QUERY_CHARS);
  const pairs = naming('query', () =>
    Object.entries(query).flatMap(([name, value]) => {
      room.take(name.length, value);
      return isNothing(value) ? [] : pairsOf({ ...form, name }, value, percentEncode);
    }),
  );
  const added = pairs.map(([name, text]) => `${percentEncode(name)}=${text}`).join('&');
  url.search = [url.search.slice(1), added].filter((part) => part !== '').join('&');
  return url;
}

function headersOf(headers: unknown): Record<string, string> {
  if (!isObject(headers) || isScalar(headers)) {
    throw argumentError('headers', 'must be an object');
  }
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const text = isScalar(value) ? scalarText(value) : undefined;
      if (!TOKEN.test(name) || OWN_HEADER.test(name) || text === undefined || !HEADER_TEXT.test(text)) {
        throw argumentError('headers', `cannot have ${JSON.stringify(name.slice(0, 100))} with this value`);
      }
      return [name.toLowerCase(), text];
    }),
  );
}

function bodyOf(body: unknown): { readonly headers: Record<string, string>; readonly content?: string } {
  if (body === undefined || body === null) {
    return { headers: {} };
  }
  return typeof body === 'string'
    ? { headers: { 'content-type': 'text/plain; charset=utf-8' }, content: body }
    : { headers: { 'content-type': 'application/json' }, content: stringifyExact(body) };
}
