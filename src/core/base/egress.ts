/**
 * What the entry of a server allows code to send to an API itself, through the host: its hosts, methods and paths. Pure.
 */

export interface EgressSource {
  /** Beside the origin of the entry's `url`. */
  readonly hosts: readonly string[];
  /** In upper case; undefined allows all. */
  readonly methods?: readonly string[] | undefined;
  /** `*` stands for any characters; undefined allows all. */
  readonly paths?: readonly string[] | undefined;
  /** Whether the hosts may have addresses in private networks. */
  readonly isPrivate: boolean;
  /** The start of the placeholder of a key, by the name of its variable. */
  readonly prefixes: Readonly<Record<string, string>>;
}

/** How the reason begins why a person is asked about a host. */
export const NO_ENTRY = 'no entry allows code to reach';

/** The methods of HTTP that are passed on. */
export const EGRESS_METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type EgressMethod = (typeof EGRESS_METHODS)[number];

export function isEgressMethod(method: string): method is EgressMethod {
  return (EGRESS_METHODS as readonly string[]).includes(method);
}

/** A host as an entry writes it: `api.example.com`, `*.example.com`, `example.com:8443`, `http://localhost:8000`. */
const HOST = /^(?:(https?):\/\/)?(\*\.)?([\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?\/?$/i;
/** What is wrong with a host in an entry; undefined if nothing is. */
export function explainHost(text: string): string | undefined {
  return originOf(text) === undefined
    ? `has the host ${JSON.stringify(text)} in "egress"; write a host such as "api.example.com", "*.example.com" or "http://localhost:8000"`
    : undefined;
}

interface Origin {
  readonly isBelow: boolean;
  /** Of a name below it, if `isBelow`. */
  readonly url: URL;
}

function originOf(text: string): Origin | undefined {
  const [whole, scheme = 'https', below, host = '', port] = HOST.exec(text.trim()) ?? [];
  const address = `${scheme.toLowerCase()}://${host}${port === undefined ? '' : `:${port}`}`;
  const isAddress = /^[\d.]+$|^\[/.test(host);
  if (whole === undefined || !URL.canParse(address) || (below !== undefined && (isAddress || !host.includes('.')))) {
    return undefined;
  }
  return { isBelow: below !== undefined, url: new URL(address) };
}

/** What one entry allows. */
export class EgressRules {
  readonly source: EgressSource;
  /** Of the entry's `url`; undefined while that refers to a secret. */
  readonly origin: string | undefined;
  readonly #origins: readonly Origin[];

  constructor(url: string, source: EgressSource) {
    this.source = source;
    const own = URL.canParse(url) ? [{ isBelow: false, url: new URL(url) }] : [];
    this.origin = own[0]?.url.origin;
    this.#origins = [...own, ...source.hosts.map(originOf).filter((origin) => origin !== undefined)];
  }

  /** The names and addresses of its hosts; of `*.example.com`, `example.com`. Addresses of IPv6 have no brackets. */
  get hosts(): readonly string[] {
    return this.#origins.map(({ url }) => url.hostname.replace(/^\[(.*)\]$/, '$1'));
  }

  /** How closely an origin of the entry fits: 0 if none does, otherwise more for an exact host than for one of many. */
  fit(url: URL): number {
    const fits = this.#origins.filter((origin) => isWithin(url, origin));
    return Math.max(
      0,
      ...fits.map((origin) => (origin.isBelow ? origin.url.hostname.length : Number.MAX_SAFE_INTEGER)),
    );
  }

  /** Why a request to one of its hosts is not allowed, in one clause; undefined if it is. */
  refusal(method: string, url: URL): string | undefined {
    const { methods, paths } = this.source;
    if (!isEgressMethod(method)) {
      return `${method} is none of ${EGRESS_METHODS.join(', ')}`;
    }
    if (methods !== undefined && !methods.includes(method)) {
      return `it allows only ${methods.join(', ')}`;
    }
    const isAllowed =
      paths === undefined || (isPlain(url.pathname) && paths.some((path) => matches(path, url.pathname)));
    return isAllowed ? undefined : `it allows only the paths ${paths.join(', ')}`;
  }
}

function isWithin(url: URL, { isBelow, url: origin }: Origin): boolean {
  if (url.protocol !== origin.protocol || url.port !== origin.port) {
    return false;
  }
  const host = url.hostname.replace(/\.$/, '');
  return isBelow ? host.endsWith(`.${origin.hostname}`) : host === origin.hostname.replace(/\.$/, '');
}

/** Whether the path is `pattern`, in which `*` stands for any characters. Linear: a regular expression would take minutes for some. */
function matches(pattern: string, path: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) {
    return path === first;
  }
  if (!path.startsWith(first) || !path.endsWith(last) || path.length < first.length + last.length) {
    return false;
  }
  let at = first.length;
  for (const part of rest) {
    const found = path.indexOf(part, at);
    if (found === -1) {
      return false;
    }
    at = found + part.length;
  }
  return at <= path.length - last.length;
}

/** How often a path is decoded; a server behind a proxy may do so twice. */
const MAX_DECODINGS = 3;

/** Whether no server reads another path in it: no dot segment, separator or broken escape, however often it is decoded. */
function isPlain(pathname: string): boolean {
  const segments = pathname.split('/').length;
  let text = pathname;
  for (let round = 0; round <= MAX_DECODINGS; round += 1) {
    const parts = text.split('/');
    const isOdd = parts.length !== segments || parts.some((part) => /^\.{1,2}(?:;|$)/.test(part));
    if (isOdd || /[\\\0]|%(?![\da-f]{2})/i.test(text)) {
      return false;
    }
    const decoded = text.replaceAll(/(?:%[\da-f]{2})+/gi, decodedOrNul);
    if (decoded === text) {
      return true;
    }
    text = decoded;
  }
  return false;
}

function decodedOrNul(escapes: string): string {
  try {
    return decodeURIComponent(escapes);
  } catch {
    return '\0';
  }
}
