/** Asks a server without a login, to learn which one it wants (RFC 9728, section 5). */
import {
  type auth,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/client';
import { BridgeError, messageOf } from '../../base/errors.ts';
import type { RemoteDefinition } from '../../base/server-definition.ts';
import { createMask } from '../secrets.ts';
import type { OAuthFetch } from './oauth-fetch.ts';

/** What a server says of the login that it wants. */
export type Challenge = Pick<Parameters<typeof auth>[1], 'resourceMetadataUrl' | 'scope'>;

/**
 * What the server says when it is asked without a login; undefined when it wants none. One that answers and names an
 * authorization server wants it for some of its tools. Rejects with `SERVER_UNREACHABLE`.
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
/** Servers with the older transport know no POST at their address, and may say so before they look at who asks. */
const LISTEN = { method: 'GET', headers: { accept: 'text/event-stream' } };

/** The answer to a request without a login; undefined when it is no refusal. Rejects with `SERVER_UNREACHABLE`. */
async function refusalTo(
  request: typeof PING | typeof LISTEN,
  url: URL,
  definition: RemoteDefinition,
  http: OAuthFetch,
): Promise<Response | undefined> {
  const { name, file, headers } = definition;
  const answer = await http
    .fetchHead(url, { ...request, headers: { ...headers, ...request.headers } })
    .catch((cause: unknown) => {
      const words = createMask(definition)(messageOf(cause));
      throw new BridgeError('SERVER_UNREACHABLE', `server '${name}' could not be reached: ${words}`, {
        hint: `Check that it is running and that "url" of '${name}' in ${file} is right.`,
        cause,
      });
    });
  return answer.status === 401 || answer.status === 403 ? answer : undefined;
}
