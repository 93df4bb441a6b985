/** Sends a request without a login to learn which login the server requires (RFC 9728, section 5). */
import {
  type auth,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/client';
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import type { RemoteDefinition } from '../../../core/base/server-definition.ts';
import { createMask } from '../secrets.ts';
import type { OAuthFetch } from './oauth-fetch.ts';

/** The login that a server requires. */
export type Challenge = Pick<Parameters<typeof auth>[1], 'resourceMetadataUrl' | 'scope'>;

/**
 * The login that the server requires; undefined if it requires none. A server that answers but publishes an authorization
 * server needs the login for some of its tools. Rejects with `SERVER_UNREACHABLE`.
 */
export async function readChallenge(
  url: URL,
  definition: RemoteDefinition,
  http: OAuthFetch,
): Promise<Challenge | undefined> {
  const refusal = (await refusalTo(PING, url, definition, http)) ?? (await refusalTo(LISTEN, url, definition, http));
  if (refusal === undefined) {
    const metadata = await discoverOAuthProtectedResourceMetadata(url, {}, http.fetch).catch(() => undefined);
    return metadata?.authorization_servers?.length ? {} : undefined;
  }
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(refusal);
  return {
    ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
    ...(scope === undefined ? {} : { scope }),
  };
}

const PING = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 'login', method: 'ping' }),
};
/** Servers with the older transport do not support POST at their address, and may refuse it before they check credentials. */
const LISTEN = { method: 'GET', headers: { accept: 'text/event-stream' } };

/** The response to a request without a login if it is a refusal, else undefined. Rejects with `SERVER_UNREACHABLE`. */
async function refusalTo(
  request: typeof PING | typeof LISTEN,
  url: URL,
  definition: RemoteDefinition,
  http: OAuthFetch,
): Promise<Response | undefined> {
  const { name, file, headers } = definition;
  const response = await http
    .fetchHead(url, { ...request, headers: { ...headers, ...request.headers } })
    .catch((cause: unknown) => {
      const words = createMask(definition)(messageOf(cause));
      throw new BridgeError('SERVER_UNREACHABLE', `server '${name}' could not be reached: ${words}`, {
        hint: `Check that it is running and that "url" of '${name}' in ${file} is correct.`,
        cause,
      });
    });
  return response.status === 401 || response.status === 403 ? response : undefined;
}
