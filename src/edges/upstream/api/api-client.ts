/**
 * Sends requests to one API with the credentials of its entry, which no argument can replace. What goes to another address, such
 * as that of the description, gets none of them.
 */

import { BridgeError } from '../../../core/base/errors.ts';
import { withoutTwins } from '../http/entry-headers.ts';
import { HttpClient, type HttpRequest, type HttpResponse } from '../http/http-client.ts';
import type { RemoteAddress } from '../http/remote-client.ts';
import { unreachable } from '../http/remote-failure.ts';

export class ApiClient {
  readonly #address: RemoteAddress;
  readonly #http: HttpClient;

  constructor(address: RemoteAddress) {
    this.#address = address;
    this.#http = new HttpClient({ proxies: address.proxies });
  }

  /** Sends a request, and sends it again if the API refused the login and it could be renewed. Rejects with `RemoteFailure` or `LOGIN_REQUIRED`. */
  async send(request: HttpRequest): Promise<HttpResponse> {
    const { authorization, url } = this.#address;
    if (request.url.origin !== url.origin) {
      return this.#sendOnce(request, {});
    }
    const headers = withCookies(this.#address.headers, request.headers['cookie']);
    const used = await authorization?.header();
    const response = await this.#sendOnce(request, withLogin(headers, used));
    if (response.status !== 401 || authorization === undefined || used === undefined) {
      return response;
    }
    response.body.destroy();
    await authorization.renew({ used, challenge: response.headers['www-authenticate'], from: response.from });
    return this.#sendOnce(request, withLogin(headers, await authorization.header()));
  }

  close(): void {
    this.#http.close();
  }

  async #sendOnce(request: HttpRequest, credentials: Readonly<Record<string, string>>): Promise<HttpResponse> {
    // Last, so that they win.
    const own = Object.fromEntries(withoutTwins(Object.entries(request.headers), credentials));
    try {
      return await this.#http.sendAgain({ ...request, headers: { ...own, ...credentials } });
    } catch (error) {
      throw error instanceof BridgeError || request.signal?.aborted === true ? error : unreachable(error);
    }
  }
}

/** The entry's headers, with the cookies of a call that the entry does not set itself. All names are in lower case. */
function withCookies(
  entry: Readonly<Record<string, string>>,
  ofCall: string | undefined,
): Readonly<Record<string, string>> {
  const own = entry['cookie'];
  if (own === undefined || ofCall === undefined) {
    return entry;
  }
  const nameOf = (cookie: string): string => cookie.split('=', 1)[0]?.trim() ?? '';
  const set = new Set(own.split(';').map(nameOf));
  const others = ofCall.split('; ').filter((cookie) => !set.has(nameOf(cookie)));
  return { ...entry, cookie: [own, ...others].join('; ') };
}

function withLogin(
  headers: Readonly<Record<string, string>>,
  login: string | undefined,
): Readonly<Record<string, string>> {
  return login === undefined ? headers : { ...headers, authorization: login };
}
