/**
 * Reads package indexes (PEP 503, 691, 700, 658) for the embedded engine, which has no builder. The host does that itself, so
 * an index can name only addresses on the internet, or in its own network, and gets its credentials on its own host alone.
 */
import { z } from 'zod';
import { messageOf } from '../../../core/base/errors.ts';
import { isObject } from '../../../core/base/is-object.ts';
import { JSON_BOUNDS, readUntrusted } from '../../../core/protocol/untrusted-json.ts';
import { AddressRefusedError, ruleForAddressesFrom } from '../../../edges/upstream/http/addresses.ts';
import { BodyTooLongError, HttpClient, type HttpResponse, readBody } from '../../../edges/upstream/http/http-client.ts';
import { proxiesOf } from '../../../edges/upstream/http/proxies.ts';
import { decoded, type PackageIndex } from '../package-index.ts';
import { normalizeName } from '../requirement.ts';
import { FetchFailure } from './failure.ts';
import { MAX_METADATA_BYTES } from './wheel-metadata.ts';

const PAGES = 'application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1';
/** The longest page of PyPI has about 10 MB. */
const MAX_PAGE_BYTES = 32 * 1024 * 1024;
/** For a page or a metadata file, whole. Chosen. */
const PAGE_TIMEOUT_MS = 60_000;
const MAX_REDIRECTS = 5;
const USER_AGENT = 'mcp-server-code-execution-mode';

/** A wheel for any platform on an index. */
export interface ListedFile {
  readonly filename: string;
  readonly url: URL;
  readonly sha256: string | undefined;
  readonly requiresPython: string;
  /** As the index says it, in UTC; undefined if it does not. */
  readonly uploadedAt: Date | undefined;
  readonly isYanked: boolean;
  /** Whether the index has the metadata of the file beside it. */
  readonly hasMetadata: boolean;
  /** Of the page that lists it. */
  readonly host: string;
}

/** What an index has of a project. */
export interface Project {
  /** Wheels for any platform. */
  readonly files: readonly ListedFile[];
  /** Whether it has wheels for single platforms. */
  readonly hasCompiled: boolean;
}

/** A page of one project, or a list of files of many. */
interface Page {
  readonly files: readonly ListedFile[];
  /** The projects with wheels for single platforms. */
  readonly compiled: ReadonlySet<string>;
}

const FileSchema = z.object({
  filename: z.string().max(300),
  url: z.string().max(2_000),
  hashes: z.object({
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
  }),
  'requires-python': z.string().max(300).nullish(),
  'upload-time': z.string().max(40).optional(),
  yanked: z.union([z.boolean(), z.string()]).optional(),
  'core-metadata': z.unknown().optional(),
  'dist-info-metadata': z.unknown().optional(),
});
const FOR_ANY_PLATFORM = /-none-any\.whl$/;

export class SimpleIndex {
  readonly #index: PackageIndex;
  readonly #own: HttpClient;
  readonly #others: HttpClient;
  readonly #reached = new Set<string | undefined>();
  readonly #linked = new Map<string, Promise<Page>>();
  readonly #signal: AbortSignal;

  /** `signal` ends every request. */
  constructor(index: PackageIndex, signal: AbortSignal) {
    const { certificates, links, proxies, urls } = index;
    const [main = 'https://index.invalid'] = [...urls, ...links];
    const common = { certificates, proxies: proxiesOf(proxies) };
    this.#index = index;
    this.#signal = signal;
    this.#own = new HttpClient(common);
    this.#others = new HttpClient({ ...common, rule: () => ruleForAddressesFrom(new URL(main), this.#reached) });
  }

  /** What the first index that knows the project has of it; the others are not asked. Throws `FetchFailure`. */
  async project(name: string): Promise<Project> {
    const { links, urls } = this.#index;
    let hasCompiled = false;
    for (const address of links) {
      const page = this.#linked.get(address) ?? this.#page(new URL(address), 'links').then(demanded(address));
      this.#linked.set(address, page);
      // biome-ignore lint/performance/noAwaitInLoops: an index must not hear of what another one has.
      const { compiled, files } = await page;
      const own = files.filter(({ filename }) => projectOf(filename) === name);
      hasCompiled ||= compiled.has(name);
      if (own.length > 0) {
        return { files: own, hasCompiled };
      }
    }
    for (const address of urls) {
      // biome-ignore lint/performance/noAwaitInLoops: see above.
      const found = await this.#projectPage(address, name);
      if (found !== undefined) {
        return found;
      }
    }
    return { files: [], hasCompiled };
  }

  /** Throws `FetchFailure` if a place does not answer. The name that it asks for is public. */
  async check(): Promise<void> {
    const { links, urls } = this.#index;
    await Promise.all([
      ...links.map(async (address) => demanded(address)(await this.#page(new URL(address), 'links'))),
      ...urls.map(async (address) => this.#projectPage(address, 'pip')),
    ]);
  }

  /** The metadata of a file, if the index has them beside it; some only pass on that another one has. Throws `FetchFailure`. */
  async metadata(file: ListedFile): Promise<string | undefined> {
    const url = new URL(file.url);
    url.pathname += '.metadata';
    const response = file.hasMetadata ? await this.#get(url, this.#limited()) : undefined;
    if (response === undefined || response.status === 404) {
      response?.body.destroy();
      return undefined;
    }
    return (await this.#body(url, response, MAX_METADATA_BYTES)).toString('utf8');
  }

  /** The content of a file of at most `maxBytes`. Throws `FetchFailure`. */
  async content(url: URL, maxBytes: number, onBytes: (bytes: number, total: number) => void): Promise<Buffer> {
    return this.#body(url, await this.#get(url, this.#signal), maxBytes, onBytes);
  }

  close(): void {
    this.#own.close();
    this.#others.close();
  }

  #limited(): AbortSignal {
    return AbortSignal.any([this.#signal, AbortSignal.timeout(PAGE_TIMEOUT_MS)]);
  }

  async #projectPage(address: string, name: string): Promise<Project | undefined> {
    const page = await this.#page(
      new URL(`${address.replace(/\/+$/, '')}/${name}/`),
      name,
      this.#index.absent[address],
    );
    return page && { files: page.files, hasCompiled: page.compiled.size > 0 };
  }

  /** Undefined if the index does not know the project, which it says with 404 or one of `absent`. */
  async #page(url: URL, name: string, absent: readonly number[] = []): Promise<Page | undefined> {
    const response = await this.#get(url, this.#limited(), PAGES);
    if (response.status === 404 || absent.includes(response.status)) {
      response.body.destroy();
      return undefined;
    }
    const text = (await this.#body(url, response, MAX_PAGE_BYTES)).toString('utf8');
    const isHtml = /html/.test(response.headers['content-type'] ?? '') || text.trimStart().startsWith('<');
    const listed = isHtml ? linksOf(text, response.url) : listOf(text);
    if (listed === undefined) {
      throw new FetchFailure('index', `the answer of ${url.host} for ${name} is not that of an index`);
    }
    // The schema checks only what may be used: large projects have thousands of files.
    const named = listed.map((file) => ({ file, name: String((file as { filename?: unknown } | null)?.filename) }));
    const others = named.filter(({ name: each }) => each.endsWith('.whl') && !FOR_ANY_PLATFORM.test(each));
    return {
      files: named.flatMap(({ file, name: each }) =>
        FOR_ANY_PLATFORM.test(each) ? (readFile(file, response.url) ?? []) : [],
      ),
      compiled: new Set(others.map(({ name: each }) => projectOf(each))),
    };
  }

  async #body(
    url: URL,
    response: HttpResponse,
    maxBytes: number,
    onBytes?: (bytes: number, total: number) => void,
  ): Promise<Buffer> {
    if (response.status !== 200) {
      response.body.destroy();
      const kind = [401, 403, 407].includes(response.status) ? 'login' : 'index';
      throw new FetchFailure(kind, `${url.host} answered ${response.status} for ${shownPath(url)}`);
    }
    const total = Number(response.headers['content-length'] ?? 0) || 0;
    try {
      return await readBody(response, maxBytes, onBytes && ((bytes) => onBytes(bytes, total)));
    } catch (error) {
      throw failureOf(url, error);
    }
  }

  /** Follows redirects to other hosts, which get no credentials. */
  async #get(first: URL, signal: AbortSignal, accept = '*/*'): Promise<HttpResponse> {
    let url = first;
    for (let followed = 0; ; followed += 1) {
      const response = await this.#getOnce(url, signal, accept);
      const { location } = response.headers;
      if (response.status < 300 || response.status >= 400 || location === undefined || followed === MAX_REDIRECTS) {
        return response;
      }
      response.body.destroy();
      const target = URL.canParse(location, response.url.href) ? new URL(location, response.url) : undefined;
      if (target === undefined || !/^https?:$/.test(target.protocol)) {
        throw new FetchFailure('index', `${url.host} redirects to an address that is not http or https`);
      }
      if (url.protocol === 'https:' && target.protocol === 'http:') {
        throw new FetchFailure('index', `${url.host} redirects to an address without https`);
      }
      url = target;
    }
  }

  async #getOnce(address: URL, signal: AbortSignal, accept: string): Promise<HttpResponse> {
    const url = new URL(address);
    [url.username, url.password, url.hash] = ['', '', ''];
    const ofHost = [...this.#index.urls, ...this.#index.links]
      .map((one) => new URL(one))
      .filter(({ origin }) => origin === url.origin);
    // Of several on a host, each with credentials of its own, the one whose path is nearest.
    const [{ password, username } = { password: '', username: '' }] = ofHost
      .filter((one) => one.username + one.password !== '')
      .toSorted((one, other) => sharedChars(other.pathname, url.pathname) - sharedChars(one.pathname, url.pathname));
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const authorization = pair === ':' ? {} : { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
    const headers = { accept, 'user-agent': USER_AGENT, ...authorization };
    const places = [url.hostname, `${url.hostname}:${url.port || 443}`];
    const isTrusted = this.#index.trusted.some((host) => places.includes(host));
    try {
      const client = ofHost.length === 0 ? this.#others : this.#own;
      const response = await client.send({ url, method: 'GET', headers, signal, isTrusted });
      if (ofHost.length > 0) {
        this.#reached.add(response.from);
      }
      return response;
    } catch (error) {
      throw failureOf(url, error);
    }
  }
}

/** How much of two paths is the same. */
function sharedChars(path: string, other: string): number {
  let at = 0;
  while (at < path.length && path[at] === other[at]) {
    at += 1;
  }
  return at;
}

/** A page of links must be there; an index need not know every project. */
function demanded(address: string): (page: Page | undefined) => Page {
  return (page) => {
    if (page === undefined) {
      throw new FetchFailure('index', `${new URL(address).host} answered 404 for a page of links`);
    }
    return page;
  };
}

/**
 * Stops at the next tag outside of quotes, so a hostile page costs no more than a few times its length. Within, Nexus writes
 * `<` as it is.
 */
const LINK = /<(?:a|base)\s(?<attributes>(?:[^<>"']|"[^"]*"|'[^']*')*)>/gi;
const ATTRIBUTE = /(?<name>[\w-]+)(?:\s*=\s*(?:"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<plain>[^\s"'>]+)))?/g;
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };

/** The links of an HTML page (PEP 503), as JSON has them (PEP 691). */
function linksOf(text: string, page: URL): unknown[] {
  let base = page;
  return [...text.matchAll(LINK)].flatMap(({ 0: tag, groups }) => {
    const found = [...(groups?.['attributes'] ?? '').matchAll(ATTRIBUTE)].map(({ groups: one = {} }) => {
      const value = one['double'] ?? one['single'] ?? one['plain'] ?? '';
      const plain = value.replaceAll(/&(\w+|#\d{1,6}|#x[\da-f]{1,5});/gi, (whole, entity: string) => {
        const point = entity.replace(/^#/, '').replace(/^x/i, '0x');
        return entity.startsWith('#') ? String.fromCodePoint(Number(point)) : (ENTITIES[entity] ?? whole);
      });
      return [one['name']?.toLowerCase(), plain] as const;
    });
    const attributes = new Map(found);
    const href = attributes.get('href') ?? '';
    if (!URL.canParse(href, base.href)) {
      return [];
    }
    const url = new URL(href, base);
    if (/^<base/i.test(tag)) {
      base = url;
      return [];
    }
    const metadata = attributes.get('data-core-metadata') ?? attributes.get('data-dist-info-metadata');
    const sha256 = new URLSearchParams(url.hash.slice(1)).get('sha256') ?? undefined;
    url.hash = '';
    return {
      filename: decoded(url.pathname.split('/').at(-1) ?? ''),
      url: url.href,
      hashes: { sha256 },
      'requires-python': attributes.get('data-requires-python'),
      yanked: attributes.has('data-yanked'),
      'core-metadata': metadata !== undefined && metadata !== 'false',
    };
  });
}

/** The name of the project that a wheel belongs to. */
function projectOf(filename: string): string {
  return normalizeName(filename.split('-')[0] ?? '');
}

function listOf(text: string): unknown[] | undefined {
  const read = readUntrusted(text, JSON_BOUNDS.publication);
  const files = read.ok && isObject(read.value) ? read.value['files'] : undefined;
  return Array.isArray(files) ? files : undefined;
}

function readFile(value: unknown, page: URL): ListedFile | undefined {
  const { data } = FileSchema.safeParse(value);
  if (data === undefined || !URL.canParse(data.url, page.href)) {
    return undefined;
  }
  const url = new URL(data.url, page);
  const uploadedAt = data['upload-time'] === undefined ? undefined : new Date(data['upload-time']);
  return {
    filename: data.filename,
    url,
    sha256: data.hashes.sha256,
    requiresPython: data['requires-python'] ?? '',
    uploadedAt: uploadedAt === undefined || Number.isNaN(uploadedAt.getTime()) ? undefined : uploadedAt,
    isYanked: data.yanked !== undefined && data.yanked !== false,
    hasMetadata: Boolean(data['core-metadata'] ?? data['dist-info-metadata']),
    host: page.host,
  };
}

/** Without a query, which may hold secrets. */
function shownPath(url: URL): string {
  return url.pathname.slice(0, 200);
}

function failureOf(url: URL, error: unknown): FetchFailure {
  if (error instanceof FetchFailure) {
    return error;
  }
  if (error instanceof AddressRefusedError) {
    return new FetchFailure('index', `the index names ${url.host}, which is not asked: ${messageOf(error)}`);
  }
  if (error instanceof BodyTooLongError) {
    return new FetchFailure('limit', `${url.host} sent ${messageOf(error)} for ${shownPath(url)}`);
  }
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (name === 'TimeoutError' || name === 'AbortError') {
    return new FetchFailure('index', `${url.host} took too long for ${shownPath(url)}`);
  }
  const kind =
    code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'ENETUNREACH'
      ? 'network'
      : /CERT|VERIFY/.test(String(code))
        ? 'certificate'
        : 'index';
  return new FetchFailure(kind, `${url.host} cannot be reached: ${messageOf(error)}`);
}
