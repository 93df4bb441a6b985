/**
 * Checks of the head of a request, before anything else is done with it: contradicting headers, DNS rebinding (`Host`) and pages of
 * other sites (`Origin`; MCP 2026-07-28, basic/transports, security).
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostInUrl, isLoopback, type ListenAddress } from './listen-address.ts';
import type { HttpRefusal } from './refusal.ts';

/** Headers that decide something. Of two, a proxy may have read the other one. */
const ONCE: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'origin',
  'transfer-encoding',
]);
const PARAMETERS = 'mcp-param-';
const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
const MAX_SHOWN_CHARS = 100;

/** The host names under which the bridge answers, in lower case and without ports. */
export function allowedHosts({ host }: ListenAddress, more: readonly string[]): ReadonlySet<string> {
  const own = ANY_ADDRESS.has(host) ? [] : [hostInUrl(host)];
  const local = isLoopback(host) || ANY_ADDRESS.has(host) ? ['localhost', '127.0.0.1', '[::1]'] : [];
  return new Set([...own, ...local, ...more].map((name) => name.toLowerCase()));
}

/** Undefined if the request may go on. */
export function checkHead(request: IncomingMessage, hosts: ReadonlySet<string>): HttpRefusal | undefined {
  const repeated = repeatedHeader(request.rawHeaders);
  if (repeated !== undefined) {
    const message = `The header ${repeated} is there more than once.`;
    return { status: 400, reason: 'headers', message, hint: 'Send it once.' };
  }
  const { host, origin } = request.headers;
  const name = hostName(host);
  if (name === undefined || !hosts.has(name)) {
    const sent = host === undefined ? 'no Host header' : `the Host ${shown(host)}`;
    const allowed = name === undefined || isIP(name) !== 0 ? 'NAME' : shown(name);
    return {
      status: 421,
      reason: 'host',
      message: `This server does not answer to ${sent}.`,
      hint: `If it is the name that clients use, start the server with --allow-host ${allowed}.`,
    };
  }
  if (origin !== undefined && !isSameOrigin(origin, host)) {
    const message = `Pages of ${shown(origin)} may not use this server.`;
    return { status: 403, reason: 'origin', message, hint: 'Only programs and pages of the same origin may use it.' };
  }
  return undefined;
}

function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    if ((ONCE.has(name) || name.startsWith(PARAMETERS)) && seen.has(name)) {
      return shown(name);
    }
    seen.add(name);
  }
  return undefined;
}

/** The name in a `Host` header, without its port; undefined if it is not a host. */
function hostName(host: string | undefined): string | undefined {
  const found = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host ?? '');
  return found?.[1]?.toLowerCase();
}

/** A page behind a proxy with TLS has https, whatever the bridge is reached by. */
function isSameOrigin(origin: string, host: string | undefined): boolean {
  const found = /^https?:\/\/([^/?#@]+)$/i.exec(origin);
  return found?.[1]?.toLowerCase() === host?.toLowerCase();
}

/** Of a header, for a message that a person reads. Node accepts no control characters but tabs in headers. */
function shown(text: string): string {
  return text.slice(0, MAX_SHOWN_CHARS);
}
