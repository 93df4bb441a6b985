/**
 * The servers that code in a sandbox may name, and what is known of them: from the running server, else as it was kept
 * when it ran last. A server is found by name or alias in any case; a tool only among those its server lists.
 */
import { type CancelSignal, CancelSource } from '../base/cancel.ts';
import { type BridgeError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { type Catalog, createCatalog } from '../catalog/catalog.ts';
import type { CatalogServer, CatalogTool, ServerMetadata } from '../catalog/known.ts';
import { assignServerAliases, resolveName } from '../catalog/names.ts';
import type { FoundTools } from '../catalog/tool-index.ts';
import { visibleText } from '../catalog/visible.ts';
import { BackgroundWork } from './background-work.ts';
import { serverDisabled, serverNotFound, serverNotLoaded, shownName, toolNotFound } from './directory-errors.ts';
import type { DescribedServer, MetadataSource } from './server-metadata.ts';
import { allVisible, type VisibleTools } from './visible-tools.ts';

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
export type CurrentServers = () => ReadonlyMap<string, CallableServer>;

export interface ServerDirectory {
  /** Every configured server that is not disabled, in the order of the configuration. */
  servers(): readonly CatalogServer[];
  /** Resolves when what was kept of the configured servers is known. */
  ready(): Promise<void>;
  /** Rejects with `SERVER_UNKNOWN`, or `SERVER_NOT_AVAILABLE` when it is disabled. */
  find(wanted: string): Promise<CatalogServer>;
  /** `SERVER_NOT_AVAILABLE` for a server that is configured and disabled, by name or alias. */
  whyDisabled(wanted: string): BridgeError | undefined;
  /** As `find`; rejects with `SERVER_NOT_AVAILABLE` when `loaded` does not hold the server. */
  findLoaded(wanted: string, loaded: ReadonlySet<string>): Promise<CatalogServer>;
  /**
   * Its tools but the hidden ones, without starting the server when they are known and it did not say that they changed.
   * Rejects with `POLICY_DENIED` when none of its tools may be called.
   */
  tools(server: CatalogServer, signal: CancelSignal): Promise<readonly CatalogTool[]>;
  /**
   * Rejects with `TOOL_UNKNOWN`, and with `POLICY_DENIED` for a hidden tool: who names it is told why it is not there. A
   * tool that is not known is looked for in the running server.
   */
  findTool(server: CatalogServer, wanted: string, signal: CancelSignal): Promise<CatalogTool>;
  /** The tool for a call, hidden or not: the policy decides about calls, and what is refused is on record. */
  findToolToCall(server: CatalogServer, wanted: string, signal: CancelSignal): Promise<CatalogTool>;
  /** `POLICY_DENIED` for a server that may not be called, or a known tool of it that is hidden. Asks nobody. */
  whyHidden(server: CatalogServer, tool?: string): BridgeError | undefined;
  /** What the running server says now; starts it if need be. Rejects with a `BridgeError`. */
  refresh(server: CatalogServer, signal: CancelSignal): Promise<ServerMetadata>;
  /** Looks again whether changes of its tools were accepted; does not ask the server. */
  review(server: CatalogServer): Promise<void>;
  /** Takes note that the server is used: what is known of it is compared with what it says now, in the background. */
  noteUse(server: CatalogServer): void;
  /** Takes note that a running server said that its tools changed. */
  noteChange(name: string): void;
  /** What is known of a server without asking it; hidden tools are not in it. */
  metadata(server: CatalogServer): ServerMetadata | undefined;
  /** Why the server could not be asked last time, or may not be called; undefined when it could, or was not asked. */
  lastError(server: CatalogServer): string | undefined;
  /** Its working directory, when the configuration names one. */
  workingDirectory(server: CatalogServer): string | undefined;
  /** Tells its definition from others, of other servers or of another time. */
  definitionKey(server: CatalogServer): string;
  /** The known tools that fit best, hidden ones left out. Rejects with `POLICY_DENIED` when no tool at all may be called. */
  search(query: string, limit: number): Promise<FoundTools>;
  /** Resolves when what was learned is written. */
  close(): Promise<void>;
}

const MAX_ERROR_CHARS = 200;

export function createServerDirectory(
  source: MetadataSource,
  configured: CurrentServers,
  logger: Logger,
  visible: VisibleTools = allVisible,
): ServerDirectory {
  return new Directory(source, configured, logger, visible);
}

/** Of a server that may not be called there is nothing to know, and no reason to start it. */
const NOTHING_TO_CALL: ServerMetadata = { tools: [], notices: [] };

class Directory implements ServerDirectory {
  readonly #source: MetadataSource;
  readonly #configured: CurrentServers;
  readonly #visible: VisibleTools;
  readonly #catalog: Catalog;
  readonly #background: BackgroundWork<CatalogServer>;
  /** Definitions whose kept metadata were looked for. */
  readonly #hashes = new Map<string, string | undefined>();
  /** Running servers that said that their tools changed, each with the last time it did. */
  readonly #changed = new Map<string, symbol>();
  readonly #errors = new Map<string, string>();
  #current: ReadonlyMap<string, CallableServer> | undefined;
  /** Undefined when nothing is being loaded: a call need not wait a turn for that. */
  #loading: Promise<unknown> | undefined;

  constructor(source: MetadataSource, configured: CurrentServers, logger: Logger, visible: VisibleTools) {
    this.#source = source;
    this.#configured = configured;
    this.#visible = visible;
    this.#catalog = createCatalog((server, tools) => visible.of(server, tools));
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
      this.#load(changed);
    }
    return this.#catalog.servers();
  }

  async ready(): Promise<void> {
    this.servers();
    await this.#loading;
  }

  find(wanted: string): Promise<CatalogServer> {
    return this.#find(wanted, undefined);
  }

  findLoaded(wanted: string, loaded: ReadonlySet<string>): Promise<CatalogServer> {
    return this.#find(wanted, loaded);
  }

  async #find(wanted: string, loaded: ReadonlySet<string> | undefined): Promise<CatalogServer> {
    const server = resolveName(this.servers(), wanted);
    if (server === undefined) {
      throw this.whyDisabled(wanted) ?? (await serverNotFound(wanted, this.servers()));
    }
    if (loaded?.has(server.name) === false) {
      throw serverNotLoaded(wanted, server);
    }
    if (this.#loading !== undefined) {
      await this.#loading;
    }
    return server;
  }

  whyDisabled(wanted: string): BridgeError | undefined {
    const disabled = [...this.#configured().values()].filter((server) => server.disabled === true);
    const aliases = assignServerAliases(disabled.map(({ name }) => name));
    const named = disabled.map(({ name, file }, index) => ({ name, file, alias: aliases[index] ?? name }));
    const server = resolveName(named, wanted);
    return server && serverDisabled(server.name, server.file);
  }

  async tools(server: CatalogServer, signal: CancelSignal): Promise<readonly CatalogTool[]> {
    const refusal = this.whyHidden(server);
    if (refusal !== undefined) {
      throw refusal;
    }
    return this.#visible.of(server, await this.#allTools(server, signal));
  }

  async findTool(server: CatalogServer, wanted: string, signal: CancelSignal): Promise<CatalogTool> {
    const tool = await this.findToolToCall(server, wanted, signal);
    const refusal = this.#visible.refusalOf(server, tool);
    if (refusal !== undefined) {
      throw refusal;
    }
    return tool;
  }

  async findToolToCall(server: CatalogServer, wanted: string, signal: CancelSignal): Promise<CatalogTool> {
    if (this.whyHidden(server) !== undefined) {
      const known = resolveName(this.#catalog.tools(server) ?? [], wanted);
      return known ?? { name: shownName(wanted), alias: '', description: '', inputSchema: {} };
    }
    const known = resolveName(this.#knownTools(server) ?? (await this.#allTools(server, signal)), wanted);
    if (known !== undefined) {
      return known;
    }
    await this.refresh(server, signal);
    const listed = this.#catalog.tools(server) ?? [];
    const tool = resolveName(listed, wanted);
    if (tool === undefined) {
      throw await toolNotFound(server, this.#visible.of(server, listed), wanted);
    }
    return tool;
  }

  whyHidden(server: CatalogServer, tool?: string): BridgeError | undefined {
    const known = tool === undefined ? undefined : resolveName(this.#catalog.tools(server) ?? [], tool);
    return this.#visible.refusalOfServer(server) ?? (known && this.#visible.refusalOf(server, known));
  }

  async #allTools(server: CatalogServer, signal: CancelSignal): Promise<readonly CatalogTool[]> {
    while (this.#loading !== undefined) {
      await this.#loading;
    }
    if (this.#knownTools(server) === undefined) {
      await this.refresh(server, signal);
    }
    return this.#catalog.tools(server) ?? [];
  }

  /** Undefined when they are not known yet, or the server said that they changed. */
  #knownTools(server: CatalogServer): readonly CatalogTool[] | undefined {
    const isUnsure = this.#loading !== undefined || this.#changed.has(server.name);
    return isUnsure ? undefined : this.#catalog.tools(server);
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
    if (this.whyHidden(server) !== undefined) {
      return NOTHING_TO_CALL;
    }
    const metadata = this.#catalog.metadata(server);
    const tools = this.#catalog.tools(server) ?? [];
    const visible = this.#visible.of(server, tools);
    return metadata === undefined || visible === tools ? metadata : { ...metadata, tools: visible };
  }

  lastError(server: CatalogServer): string | undefined {
    return this.whyHidden(server)?.message ?? this.#errors.get(server.name);
  }

  workingDirectory(server: CatalogServer): string | undefined {
    return this.#configured().get(server.name)?.cwd;
  }

  async search(query: string, limit: number): Promise<FoundTools> {
    const refusal = this.#visible.refusalOfAll();
    if (refusal !== undefined) {
      throw refusal;
    }
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

  #load(servers: readonly CatalogServer[]): void {
    const loading = Promise.all([this.#loading, ...servers.map((server) => this.#loadKept(server))]).finally(() => {
      if (this.#loading === loading) {
        this.#loading = undefined;
      }
    });
    this.#loading = loading;
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
