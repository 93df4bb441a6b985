/** Which redirects are followed: those that stay on the server that the user configured. Pure. */
import type { IncomingHttpHeaders } from 'node:http';

const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** A header has room for 16 KiB. */
const SHOWN_CHARS = 300;

interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** The address to follow, or undefined if the response is final. The method and the body are kept. */
export function redirectTarget(method: string, from: URL, response: ResponseHead): URL | undefined {
  const target = locationOf(from, response);
  const keepsMethod = method === 'GET' || response.status === 307 || response.status === 308;
  return target !== undefined && keepsMethod && isWithinOrigin(from, target) ? target : undefined;
}

/** Describes a redirect that is not followed, without its query, which may hold secrets; undefined for any other response. */
export function explainRedirect(from: URL, response: ResponseHead): string | undefined {
  if (!REDIRECT_STATUSES.has(response.status)) {
    return undefined;
  }
  const target = locationOf(from, response);
  return target === undefined
    ? `redirects (HTTP ${response.status}) without an address`
    : `redirects (HTTP ${response.status}) to ${`${target.protocol}//${target.host}${target.pathname}`.slice(0, SHOWN_CHARS)}, which is not followed`;
}

function locationOf(from: URL, { status, headers }: ResponseHead): URL | undefined {
  const { location } = headers;
  if (!REDIRECT_STATUSES.has(status) || location === undefined) {
    return undefined;
  }
  try {
    return new URL(location, from);
  } catch {
    // Not an address, so there is nothing to follow.
    return undefined;
  }
}

/** The same scheme, host and port, or an upgrade of the same host to TLS. The user name and password must not change. */
function isWithinOrigin(from: URL, to: URL): boolean {
  const isUpgrade = from.protocol === 'http:' && to.protocol === 'https:' && from.port === '' && to.port === '';
  return (
    to.username === from.username &&
    to.password === from.password &&
    ((from.protocol === to.protocol && from.host === to.host) || (isUpgrade && from.hostname === to.hostname))
  );
}
