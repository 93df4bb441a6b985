/** Sends requests to one remote server with its headers and its login, and explains refusals. */
import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { BridgeError } from '../../../core/base/errors.ts';
import { escapeControls } from '../../../core/base/log.ts';
import { MASK } from '../result-mask.ts';
import { HttpClient, type HttpRequest, type HttpResponse, readBody } from './http-client.ts';
import type { ProxyChoice } from './proxies.ts';
import { explainRedirect } from './redirects.ts';
import { RemoteFailure, type RemoteFailureKind, refusesHostName, unreachable } from './remote-failure.ts';

/** How much of a refusal's body is read, and for how long. */
const MAX_REFUSAL_BYTES = 64 * 1024;
const MAX_REFUSAL_MS = 5_000;
const SHOWN_CHARS = 300;
/** Answers to requests of the server that it has not accepted yet. Chosen: as many as it may have questions open. */
const MAX_ANSWERS = 32;
/** Their length together. They repeat the id that the server chose. Chosen. */
const MAX_ANSWER_CHARS = 4 * 1024 * 1024;

/** The credentials of a connection: the login of a user. */
export interface Authorization {
  /** The current value of the `Authorization` header, read again for each request; undefined if there is none. */
  header(): Promise<string | undefined>;
  /**
   * Called when the server refused `used` with this `WWW-Authenticate`. Resolves if there are new credentials to try.
   * Rejects with `LOGIN_REQUIRED` if a person must log in. Never opens a browser.
   */
  renew(refusal: TokenRefusal): Promise<void>;
  /** The secrets of the login; the same array as long as the login is the same. */
  secrets(): readonly string[];
  /** The `LOGIN_REQUIRED` error for a scope that the login lacks. */
  lacksScope(scope: string | undefined): BridgeError;
}

export interface TokenRefusal {
  readonly used: string | undefined;
  readonly challenge: string | undefined;
  /** The IP address that refused; undefined behind a proxy. */
  readonly from: string | undefined;
}

export interface RemoteAddress {
  readonly url: URL;
  /** Headers of the entry, sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined if the entry has its own `Authorization` header. */
  readonly authorization: Authorization | undefined;
  readonly proxies: ProxyChoice;
}

export class RemoteClient {
  readonly #address: RemoteAddress;
  readonly #http: HttpClient;
  /** The `Authorization` value sent last. A server may repeat it in a refusal. */
  #login: string | undefined;
  #answers = 0;
  #answerChars = 0;

  constructor(address: RemoteAddress) {
    this.#address = address;
    this.#http = new HttpClient({ proxies: address.proxies });
  }

  /**
   * Sends one request, and sends it again if the login could be renewed. Rejects with a `RemoteFailure` or with
   * `LOGIN_REQUIRED`. A response with any status but 401 is returned as it is.
   */
  async send(request: HttpRequest): Promise<HttpResponse> {
    const { authorization } = this.#address;
    const used = await authorization?.header();
    const response = await this.#sendWith(request, used);
    if (response.status !== 401) {
      return this.#withoutLogin(plain(response));
    }
    response.body.destroy();
    if (authorization === undefined) {
      throw new RemoteFailure('login', 'requires credentials that its entry does not have (HTTP 401)', { status: 401 });
    }
    await authorization.renew({ used, challenge: response.headers['www-authenticate'], from: response.from });
    const second = await this.#sendWith(request, await authorization.header());
    if (second.status === 401) {
      second.body.destroy();
      throw new RemoteFailure('login', 'refused a login that was just renewed (HTTP 401)', { status: 401 });
    }
    return this.#withoutLogin(plain(second));
  }

  /** What an unsuccessful response means. Rejects with `LOGIN_REQUIRED` if a scope is missing. */
  async refusalOf(response: HttpResponse): Promise<Refused> {
    const scope = missingScope(response);
    if (scope !== undefined && this.#address.authorization !== undefined) {
      response.body.destroy();
      throw this.#address.authorization.lacksScope(scope === '' ? undefined : scope);
    }
    const text = this.maskLogin(await readRefusal(response));
    const redirect = explainRedirect(response.url, response);
    const shown = redirect ?? `answered HTTP ${response.status}${quote(response, text)}`;
    return {
      status: response.status,
      text,
      failure: new RemoteFailure(kindOf(response.status, text), shown, response),
    };
  }

  /**
   * Sends the answer to a request of the server. A server that asks without end, and never accepts an answer, gets no further
   * ones: they would fill the memory, and the sockets that calls need.
   */
  async sendAnswer(request: HttpRequest & { readonly body: string }): Promise<HttpResponse | undefined> {
    const chars = request.body.length;
    if (this.#answers >= MAX_ANSWERS || this.#answerChars + chars > MAX_ANSWER_CHARS) {
      return undefined;
    }
    this.#answers += 1;
    this.#answerChars += chars;
    try {
      return await this.send(request);
    } finally {
      this.#answers -= 1;
      this.#answerChars -= chars;
    }
  }

  close(): void {
    this.#http.close();
  }

  /** Masks the token of the login. Secrets of the entry are masked where errors are made. */
  maskLogin(text: string): string {
    const token = this.#login?.replace(/^\w+ /, '') ?? '';
    return token === '' ? text : text.replaceAll(token, MASK).replaceAll(token.toLowerCase(), MASK);
  }

  /** Messages quote these headers. */
  #withoutLogin(response: HttpResponse): HttpResponse {
    const headers = { ...response.headers };
    for (const name of ['content-type', 'location', 'www-authenticate'] as const) {
      const value = headers[name];
      if (value !== undefined) {
        headers[name] = this.maskLogin(value);
      }
    }
    return { ...response, headers };
  }

  async #sendWith(request: HttpRequest, authorization: string | undefined): Promise<HttpResponse> {
    const login = authorization === undefined ? {} : { authorization };
    this.#login = authorization ?? this.#login;
    try {
      return await this.#http.send({ ...request, headers: { ...this.#address.headers, ...login, ...request.headers } });
    } catch (error) {
      throw error instanceof BridgeError ? error : unreachable(error);
    }
  }
}

export interface Refused {
  readonly status: number;
  readonly text: string;
  readonly failure: RemoteFailure;
}

/**
 * A refusal as an error of the SDK, whose client uses the status to find out which protocol era the server speaks. Refusals
 * that say nothing about the era stay ours, because the SDK would replace them with an error of its own.
 */
export function asSdkError({ status, text, failure }: Refused): Error {
  if (failure.kind !== 'protocol' || refusesHostName(status, text)) {
    return failure;
  }
  const data = { status, text };
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, failure.message, data, { cause: failure });
}

function kindOf(status: number, text: string): RemoteFailureKind {
  if (status === 401 || status === 403) {
    return refusesHostName(status, text) ? 'protocol' : 'login';
  }
  return status >= 500 || status === 429 ? 'unreachable' : 'protocol';
}

/**
 * The missing scope (RFC 6750, section 3.1): empty if the server names none that is valid and short enough to be shown,
 * undefined if none is missing.
 */
function missingScope({ status, headers }: HttpResponse): string | undefined {
  const challenge = headers['www-authenticate'] ?? '';
  return status === 403 && /error="?insufficient_scope/.test(challenge)
    ? (/scope="([\x21\x23-\x5b\x5d-\x7e ]{1,300})"/.exec(challenge)?.[1] ?? '')
    : undefined;
}

/** A compressed answer cannot be read: its size would be unknown until it is decompressed. No request allows one. */
function plain(response: HttpResponse): HttpResponse {
  const type = response.headers['content-type'] ?? '';
  const coding = codingOf(response);
  const isAnswer = response.status >= 200 && response.status <= 299 && /json|event-stream/i.test(type);
  if (coding === undefined || !isAnswer) {
    return response;
  }
  response.body.destroy();
  throw new RemoteFailure('protocol', `compressed its answer (${coding}), although the request does not allow that`, {
    status: response.status,
    hint: 'Turn off compression in the server, or in the proxy in front of it, for requests with "Accept-Encoding: identity".',
  });
}

/** How the body is compressed; undefined if it is not. */
function codingOf({ headers }: HttpResponse): string | undefined {
  const coding = (headers['content-encoding'] ?? '').trim().toLowerCase();
  return coding === '' || coding === 'identity' ? undefined : escapeControls(coding.slice(0, 40));
}

async function readRefusal(response: HttpResponse): Promise<string> {
  if (codingOf(response) !== undefined) {
    // The status says enough.
    response.body.destroy();
    return '';
  }
  const timer = setTimeout(() => response.body.destroy(), MAX_REFUSAL_MS);
  try {
    return (await readBody(response, MAX_REFUSAL_BYTES)).toString('utf8');
  } catch {
    // Too long, or the connection broke. The status says enough.
    return '';
  } finally {
    clearTimeout(timer);
  }
}

/** The text of a refusal, for a message; web pages are left out. */
function quote({ headers }: HttpResponse, text: string): string {
  const quoted = escapeControls(text.trim().replace(/\s+/g, ' ').slice(0, SHOWN_CHARS));
  return quoted === '' || headers['content-type']?.includes('html') === true ? '' : `: ${quoted}`;
}
