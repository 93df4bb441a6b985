/** `URL` and `URLSearchParams` for addresses as scripts take them apart and build them: not all of the URL standard. */

const PATTERN =
  /^([a-z][a-z\d+.-]*:)(?:(\/\/)(?:([^/?#@]*)@)?(\[[^\]]*\]|[^/?#:]*)(?::(\d*))?)?([^?#]*)(\?[^#]*)?(#.*)?$/i;
const DEFAULT_PORTS: Readonly<Record<string, string>> = {
  'http:': '80',
  'https:': '443',
  'ws:': '80',
  'wss:': '443',
  'ftp:': '21',
};

function decodeForm(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    // A lone percent sign stands for itself.
    return spaced;
  }
}

function encodeForm(text: string): string {
  return encodeURIComponent(text)
    .replaceAll(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

/** Percent-encodes what may not be in a path or a query, and leaves what is encoded already. */
function encodePart(text: string): string {
  return encodeURI(text.toWellFormed()).replaceAll('%25', '%').replaceAll('%5B', '[').replaceAll('%5D', ']');
}

export class GuestSearchParams {
  #pairs: [string, string][];
  readonly #onChange: (() => void) | undefined;

  constructor(
    init: string | Iterable<readonly [unknown, unknown]> | Record<string, unknown> = '',
    onChange?: () => void,
  ) {
    this.#onChange = onChange;
    if (typeof init === 'string') {
      const parts = init.replace(/^\?/, '').split('&').filter(Boolean);
      this.#pairs = parts.map((part) => {
        const [name = '', ...value] = part.split('=');
        return [decodeForm(name), decodeForm(value.join('='))];
      });
    } else {
      const pairs = Symbol.iterator in init ? [...init] : Object.entries(init);
      this.#pairs = pairs.map(([name, value]) => [String(name), String(value)]);
    }
  }

  get size(): number {
    return this.#pairs.length;
  }

  get(name: string): string | null {
    return this.#pairs.find(([key]) => key === name)?.[1] ?? null;
  }

  getAll(name: string): string[] {
    return this.#pairs.filter(([key]) => key === name).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.#pairs.some(([key]) => key === name);
  }

  append(name: string, value: unknown): void {
    this.#pairs.push([name, String(value)]);
    this.#onChange?.();
  }

  set(name: string, value: unknown): void {
    const at = this.#pairs.findIndex(([key]) => key === name);
    const kept = this.#pairs.filter(([key], index) => key !== name || index === at);
    if (at < 0) {
      kept.push([name, String(value)]);
    } else {
      kept[at] = [name, String(value)];
    }
    this.#pairs = kept;
    this.#onChange?.();
  }

  delete(name: string): void {
    this.#pairs = this.#pairs.filter(([key]) => key !== name);
    this.#onChange?.();
  }

  sort(): void {
    this.#pairs.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
    this.#onChange?.();
  }

  forEach(run: (value: string, name: string) => void): void {
    for (const [name, value] of this.#pairs) {
      run(value, name);
    }
  }

  keys(): IterableIterator<string> {
    return this.#pairs.map(([name]) => name).values();
  }

  values(): IterableIterator<string> {
    return this.#pairs.map(([, value]) => value).values();
  }

  entries(): IterableIterator<[string, string]> {
    return this.#pairs.map(([name, value]): [string, string] => [name, value]).values();
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  toString(): string {
    return this.#pairs.map(([name, value]) => `${encodeForm(name)}=${encodeForm(value)}`).join('&');
  }
}

export class GuestUrl {
  protocol = '';
  username = '';
  password = '';
  hostname = '';
  port = '';
  pathname = '';
  search = '';
  hash = '';
  readonly searchParams: GuestSearchParams;
  readonly #slashes: string;

  constructor(input: unknown, base?: unknown) {
    const text = String(input).trim();
    const match = PATTERN.exec(text) ?? (base === undefined ? null : PATTERN.exec(against(new GuestUrl(base), text)));
    const isSpecial = match !== null && (match[1] ?? '').toLowerCase() in DEFAULT_PORTS;
    if (match === null || (isSpecial && !match[4]) || Number(match[5] ?? 0) > 65_535) {
      throw Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL', input: text });
    }
    const [, scheme = '', slashes = '', login = '', host = '', port = '', path = '', search = '', hash = ''] = match;
    const [user = '', ...password] = login.split(':');
    this.protocol = scheme.toLowerCase();
    this.#slashes = slashes;
    this.username = user;
    this.password = password.join(':');
    this.hostname = isSpecial ? host.toLowerCase() : host;
    this.port = port === DEFAULT_PORTS[this.protocol] ? '' : port;
    this.pathname = slashes === '' ? path : withoutDots(encodePart(path)) || (isSpecial ? '/' : '');
    this.search = search === '?' ? '' : encodePart(search);
    this.hash = hash === '#' ? '' : encodePart(hash);
    this.searchParams = new GuestSearchParams(search, () => {
      const query = this.searchParams.toString();
      this.search = query === '' ? '' : `?${query}`;
    });
    Object.defineProperty(this, 'searchParams', { enumerable: false });
  }

  get host(): string {
    return this.hostname + (this.port === '' ? '' : `:${this.port}`);
  }

  get origin(): string {
    return this.protocol in DEFAULT_PORTS ? `${this.protocol}//${this.host}` : 'null';
  }

  get href(): string {
    const password = this.password === '' ? '' : `:${this.password}`;
    const login = this.username === '' && password === '' ? '' : `${this.username}${password}@`;
    return this.protocol + this.#slashes + login + this.host + this.pathname + this.search + this.hash;
  }

  static canParse(input: unknown, base?: unknown): boolean {
    try {
      return new GuestUrl(input, base) instanceof GuestUrl;
    } catch {
      return false;
    }
  }

  toString(): string {
    return this.href;
  }

  toJSON(): string {
    return this.href;
  }
}

function against(base: GuestUrl, text: string): string {
  const root = base.href.slice(0, base.href.length - (base.pathname + base.search + base.hash).length);
  if (text.startsWith('//')) {
    return base.protocol + text;
  }
  if (text.startsWith('/')) {
    return root + text;
  }
  if (text.startsWith('?')) {
    return root + base.pathname + text;
  }
  if (text.startsWith('#') || text === '') {
    return root + base.pathname + base.search + text;
  }
  return `${root}${base.pathname.replace(/[^/]*$/, '')}${text}`;
}

function withoutDots(path: string): string {
  const parts: string[] = [];
  const all = path.split('/');
  for (const [index, part] of all.entries()) {
    const isLast = index === all.length - 1;
    if (part === '..') {
      if (parts.length > 1) {
        parts.pop();
      }
      if (isLast) {
        parts.push('');
      }
    } else if (part !== '.') {
      parts.push(part);
    } else if (isLast) {
      parts.push('');
    }
  }
  return parts.join('/');
}
