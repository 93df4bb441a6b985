/** Requests to one remote server: its headers, its login, and what refusals mean. */
import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { BridgeError } from '../../base/errors.ts';
import { escapeControls } from '../../base/log.ts';
import { MASK } from '../result-mask.ts';
import { type HttpAnswer, HttpClient, type HttpRequest, readBody } from './http-client.ts';
import type { ProxyChoice } from './proxies.ts';
import { explainRedirect } from './redirects.ts';
import {
  type Authorization,
  RemoteFailure,
  type RemoteFailureKind,
  refusesHostName,
  unreachable,
} from './remote-failure.ts';

/** What is read of an answer that says why it refuses. */
const MAX_REFUSAL_BYTES = 64 * 1024;
const MAX_REFUSAL_MS = 5_000;
const SHOWN_CHARS = 300;

export interface RemoteAddress {
  readonly url: URL;
  /** Of the entry; sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined when the entry has an `Authorization` header of its own. */
  readonly authorization: Authorization | undefined;
  readonly proxies: ProxyChoice;
}

export class RemoteClient {
  readonly #address: RemoteAddress;
  readonly #http: HttpClient;
  /** The login that was sent last; a server may repeat it in what it refuses with. */
  #login: string | undefined;

  constructor(address: RemoteAddress) {
    this.#address = address;
    this.#http = new HttpClient({ proxies: address.proxies });
  }

  /**
   * Sends one request, a second time when the login could be renewed in between. Rejects with a `RemoteFailure`, or with
   * the `BridgeError` `LOGIN_REQUIRED`. An answer with any status but 401 is given as it is.
   */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    const { authorization } = this.#address;
    const used = await authorization?.header();
    const answer = await this.#sendWith(request, used);
    if (answer.status !== 401) {
      return answer;
    }
    answer.body.destroy();
    if (authorization === undefined) {
      throw new RemoteFailure('login', 'wants a key that its entry does not give (HTTP 401)', { status: 401 });
    }
    await authorization.renew({ used, challenge: answer.headers['www-authenticate'] });
    const second = await this.#sendWith(request, await authorization.header());
    if (second.status === 401) {
      second.body.destroy();
      throw new RemoteFailure('login', 'refused a login that was just renewed (HTTP 401)', { status: 401 });
    }
    return second;
  }

  /** What an answer without success means. Rejects with `LOGIN_REQUIRED` when a scope is missing. */
  async refusalOf(answer: HttpAnswer): Promise<Refused> {
    const scope = missingScope(answer);
    if (scope !== undefined && this.#address.authorization !== undefined) {
      answer.body.destroy();
      throw this.#address.authorization.lacksScope(scope === '' ? undefined : scope);
    }
    const text = this.#maskLogin(await readRefusal(answer));
    const redirect = explainRedirect(answer.url, answer);
    const shown = redirect ?? `answered HTTP ${answer.status}${quote(answer, text)}`;
    return { status: answer.status, text, failure: new RemoteFailure(kindOf(answer.status, text), shown, answer) };
  }

  close(): void {
    this.#http.close();
  }

  #maskLogin(text: string): string {
    const token = this.#login?.replace(/^\w+ /, '') ?? '';
    return token === '' ? text : text.replaceAll(token, MASK);
  }

  async #sendWith(request: HttpRequest, authorization: string | undefined): Promise<HttpAnswer> {
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
 * A refusal as the SDK's client understands it: its status tells which era a server has. What says nothing of that stays
 * ours, because the SDK would put an error of its own in its place.
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

/** The scope that RFC 6750, section 3.1, says is missing; empty when it is not named, undefined when none is missing. */
function missingScope({ status, headers }: HttpAnswer): string | undefined {
  const challenge = headers['www-authenticate'] ?? '';
  return status === 403 && /error="?insufficient_scope/.test(challenge)
    ? (/scope="([^"]*)"/.exec(challenge)?.[1] ?? '')
    : undefined;
}

async function readRefusal(answer: HttpAnswer): Promise<string> {
  const timer = setTimeout(() => answer.body.destroy(), MAX_REFUSAL_MS);
  try {
    return (await readBody(answer, MAX_REFUSAL_BYTES)).toString('utf8');
  } catch {
    // Too long, or it broke off: the status says enough.
    return '';
  } finally {
    clearTimeout(timer);
  }
}

/** The words of a refusal; web pages are left out. */
function quote({ headers }: HttpAnswer, text: string): string {
  const words = escapeControls(text.trim().replace(/\s+/g, ' ').slice(0, SHOWN_CHARS));
  return words === '' || headers['content-type']?.includes('html') === true ? '' : `: ${words}`;
}
