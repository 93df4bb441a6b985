/**
 * The `fetch` function for logins: bounded in time and size, and barred from private networks if the addresses come from a
 * server on the internet. The SDK decides what to request; this file decides what may be requested.
 */
import { messageOf } from '../../../core/base/errors.ts';
import {
  AddressRefusedError,
  type AddressRule,
  anyAddress,
  checkHost,
  hostOf,
  isPrivateAddress,
  publicAddress,
  type Resolve,
  ruleForAddressesFrom,
} from '../http/addresses.ts';
import { HttpClient, type HttpResponse, readBody } from '../http/http-client.ts';
import type { ProxyChoice } from '../http/proxies.ts';

/** Metadata and tokens take a few KiB. */
const MAX_BYTES = 1024 * 1024;
const MAX_MS = 30_000;

export interface OAuthFetch {
  readonly fetch: (input: string | URL, init?: RequestInit) => Promise<Response>;
  /** Like `fetch`, but without the body, which may be an endless stream. */
  readonly fetchHead: (input: string | URL, init?: RequestInit) => Promise<Response>;
  /** Rejects if the browser must not be sent to the address. */
  checkAddress(url: URL): Promise<void>;
  /** The last network error. The SDK ignores some of them. */
  lastFailure(): Error | undefined;
  close(): void;
}

interface OAuthFetchOptions {
  readonly proxies: ProxyChoice;
  /** Where the server was reached before, if it was; see `HttpResponse.from`. */
  readonly reached?: readonly (string | undefined)[];
  readonly resolve?: Resolve | undefined;
}

/** A fetch for the login at `server`. That address is the user's own choice, so its origin may be in any network. */
export function createOAuthFetch(server: URL, { proxies, reached = [], resolve }: OAuthFetchOptions): OAuthFetch {
  const reachedAt = new Set(reached);
  const rule = (): AddressRule => ruleForAddressesFrom(server, reachedAt);
  /** A server that was reached on the internet must not move into a private network in the middle of a login. */
  const ownRule = (): AddressRule =>
    [...reachedAt].some((address) => address !== undefined && !isPrivateAddress(address)) ? publicAddress : anyAddress;
  const guarded = new HttpClient({ rule, proxies, resolve });
  const own = new HttpClient({ rule: ownRule, proxies, resolve });
  let failure: Error | undefined;
  const ask = async (input: string | URL, init: RequestInit = {}, wantsBody = true): Promise<Response> => {
    const url = new URL(input);
    checkScheme(url);
    const signal = AbortSignal.timeout(MAX_MS);
    const isOwn = url.origin === server.origin;
    try {
      const response = await send(isOwn ? own : guarded, url, { ...init, signal });
      if (isOwn) {
        reachedAt.add(response.from);
      }
      return await toFetched(response, wantsBody);
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
    checkAddress: (url) => checkAddress(url, url.origin === server.origin ? anyAddress : rule(), resolve),
    lastFailure: () => failure,
    close() {
      guarded.close();
      own.close();
    },
  };
}

function send(
  client: HttpClient,
  url: URL,
  { signal, ...init }: RequestInit & { readonly signal: AbortSignal },
): Promise<HttpResponse> {
  const headers = Object.fromEntries(new Headers(init.headers));
  const body = init.body === undefined || init.body === null ? undefined : bodyText(init.body);
  const method = (init.method ?? 'GET').toUpperCase();
  return client.send({ url, method, headers, body, signal });
}

async function toFetched(response: HttpResponse, wantsBody: boolean): Promise<Response> {
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

async function checkAddress(url: URL, rule: AddressRule, resolve: Resolve | undefined): Promise<void> {
  checkScheme(url);
  const host = hostOf(url);
  if (url.username !== '' || url.password !== '' || !PLAIN_ADDRESS.test(url.href)) {
    throw new Error(`an address at ${host} with invalid characters or a password is not opened`);
  }
  await checkHost(host, rule, resolve).catch((error: unknown) => {
    throw error instanceof AddressRefusedError ? new Error(`${host} is not opened: ${error.reason}`) : error;
  });
}
