/** Finds new servers in the registry and the catalogs of the settings: by words, ranked as tools are, or one by its name. */
import { BridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { createPause } from '../../core/base/slices.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { readCatalog } from './catalog-files.ts';
import { lookOf, type NewServer } from './new-server.ts';
import { type Listing, Registry } from './registry.ts';

/** The registry is asked once for each. Chosen. */
const MAX_WORDS = 5;
/** Words that say nothing about a server. */
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  'a an and api for from in mcp my of on or server servers the to tool tools with'.split(' '),
);

const OFFICIAL_REGISTRY = 'https://registry.modelcontextprotocol.io';

export interface RegistrySettings {
  readonly stateDir: string;
  /** An address, or `off`. Default: the official registry. */
  readonly registry?: string | undefined;
  readonly catalogs?: readonly string[] | undefined;
}

export interface Found {
  /** Best first. */
  readonly servers: readonly FoundServer[];
  /** Where they are from. */
  readonly sources: readonly Source[];
}

export interface FoundServer {
  readonly server: NewServer;
  /** Another name among those that were read, which looks the same. */
  readonly resembles: string | undefined;
}

export interface Source {
  readonly origin: string;
  readonly atMs: number | undefined;
  /** Why it is missing, or only a copy. */
  readonly problem: string | undefined;
}

export class NewServers {
  readonly #settings: RegistrySettings;
  readonly #registry: Registry | undefined;

  constructor(settings: RegistrySettings, env: Readonly<Record<string, string | undefined>>) {
    this.#settings = settings;
    const { registry: address = OFFICIAL_REGISTRY, stateDir } = settings;
    this.#registry = address === 'off' ? undefined : new Registry({ address, stateDir, env });
  }

  /** Rejects with `USAGE_INVALID` if nothing is to be searched. Sources that cannot be read are named in the answer. */
  async search(query: string, limit: number): Promise<Found> {
    const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])];
    const telling = words.filter((word) => !EMPTY_WORDS.has(word));
    const asked = telling.length > 0 ? telling : words;
    const { servers, sources } = await this.#read(asked.length > 0 ? asked.slice(0, MAX_WORDS) : ['']);
    const looks = new Map<string, string[]>();
    for (const { name } of servers) {
      const look = lookOf(name);
      looks.set(look, [...(looks.get(look) ?? []), name]);
    }
    const ranked = await rank(servers, query, telling);
    return {
      servers: ranked.slice(0, limit).map((server) => {
        const resembles = looks.get(lookOf(server.name))?.find((name) => name !== server.name);
        return { server, resembles };
      }),
      sources,
    };
  }

  /** The server with exactly this name. Rejects with `CALL_REFUSED`. */
  async lookUp(name: string): Promise<{ readonly server: NewServer; readonly resembles: string | undefined }> {
    // The last part finds those that imitate it.
    const { servers, sources } = await this.#read([name, name.split('/').at(-1) ?? name]);
    const server = servers.find((one) => one.name === name);
    if (server === undefined) {
      const problem = sources.map((source) => source.problem).find((one) => one !== undefined);
      const near = await didYouMean(
        name,
        servers.map((one) => one.name).filter((one) => one.length < 200),
      );
      throw new BridgeError('CALL_REFUSED', `no registry or catalog has a server '${name}'.${near}`, {
        hint: problem ?? `For names, run: ${COMMAND} servers find WORDS`,
      });
    }
    const resembles = servers.find((one) => one.name !== name && lookOf(one.name) === lookOf(name))?.name;
    return { server, resembles };
  }

  async #read(words: readonly string[]): Promise<{ readonly servers: NewServer[]; readonly sources: Source[] }> {
    const { catalogs = [], registry = OFFICIAL_REGISTRY } = this.#settings;
    if (this.#registry === undefined && catalogs.length === 0) {
      throw new BridgeError('USAGE_INVALID', 'there is nothing to search, because MCP_BRIDGE_REGISTRY is off', {
        hint: 'Unset it, or name catalogs in MCP_BRIDGE_CATALOGS.',
      });
    }
    const listings: [string, Promise<Listing>][] = catalogs.map((path) => [path, readCatalog(path)]);
    if (this.#registry !== undefined) {
      listings.push([registry, this.#registry.listing(words)]);
    }
    const read = await Promise.all(listings.map(async ([origin, listing]) => ({ origin, ...(await listing) })));
    const byName = new Map<string, NewServer>();
    // The catalogs of the person come first, so what they say of a name counts.
    for (const server of read.flatMap(({ servers }) => servers)) {
      byName.set(server.name, byName.get(server.name) ?? server);
    }
    const sources = read.map(({ atMs, origin, problem }) => ({ origin, atMs, problem }));
    return { servers: [...byName.values()], sources };
  }
}

/** As the search ranks tools; then those whose names contain a word, and deprecated ones last. Without words, the most used first. */
async function rank(servers: readonly NewServer[], query: string, words: readonly string[]): Promise<NewServer[]> {
  // Loaded here, because it needs a library, and few cells look for servers.
  const { createSearchIndex } = await import('../../core/catalog/search.ts');
  const index = createSearchIndex();
  const tools = servers.map(({ description, name, title }) => ({ name, title, description, parameters: [] }));
  await index.put({ name: 'new', isNameless: true, description: '', tools }, createPause());
  const hits = words.length === 0 ? [] : index.search(query, servers.length).hits;
  const best = hits.flatMap(({ place }) => servers[place] ?? []);
  const others = servers
    .filter(({ name }) => words.length === 0 || words.some((word) => name.toLowerCase().includes(word)))
    .toSorted((a, b) => (b.users ?? 0) - (a.users ?? 0));
  const all = [...new Set([...best, ...others])];
  return [...all.filter((one) => !one.isDeprecated), ...all.filter((one) => one.isDeprecated)];
}
