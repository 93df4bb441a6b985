/**
 * Which URL a request is for, and whether it can be trusted to be one request: Node's parser (llhttp, strict) refuses most of what smuggles
 * a second one, and this file the rest. RFC 9112, sections 3.2, 6.1 and 11.2.
 */
import { MalformedRequest } from './refusal.ts';

/** Chosen: browsers send about 20. Node leaves out those after the 2,000th. */
const MAX_HEADERS = 200;

/** What a tunnel leads to. */
export interface Tunnel {
  /** Lower case; an IPv6 address has its brackets. */
  readonly host: string;
  readonly port: number;
}

/** What this file reads of Node's `IncomingMessage`. */
interface RequestHead {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly httpVersion: string;
  readonly rawHeaders: readonly string[];
}

/** The target of CONNECT. Throws `MalformedRequest`. */
export function readTunnel({ url: target = '', rawHeaders }: RequestHead): Tunnel {
  if (['content-length', 'transfer-encoding'].some((name) => valuesOf(rawHeaders, name).length > 0)) {
    throw new MalformedRequest(400, 'CONNECT has no body');
  }
  if (valuesOf(rawHeaders, 'host').length > 1) {
    throw new MalformedRequest(400, 'there is more than one Host');
  }
  const port = Number(/:(\d{1,5})$/.exec(target)?.[1]);
  const url = parseAuthority('https', target);
  if (url === undefined || !(port > 0)) {
    throw new MalformedRequest(400, 'the target of CONNECT is not host:port');
  }
  return { host: url.hostname, port };
}

/**
 * The URL of a request: to the proxy, with an absolute target; in a tunnel, with a path. Throws `MalformedRequest` for a head that a client
 * of HTTP/1.1 would not write.
 */
export function readTarget(head: RequestHead, tunnel: Tunnel | undefined, scheme: 'http' | 'https'): URL {
  checkHead(head);
  const target = head.url ?? '';
  // A fragment is never sent. A user is deprecated, because it hides which host follows (RFC 9110, section 4.2.4).
  if (!/^[\x21-\x7e]+$/.test(target) || target.includes('#')) {
    throw new MalformedRequest(400, 'the target has characters that no URL has here');
  }
  const [host = ''] = valuesOf(head.rawHeaders, 'host');
  const url = tunnel === undefined ? urlWithoutTunnel(target, host) : urlInTunnel(target, tunnel, scheme);
  if (parseAuthority(url.protocol.slice(0, -1), host)?.host !== url.host) {
    throw new MalformedRequest(tunnel === undefined ? 400 : 421, `Host is not that of the connection, ${url.host}`);
  }
  return url;
}

function checkHead({ httpVersion, rawHeaders }: RequestHead): void {
  if (rawHeaders.length / 2 > MAX_HEADERS) {
    throw new MalformedRequest(431, `there are more than ${MAX_HEADERS} headers`);
  }
  if (httpVersion !== '1.1') {
    // An answer of HTTP/1.0 may end with the connection, so half of it would look like all.
    throw new MalformedRequest(505, 'the proxy of the sandbox speaks HTTP/1.1 only');
  }
  if (valuesOf(rawHeaders, '').length > 0) {
    // The parser of Node 20.19 lets it through.
    throw new MalformedRequest(400, 'a header has no name');
  }
  if (valuesOf(rawHeaders, 'host').length !== 1) {
    throw new MalformedRequest(400, 'there must be one Host');
  }
  if (valuesOf(rawHeaders, 'transfer-encoding').some((value) => value.toLowerCase() !== 'chunked')) {
    throw new MalformedRequest(400, 'the only Transfer-Encoding is chunked');
  }
  if (valuesOf(rawHeaders, 'upgrade').length > 0) {
    throw new MalformedRequest(501, 'the proxy of the sandbox has no WebSocket and no other upgrade of HTTP/1.1');
  }
}

/** A client that knows no proxy names only the path; the host is then that of `Host`. */
function urlWithoutTunnel(target: string, ofHost: string): URL {
  if (target.startsWith('/')) {
    const url = parseAuthority('http', ofHost, target);
    if (url === undefined) {
      throw new MalformedRequest(400, 'Host is not the name of a host');
    }
    return url;
  }
  const [, scheme = '', authority = '', rest = ''] = /^(https?):\/\/([^/?]*)(.*)$/i.exec(target) ?? [];
  const url = parseAuthority(scheme, authority, rest);
  if (url === undefined) {
    throw new MalformedRequest(400, 'a request to the proxy is for a URL that starts with http:// or https://');
  }
  return url;
}

/** Not resolved against the host of the tunnel: `//other/path` would be another host then. */
function urlInTunnel(target: string, { host, port }: Tunnel, scheme: string): URL {
  const url = target.startsWith('/') ? parseAuthority(scheme, `${host}:${port}`, target) : undefined;
  if (url === undefined) {
    throw new MalformedRequest(400, 'a request in a tunnel is for a path');
  }
  return url;
}

const DNS_NAME = /^(?=.{1,253}$)(?!.*[.-]$)(?:[a-z0-9_][a-z0-9_-]{0,62}(?:\.|$))+$/i;
const IPV6_ADDRESS = /^\[[0-9a-f:.]{2,45}\]$/i;

/** Whether it is a name of the DNS, in lower case, and no address. */
export function isName(text: string): boolean {
  return DNS_NAME.test(text) && /[a-z]/.test(text);
}

/** Undefined if it is not a host with or without a port: nothing is decoded, and there is no user. */
function parseAuthority(scheme: string, authority: string, rest = ''): URL | undefined {
  const host = authority.replace(/:\d{1,5}$/, '');
  if (!DNS_NAME.test(host) && !IPV6_ADDRESS.test(host)) {
    return undefined;
  }
  try {
    return new URL(`${scheme}://${authority}${rest}`);
  } catch {
    return undefined; // A port above 65535, or an address that is none.
  }
}

/** Of all headers with this name, in lower case. */
function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_value, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}
