/** Which redirects are followed: those that stay with the server the user named. Pure. */
import type { IncomingHttpHeaders } from 'node:http';

const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** Where to go on, or undefined when the answer is to be taken as it is. The method and its body are kept. */
export function redirectTarget(method: string, from: URL, answer: Answer): URL | undefined {
  const target = locationOf(from, answer);
  const keepsMethod = method === 'GET' || answer.status === 307 || answer.status === 308;
  return target !== undefined && keepsMethod && isWithinOrigin(from, target) ? target : undefined;
}

/** What to say of a redirect that was not followed; undefined for any other answer. Secrets in its query are left out. */
export function explainRedirect(from: URL, answer: Answer): string | undefined {
  if (!REDIRECT_STATUSES.has(answer.status)) {
    return undefined;
  }
  const target = locationOf(from, answer);
  return target === undefined
    ? `redirects (HTTP ${answer.status}) to no address`
    : `redirects (HTTP ${answer.status}) to ${target.protocol}//${target.host}${target.pathname}, which is not followed`;
}

function locationOf(from: URL, { status, headers }: Answer): URL | undefined {
  const { location } = headers;
  if (!REDIRECT_STATUSES.has(status) || location === undefined) {
    return undefined;
  }
  try {
    return new URL(location, from);
  } catch {
    // The server wrote something that is no address: there is nowhere to go.
    return undefined;
  }
}

/** The same scheme, host and port; or the same host with TLS from now on. Names and passwords in an address are refused. */
function isWithinOrigin(from: URL, to: URL): boolean {
  const isUpgrade = from.protocol === 'http:' && to.protocol === 'https:' && from.port === '' && to.port === '';
  return (
    to.username === from.username &&
    to.password === from.password &&
    ((from.protocol === to.protocol && from.host === to.host) || (isUpgrade && from.hostname === to.hostname))
  );
}
