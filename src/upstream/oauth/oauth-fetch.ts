/**
 * The `fetch` function for logins: bounded in time and size, and barred from private networks if the addresses come from a
 * server on the internet. The SDK decides what to request; this file decides what may be requested.
 */
import { isIP } from 'node:net';
import { messageOf } from '../../base/errors.ts';
import { type AddressRule, hostOf, ruleForAddressesFrom } from '../http/addresses.ts';
import { HttpClient, type HttpRequest, readBody } from '../http/http-client.ts';
import type { ProxyChoice } from '../http/proxies.ts';

/** Metadata and tokens take a few KiB. */
const MAX_BYTES = 1024 * 1024;
const MAX_MS = 30_000;

export interface OAuthFetch {
  readonly fetch: (input: string | URL, init?: RequestInit) => Promise<Response>;
  /** Like `fetch`, but without the body, which may be an endless stream. */
  readonly fetchHead: (input: string | URL, init?: RequestInit) => Promise<Response>;
  /** Throws if the browser must not be sent to the address. */
  checkAddress(url: URL): void;
  /** The last network error. The SDK ignores some of them. */
  lastFailure(): Error | undefined;
  close(): void;
}

/** A fetch for the login at `server`. That address is the user's own choice, so its origin may be in any network. */
export async function createOAuthFetch(server: URL, proxies: ProxyChoice): Promise<OAuthFetch> {
  const rule = await ruleForAddressesFrom(server);
  const guarded = new HttpClient({ rule, proxies });
  const own = new HttpClient({ proxies });
  let failure: Error | undefined;
  const ask = async (input: string | URL, init: RequestInit = {}, wantsBody = true): Promise<Response> => {
    const url = new URL(input);
    checkScheme(url);
    const signal = AbortSignal.timeout(MAX_MS);
    const client = url.origin === server.origin ? own : guarded;
    try {
      return await exchange(client, url, { ...init, signal }, wantsBody);
    } catch (error) {
      // Not a TypeError, which the SDK would take for a CORS failure of a browser and retry.
      const why = signal.aborted ? `no answer within ${MAX_MS / 1000} s` : messageOf(error);
      failure = new Error(`${url.origin} could not be reached: ${why}`, { cause: error });
      throw failure;
    }
  };
  return {
    fetch: ask,
    fetchHead: (input, init) => ask(input, init, false),
    checkAddress: (url) => checkAddress(url, server, rule),
    lastFailure: () => failure,
    close() {
      guarded.close();
      own.close();
    },
  };
}

async function exchange(
  client: HttpClient,
  url: URL,
  { signal, ...init }: RequestInit & { readonly signal: AbortSignal },
  wantsBody: boolean,
): Promise<Response> {
  const headers = Object.fromEntries(new Headers(init.headers));
  const body = init.body === undefined || init.body === null ? undefined : bodyText(init.body);
  const method = (init.method ?? 'GET').toUpperCase() as HttpRequest['method'];
  const response = await client.send({ url, method, headers, body, signal });
  if (!wantsBody) {
    response.body.destroy();
  }
  const bytes = wantsBody ? await readBody(response, MAX_BYTES) : Buffer.alloc(0);
  const copied = Object.entries(response.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  const mayHaveBody = response.status !== 204 && response.status !== 304 && response.status >= 200;
  return new Response(mayHaveBody ? new Uint8Array(bytes) : null, { status: response.status, headers: copied });
}

/** The SDK sends only strings and forms. */
function bodyText(body: NonNullable<RequestInit['body']>): string {
  if (typeof body === 'string' || body instanceof URLSearchParams) {
    return String(body);
  }
  throw new Error('a login request has a body of an unsupported type');
}

function checkScheme({ protocol }: URL): void {
  if (protocol !== 'https:' && protocol !== 'http:') {
    throw new Error(`an address with the scheme "${protocol}" is not allowed`);
  }
}

/** Only characters of RFC 3986, so that the program that opens the address gets no quote, backtick or pipe. */
const PLAIN_ADDRESS = /^[\w.~:/?#[\]@!$&'()*+,;=%-]+$/;

function checkAddress(url: URL, server: URL, rule: AddressRule): void {
  checkScheme(url);
  const host = hostOf(url);
  const isLocalName = host === 'localhost' || host.endsWith('.localhost');
  const refused = rule(isLocalName ? '127.0.0.1' : host);
  if (url.origin !== server.origin && (isIP(host) !== 0 || isLocalName) && refused !== undefined) {
    throw new Error(`${host} is not opened: ${refused}`);
  }
  if (url.username !== '' || url.password !== '' || !PLAIN_ADDRESS.test(url.href)) {
    throw new Error(`an address at ${host} with invalid characters or a password is not opened`);
  }
}
