/**
 * Chooses the proxy for a request by the variables that curl and most other programs use: `https_proxy`, `http_proxy` and
 * `no_proxy`, in lower case first, then in upper case. This machine itself is never reached through a proxy. Pure.
 */
import { BlockList, isIP } from 'node:net';
import { hostOf, isThisMachine } from './addresses.ts';

export interface ProxyServer {
  /** `http:` or `https:`, without user name and password. */
  readonly url: URL;
  /** Value of `Proxy-Authorization`, sent only to the proxy. */
  readonly authorization: string | undefined;
  /** The variable that names it, for messages. */
  readonly variable: string;
}

/** The proxy for an address; undefined for a direct connection. Throws if the variable does not name a usable proxy. */
export type ProxyChoice = (url: URL) => ProxyServer | undefined;

type Environment = Readonly<Record<string, string | undefined>>;

/** Connects to every address directly. */
export const noProxy: ProxyChoice = () => undefined;

/** The choice that the variables of `env` make. */
export function proxiesOf(env: Environment): ProxyChoice {
  const isExcepted = exceptionsIn(firstOf(env, 'no_proxy')?.value ?? '');
  const named = {
    'http:': firstOf(env, 'http_proxy'),
    'https:': firstOf(env, 'https_proxy'),
  };
  return (url) => {
    const proxy = url.protocol === 'https:' ? named['https:'] : named['http:'];
    return proxy === undefined || isThisMachine(hostOf(url)) || isExcepted(url)
      ? undefined
      : parseProxy(proxy.variable, proxy.value);
  };
}

/** The name of the proxy in messages. */
export function describeProxy({ url, variable }: ProxyServer): string {
  return `the proxy ${url.origin} (${variable})`;
}

interface Variable {
  readonly variable: string;
  readonly value: string;
}

function firstOf(env: Environment, name: string): Variable | undefined {
  return [name, name.toUpperCase()]
    .map((variable) => ({ variable, value: env[variable]?.trim() ?? '' }))
    .find(({ value }) => value !== '');
}

/** The value is not repeated: it may hold a password. */
function parseProxy(variable: string, value: string): ProxyServer {
  // `proxy.example:3128` is common; curl reads it as http:.
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !(url.protocol === 'http:' || url.protocol === 'https:') || url.hostname === '') {
    throw new Error(`${variable} does not name a proxy with an http: or https: address`);
  }
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  const authorization = pair === ':' ? undefined : `Basic ${Buffer.from(pair).toString('base64')}`;
  return { url: new URL(url.origin), authorization, variable };
}

/** The test for `no_proxy`: `*`, names with their subdomains, addresses and networks, with or without a port. */
function exceptionsIn(text: string): (url: URL) => boolean {
  const tests = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => word !== '')
    .map(exceptionOf);
  return (url) => {
    const host = hostOf(url);
    const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
    return tests.some((test) => test(host, port));
  };
}

function exceptionOf(word: string): (host: string, port: string) => boolean {
  const network = networkOf(word);
  if (network !== undefined) {
    return (host) => isIP(host) !== 0 && network.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
  }
  const [, inBrackets, bare, port] =
    /^(?:\[(.*)\]|(.*?))(?::(\d+))?$/.exec(isIP(word) === 6 ? `[${word}]` : word) ?? [];
  const name = (inBrackets ?? bare ?? '').replace(/^\*?\./, '').replace(/\.$/, '');
  return (host, ofUrl) =>
    (port === undefined || port === ofUrl) &&
    (name === '*' || host === name || (isIP(host) === 0 && host.endsWith(`.${name}`)));
}

/** `10.0.0.0/8`; undefined for anything else. */
function networkOf(word: string): BlockList | undefined {
  const [address = '', bits = '', ...rest] = word.split('/');
  const family = isIP(address);
  const isNetwork =
    family !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32);
  if (!isNetwork) {
    return undefined;
  }
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
  return list;
}
