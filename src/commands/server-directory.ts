/**
 * The servers that code in a sandbox may name, and what is known of them: from the running server, else as it was kept
 * when it ran last. A server is found by name or alias in any case; a tool only among those its server lists.
 */
import { type CancelSignal, CancelSource } from '../cancel.ts';
import { type CatalogServer, type CatalogTool, createCatalog } from '../catalog/catalog.ts';
import type { ServerMetadata } from '../catalog/intake.ts';
import { resolveName } from '../catalog/names.ts';
import type { FoundTools } from '../catalog/tool-index.ts';
import { visibleText } from '../catalog/visible.ts';
import { messageOf } from '../errors.ts';
import type { Logger } from '../log.ts';
import { BackgroundWork } from './background-work.ts';
import { serverNotFound, serverNotLoaded, toolNotFound } from './directory-errors.ts';
import type { DescribedServer, MetadataSource } from './server-metadata.ts';

/** A configured server, as far as calls are concerned. */
export interface CallableServer extends DescribedServer {
  readonly description?: string | undefined;
  /** Working directory of the server; code is told it. */
  readonly cwd?: string | undefined;
  /** A disabled server is known by name only: nothing starts it and no document names it. */
  readonly disabled?: boolean | undefined;
  /** The file that defines it. */
  readonly file?: string | undefined;
}

/** The configured servers of now by name; the same map as long as they did not change. Asked at every call. */
export type ConfiguredServers = () => ReadonlyMap<string, CallableServer>;

export interface ServerDirectory {
  /** Every configured server that is not disabled, in the order of the configuration. */
  servers(): readonly CatalogServer[];
  /** Resolves when what was kept of the configured servers is known. */
  ready(): Promise<void>;
  /** Rejects with `SERVER_UNKNOWN`, or `SERVER_NOT_AVAILABLE` when it is disabled. */
  find(wanted: string): Promise<CatalogServer>;
  /** As `find`; rejects with `SERVER_NOT_AVAILABLE` when `loaded` does not hold the server. */
  findLoaded(wanted: string, loaded: ReadonlySet<string>): Promise<CatalogServer>;
  /** Its tools, without starting the server when they are known and it did not say that they changed. */
  tools(server: CatalogServer, signal: CancelSignal): Promise<readonly CatalogTool[]>;
  /** Rejects with `TOOL_UNKNOWN`. A tool that is not known is looked for in the running server. */
  findTool(server: CatalogServer, wanted: string, signal: CancelSignal): Promise<CatalogTool>;
  /** What the running server says now; starts it if need be. Rejects with a `BridgeError`. */
  refresh(server: CatalogServer, signal: CancelSignal): Promise<ServerMetadata>;
  /** Looks again whether changes of its tools were accepted; does not ask the server. */
  review(server: CatalogServer): Promise<void>;
  /** Takes note that the server is used: what is known of it is compared with what it says now, in the background. */
  noteUse(server: CatalogServer): void;
  /** Takes note that a running server said that its tools changed. */
  noteChange(name: string): void;
  /** What is known of a server without asking it. */
  metadata(server: CatalogServer): ServerMetadata | undefined;
  /** Why the server could not be asked last time; undefined when it could, or was not asked. */
  lastError(server: CatalogServer): string | undefined;
  /** Its working directory, when the configuration names one. */
  workingDirectory(server: CatalogServer): string | undefined;
  /** Tells its definition from others, of other servers or of another time. */
  definitionKey(server: CatalogServer): string;
  /** The known tools that fit best. */
  search(query: string, limit: number): Promise<FoundTools>;
  /** Resolves when what was learned is written. */
  close(): Promise<void>;
}

const MAX_ERROR_CHARS = 200;

export function createServerDirectory(
  source: MetadataSource,
  configured: ConfiguredServers,
  logger: Logger,
): ServerDirectory {
  return new Directory(source, configured, logger);
}

class Directory implements ServerDirectory {
  readonly #source: MetadataSource;
  readonly #configured: ConfiguredServers;
  readonly #catalog = createCatalog();
  readonly #background: BackgroundWork<CatalogServer>;
  /** Definitions whose kept metadata were looked for. */
  readonly #hashes = new Map<string, string | undefined>();
  /** Running servers that said that their tools changed, each with the last time it did. */
  readonly #changed = new Map<string, symbol>();
  readonly #errors = new Map<string, string>();
  #current: ReadonlyMap<string, CallableServer> | undefined;
  #loading: Promise<unknown> = Promise.resolve();

  constructor(source: MetadataSource, configured: ConfiguredServers, logger: Logger) {
    this.#source = source;
    this.#configured = configured;
    this.#background = new BackgroundWork(async (server) => {
      // It belongs to no call: the next one must find what it learned.
      await this.refresh(server, new CancelSource().signal).catch((error: unknown) => {
        logger.debug(`What is known of server '${server.name}' was not brought up to date: ${messageOf(error)}`);
      });
    });
  }

  servers(): readonly CatalogServer[] {
    const definitions = this.#configured();
    if (definitions !== this.#current) {
      this.#current = definitions;
      this.#catalog.setServers([...definitions.values()].filter(({ disabled }) => disabled !== true));
      const changed = this.#catalog.servers().filter((server) => this.#isRedefined(server));
      this.#loading = Promise.all([this.#loading, ...changed.map((server) => this.#loadKept(server))]);
    }
    return this.#catalog.servers();
  }

  async ready(): Promise<void> {
    this.servers();
    await this.#loading;
  }

  async find(wanted: string): Promise<CatalogServer> {
    const server = resolveName(this.servers(), wanted);
    if (server === undefined) {
      throw await serverNotFound(wanted, this.#configured().get(wanted), this.servers());
    }
    await this.#loading;
    return server;
  }

  async findLoaded(wanted: string, loaded: ReadonlySet<string>): Promise<CatalogServer> {
    const server = await this.find(wanted);
    if (!loaded.has(server.name)) {
      throw serverNotLoaded(wanted, server);
    }
    return server;
  }

  async tools(server: CatalogServer, signal: CancelSignal): Promise<readonly CatalogTool[]> {
    await this.#loading;
    if (this.#catalog.metadata(server) === undefined || this.#changed.has(server.name)) {
      await this.refresh(server, signal);
    }
    return this.#catalog.tools(server) ?? [];
  }

  async findTool(server: CatalogServer, wanted: string, signal: CancelSignal): Promise<CatalogTool> {
    const known = resolveName(await this.tools(server, signal), wanted);
    if (known !== undefined) {
      return known;
    }
    await this.refresh(server, signal);
    const listed = this.#catalog.tools(server) ?? [];
    const tool = resolveName(listed, wanted);
    if (tool === undefined) {
      throw await toolNotFound(server, listed, wanted);
    }
    return tool;
  }

  async refresh(server: CatalogServer, signal: CancelSignal): Promise<ServerMetadata> {
    const change = this.#changed.get(server.name);
    const definition = this.#definitionOf(server);
    try {
      const metadata = await this.#source.current(definition, signal);
      if (definition === this.#definitionOf(server)) {
        this.#catalog.setMetadata(server, metadata);
      }
      if (this.#changed.get(server.name) === change) {
        this.#changed.delete(server.name);
      }
      this.#errors.delete(server.name);
      return metadata;
    } catch (error) {
      this.#errors.set(server.name, visibleText(messageOf(error), MAX_ERROR_CHARS));
      throw error;
    }
  }

  async review(server: CatalogServer): Promise<void> {
    const given = this.#catalog.metadata(server);
    const definition = this.#definitionOf(server);
    const metadata = given && (await this.#source.review(definition, given));
    if (metadata !== undefined && this.#catalog.metadata(server) === given) {
      this.#catalog.setMetadata(server, metadata);
    }
  }

  noteUse(server: CatalogServer): void {
    this.#background.start(server.name, server);
  }

  noteChange(name: string): void {
    const server = this.servers().find((candidate) => candidate.name === name);
    if (server !== undefined) {
      this.#changed.set(name, Symbol(name));
      this.#background.start(name, server);
    }
  }

  metadata(server: CatalogServer): ServerMetadata | undefined {
    return this.#catalog.metadata(server);
  }

  lastError(server: CatalogServer): string | undefined {
    return this.#errors.get(server.name);
  }

  workingDirectory(server: CatalogServer): string | undefined {
    return this.#configured().get(server.name)?.cwd;
  }

  search(query: string, limit: number): Promise<FoundTools> {
    this.servers();
    return this.#catalog.search(query, limit);
  }

  close(): Promise<void> {
    this.#background.close();
    return this.#source.flush();
  }

  definitionKey(server: CatalogServer): string {
    return `${server.name}\0${this.#definitionOf(server).definitionHash ?? ''}`;
  }

  #definitionOf(server: CatalogServer): CallableServer {
    return this.#configured().get(server.name) ?? server;
  }

  #isRedefined(server: CatalogServer): boolean {
    const { definitionHash } = this.#definitionOf(server);
    const isSame = this.#hashes.has(server.name) && this.#hashes.get(server.name) === definitionHash;
    this.#hashes.set(server.name, definitionHash);
    return !isSame;
  }

  /** Takes over what was kept, unless the server itself was faster. */
  async #loadKept(server: CatalogServer): Promise<void> {
    this.#catalog.setMetadata(server, undefined);
    const metadata = await this.#source.kept(this.#definitionOf(server));
    if (metadata !== undefined && this.#catalog.metadata(server) === undefined) {
      this.#catalog.setMetadata(server, metadata);
    }
  }
}
