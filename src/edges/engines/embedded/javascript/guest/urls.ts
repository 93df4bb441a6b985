/** `URL`, which the host parses, and `URLSearchParams`. */
import { type InspectOptions, inspect } from 'node-inspect-extracted';
import { bytesOf, textOf } from './bytes.ts';
import { type GuestHost, URL_PARTS } from './host.ts';

let parse: GuestHost['url'] = () => '';
let replacePairs: (params: GuestSearchParams, query: string) => void;

/** Must be called before anything else here. */
export function useUrls({ url }: Pick<GuestHost, 'url'>): void {
  parse = url;
}

function parseForm(query: string): [string, string][] {
  const parts = query.replace(/^\?/, '').split('&').filter(Boolean);
  return parts.map((part) => {
    const [name = '', ...value] = part.split('=');
    return [decodeForm(name), decodeForm(value.join('='))];
  });
}

/** A percent sign without two digits stands for itself. */
function decodeForm(text: string): string {
  const decode = (bytes: string) => textOf(bytesOf(bytes.replaceAll('%', ''), 'hex'));
  return text.replaceAll('+', ' ').replaceAll(/(?:%[\da-f]{2})+/gi, decode);
}

function encodeForm(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

/** Arguments become text, whatever they are. */
function toText(value: unknown): string {
  return String(value);
}

function isMatch([key, text]: readonly [string, string], name: unknown, value: unknown): boolean {
  return key === String(name) && (value === undefined || text === toText(value));
}

export class GuestSearchParams {
  #pairs: [string, string][];
  readonly #onChange: (() => void) | undefined;

  constructor(init: unknown = '', onChange?: () => void) {
    this.#onChange = onChange;
    if (typeof init === 'object' && init !== null) {
      const pairs = Symbol.iterator in init ? [...(init as Iterable<Iterable<unknown>>)] : Object.entries(init);
      this.#pairs = pairs.map((pair) => {
        const [name, value, ...more] = pair;
        if (value === undefined || more.length > 0) {
          throw Object.assign(new TypeError('Each query pair must be an iterable [name, value] tuple'), {
            code: 'ERR_INVALID_TUPLE',
          });
        }
        return [String(name), String(value)];
      });
    } else {
      this.#pairs = parseForm(String(init));
    }
  }

  static {
    replacePairs = (params, query) => {
      params.#pairs = parseForm(query);
    };
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

  has(name: string, value?: unknown): boolean {
    return this.#pairs.some((pair) => isMatch(pair, name, value));
  }

  append(name: unknown, value: unknown): void {
    this.#pairs.push([String(name), String(value)]);
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

  delete(name: string, value?: unknown): void {
    this.#pairs = this.#pairs.filter((pair) => !isMatch(pair, name, value));
    this.#onChange?.();
  }

  sort(): void {
    this.#pairs.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
    this.#onChange?.();
  }

  forEach(run: (value: string, name: string, params: GuestSearchParams) => void, self?: unknown): void {
    for (const [name, value] of this.#pairs) {
      Reflect.apply(run, self, [value, name, this]);
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

  get [Symbol.toStringTag](): string {
    return 'URLSearchParams';
  }

  [inspect.custom](_depth: number, options: InspectOptions): string {
    const pairs = this.#pairs.map(([name, value]) => `${inspect(name, options)} => ${inspect(value, options)}`);
    return pairs.length === 0 ? 'URLSearchParams {}' : `URLSearchParams { ${pairs.join(', ')} }`;
  }
}

export class GuestUrl {
  declare readonly href: string;
  #parts: readonly string[];
  readonly #params: GuestSearchParams;

  constructor(input: unknown, base?: unknown) {
    const text = String(input);
    const baseText = base === undefined ? undefined : toText(base);
    this.#parts = parse(text, baseText).split('\n');
    if (this.#parts.length !== URL_PARTS.length) {
      const details = { code: 'ERR_INVALID_URL', input: text, ...(baseText !== undefined && { base: baseText }) };
      throw Object.assign(new TypeError('Invalid URL'), details);
    }
    this.#params = new GuestSearchParams(this.#part('search'), () => this.#change('search', this.#params));
  }

  static {
    for (const part of URL_PARTS) {
      Object.defineProperty(GuestUrl.prototype, part, {
        get(this: GuestUrl) {
          return this.#part(part);
        },
        set(this: GuestUrl, value: unknown) {
          this.#change(part, value);
          replacePairs(this.#params, this.#part('search'));
        },
        enumerable: true,
        configurable: true,
      });
    }
  }

  static canParse(input: unknown, base?: unknown): boolean {
    return GuestUrl.parse(input, base) !== null;
  }

  static parse(input: unknown, base?: unknown): GuestUrl | null {
    try {
      return new GuestUrl(input, base);
    } catch {
      // It is none.
      return null;
    }
  }

  get searchParams(): GuestSearchParams {
    return this.#params;
  }

  get [Symbol.toStringTag](): string {
    return 'URL';
  }

  toString(): string {
    return this.href;
  }

  toJSON(): string {
    return this.href;
  }

  [inspect.custom](_depth: number, options: InspectOptions): string {
    const parts = URL_PARTS.map((part) => [part, this.#part(part)]);
    const shown = Object.fromEntries([...parts.slice(0, -1), ['searchParams', this.#params], ...parts.slice(-1)]);
    return `URL ${inspect(shown, options)}`;
  }

  #part(name: (typeof URL_PARTS)[number]): string {
    return this.#parts[URL_PARTS.indexOf(name)] ?? '';
  }

  #change(part: (typeof URL_PARTS)[number], value: unknown): void {
    if (part === 'href') {
      this.#parts = new GuestUrl(value).#parts;
    } else if (part !== 'origin') {
      this.#parts = parse(this.href, undefined, part, String(value)).split('\n');
    }
  }
}

Object.defineProperty(GuestUrl, 'name', { value: 'URL' });
Object.defineProperty(GuestSearchParams, 'name', { value: 'URLSearchParams' });
