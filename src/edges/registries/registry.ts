/**
 * Asks an MCP registry (`GET /v0.1/servers`, before that `/v0/servers`), and keeps a copy of what it said, for when it cannot be
 * reached. The address is the user's choice; what comes from there is bounded in bytes, pages, servers and time.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { CappedMap } from '../../core/base/capped-map.ts';
import { messageOf } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { JSON_BOUNDS, type JsonBounds, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { changeJsonFile } from '../../core/state/change-file.ts';
import { hashText } from '../../core/state/file-consents.ts';
import { readBounded } from '../../core/state/state-files.ts';
import { hostOf, isPrivateAddress, isThisMachine } from '../upstream/http/addresses.ts';
import { discardBody, HttpClient, readBody } from '../upstream/http/http-client.ts';
import { proxiesOf } from '../upstream/http/proxies.ts';
import type { NewServer } from './new-server.ts';
import { type Origin, readServer } from './server-json.ts';

/** One word finds this many at most; the ranking of the registry comes first. Chosen. */
const PAGE_SERVERS = 100;
const MAX_PAGES = 5;
const MAX_SERVERS = 500;
/** A page of the official registry has some 100 kB. */
const PAGE_BOUNDS: JsonBounds = { ...JSON_BOUNDS.request, bytes: 4 * 1024 * 1024 };
const MAX_CURSOR_CHARS = 1_000;
/** For all pages of one word. Chosen. */
const MAX_MS = 15_000;
/** Words that are asked for again within this time are answered from memory, so that code in a loop does not flood the registry. */
const FRESH_MS = 300_000;
const MAX_FRESH_WORDS = 200;
/** Of the copy; the servers that were found last stay. */
const MAX_KEPT = 2_000;
const COPY_BOUNDS: JsonBounds = { ...JSON_BOUNDS.publication, bytes: 16 * 1024 * 1024 };
const FORMAT = 1;

const PageSchema = z.looseObject({
  servers: z.array(z.unknown()),
  metadata: z.looseObject({ nextCursor: z.string().nullish(), next_cursor: z.string().nullish() }).nullish(),
});

/** What a registry or its copy knows. */
export interface Listing {
  readonly servers: readonly NewServer[];
  /** When it was read, in milliseconds since 1970; undefined if there is nothing. */
  readonly atMs: number | undefined;
  /** Why it could not be asked, if this is the copy. */
  readonly problem?: string | undefined;
}

interface Kept {
  readonly atMs: number;
  readonly server: NewServer;
}

export interface RegistryOptions {
  /** The address, without `/v0`. */
  readonly address: string;
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export class Registry {
  readonly #options: RegistryOptions;
  readonly #origin: Origin;
  readonly #copy: string;
  readonly #fresh = new CappedMap<string, { readonly atMs: number; readonly found: readonly Kept[] }>(MAX_FRESH_WORDS);

  constructor(options: RegistryOptions) {
    this.#options = options;
    const { address, stateDir } = options;
    const host = hostOf(new URL(address));
    this.#origin = { origin: address, isLocal: isThisMachine(host) || isPrivateAddress(host) };
    this.#copy = join(stateDir, '.cache', 'registries', `${hashText(address).slice(0, 16)}.json`);
  }

  /** The servers whose names contain one of the words; from the copy, all that it has. Never rejects. */
  async listing(words: readonly string[]): Promise<Listing> {
    try {
      const found: Kept[] = [];
      for (const word of words) {
        found.push(...(await this.#ask(word)));
      }
      const times = found.map(({ atMs }) => atMs);
      return { servers: unique(found), atMs: times.length === 0 ? Date.now() : Math.min(...times) };
    } catch (error) {
      const kept = await this.#readCopy();
      const atMs = kept.length === 0 ? undefined : Math.max(...kept.map((one) => one.atMs));
      const problem = `${this.#options.address} could not be asked: ${messageOf(error)}`;
      return { servers: unique(kept), atMs, problem };
    }
  }

  async #ask(word: string): Promise<readonly Kept[]> {
    const known = this.#fresh.get(word);
    if (known !== undefined && Date.now() - known.atMs < FRESH_MS) {
      return known.found;
    }
    const atMs = Date.now();
    const found = (await this.#pages(word)).map((server) => ({ server, atMs }));
    this.#fresh.set(word, { atMs, found });
    await this.#keep(found).catch(() => undefined);
    return found;
  }

  async #pages(word: string): Promise<NewServer[]> {
    const client = new HttpClient({ proxies: proxiesOf(this.#options.env) });
    const signal = AbortSignal.timeout(MAX_MS);
    try {
      return await this.#readPages(word, (path) => getPage(client, new URL(path), signal));
    } catch (error) {
      throw signal.aborted ? new Error(`no complete answer within ${MAX_MS / 1000} s`, { cause: error }) : error;
    } finally {
      client.close();
    }
  }

  async #readPages(word: string, get: (path: string) => Promise<Page | undefined>): Promise<NewServer[]> {
    const base = this.#options.address.replace(/\/+$/, '');
    const query = new URLSearchParams({ search: word, version: 'latest', limit: String(PAGE_SERVERS) });
    const found: NewServer[] = [];
    const seen = new Set<string>();
    let api = `${base}/v0.1/servers`;
    let page = await get(`${api}?${query.toString()}`);
    if (page === undefined) {
      api = `${base}/v0/servers`;
      page = await get(`${api}?${query.toString()}`);
    }
    for (let count = 1; page !== undefined; count += 1) {
      found.push(...page.items.flatMap((item) => readServer(item, this.#origin) ?? []));
      const { cursor } = page;
      // A cursor that comes back would never end.
      if (cursor === undefined || seen.has(cursor) || count === MAX_PAGES || found.length >= MAX_SERVERS) {
        return found.slice(0, MAX_SERVERS);
      }
      seen.add(cursor);
      query.set('cursor', cursor);
      page = await get(`${api}?${query.toString()}`);
    }
    throw new Error('it has neither /v0.1/servers nor /v0/servers');
  }

  async #keep(found: readonly Kept[]): Promise<void> {
    await changeJsonFile(this.#copy, async () => {
      const names = new Set(found.map(({ server }) => server.name));
      const others = (await this.#readCopy()).filter(({ server }) => !names.has(server.name));
      return { format: FORMAT, servers: [...others, ...found].slice(-MAX_KEPT) };
    });
  }

  async #readCopy(): Promise<Kept[]> {
    const data = await readBounded(this.#copy, COPY_BOUNDS.bytes).catch(() => '');
    const read = readUntrusted(data, COPY_BOUNDS);
    // We wrote it, and the state directory is readable and writable only by its owner.
    const { format, servers } = read.ok && isObject(read.value) ? read.value : {};
    return format === FORMAT && Array.isArray(servers) ? (servers as Kept[]) : [];
  }
}

interface Page {
  readonly items: readonly unknown[];
  readonly cursor: string | undefined;
}

/** Undefined if the registry does not know the path. */
async function getPage(client: HttpClient, url: URL, signal: AbortSignal): Promise<Page | undefined> {
  const response = await client.send({ url, method: 'GET', headers: { accept: 'application/json' }, signal });
  if (response.status !== 200) {
    discardBody(response);
    if (response.status === 404) {
      return undefined;
    }
    throw new Error(`it answered with HTTP ${response.status}`);
  }
  const read = readUntrusted(await readBody(response, PAGE_BOUNDS.bytes), PAGE_BOUNDS);
  if (!read.ok) {
    throw new Error(`its answer is ${read.reason}`);
  }
  const page = PageSchema.safeParse(read.value);
  if (!page.success) {
    throw new Error('its answer is not a list of servers');
  }
  const { metadata, servers } = page.data;
  const cursor = metadata?.nextCursor ?? metadata?.next_cursor ?? '';
  return { items: servers, cursor: cursor === '' || cursor.length > MAX_CURSOR_CHARS ? undefined : cursor };
}

/** Each name once; a later one replaces an earlier one. */
function unique(found: readonly Kept[]): NewServer[] {
  return [...new Map(found.map(({ server }) => [server.name, server])).values()];
}
