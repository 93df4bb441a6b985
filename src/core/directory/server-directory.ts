/**
 * The servers that code in a sandbox may name, and their metadata: from the running server, or as kept when it last ran.
 * Names and aliases of servers are matched without regard to case; a tool must be in the list of its server.
 */
import { type CancelSignal, CancelSource } from '../base/cancel.ts';
import { type BridgeError, messageOf, toBridgeError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { MaybePromise } from '../base/maybe-promise.ts';
import { type Catalog, createCatalog } from '../catalog/catalog.ts';
import type { CatalogServer, CatalogTool, ServerMetadata } from '../catalog/known.ts';
import { assignServerAliases, resolveName } from '../catalog/names.ts';
import type { FoundTools, IndexedServer } from '../catalog/tool-index.ts';
import { visibleText } from '../catalog/visible.ts';
import { BackgroundWork } from './background-work.ts';
import { serverDisabled, serverNotFound, serverNotLoaded, shownName, toolNotFound } from './directory-errors.ts';
import type { DescribedServer, MetadataSource } from './server-metadata.ts';
import { allVisible, type VisibleTools } from './visible-tools.ts';

/** The parts of a configured server that calls need. */
export interface CallableServer extends DescribedServer {
  readonly description?: string | undefined;
  /** Working directory of the server, which code can read. */
  readonly cwd?: string | undefined;
  /** A disabled server is known only by name: nothing starts it and no document names it. */
  readonly disabled?: boolean | undefined;
  /** The file that defines it. */
  readonly file?: string | undefined;
}

/** The current servers by name; the same map until they change. Called for every call. */
export type CurrentServers = () => ReadonlyMap<string, CallableServer>;

export interface ServerDirectory {
  /** Every configured server that is not disabled, in the order of the configuration. */
  servers(): readonly CatalogServer[];
  /** Resolves when the kept metadata of the configured servers is loaded. */
  ready(): Promise<void>;
  /** Throws or rejects with `SERVER_UNKNOWN`, or with `SERVER_NOT_AVAILABLE` if the server is disabled. */
  find(wanted: string): MaybePromise<CatalogServer>;
  /** `SERVER_NOT_AVAILABLE` for the name or alias of a disabled server. */
  whyDisabled(wanted: string): BridgeError | undefined;
  /** Like `find`, but throws `SERVER_NOT_AVAILABLE` if the server is not in `loaded`. */
  findLoaded(wanted: string, loaded: ReadonlySet<string>): MaybePromise<CatalogServer>;
  /**
   * Its visible tools. Starts the server only if they are unknown, or if the server has announced a change. Rejects with
   * `POLICY_DENIED` if none of its tools may be called.
   */
  tools(server: CatalogServer, signal: CancelSignal): Promise<readonly CatalogTool[]>;
  /**
   * Asks the running server if the tool is unknown. Rejects with `TOOL_UNKNOWN`, and with `POLICY_DENIED` for a hidden tool,
   * so that whoever names it learns the reason.
   */
  findTool(server: CatalogServer, wanted: string, signal: CancelSignal): Promise<CatalogTool>;
  /** The tool for a call, hidden or not: the policy refuses the call, which records it. */
  findToolToCall(server: CatalogServer, wanted: string, signal: CancelSignal): MaybePromise<CatalogTool>;
  /** `POLICY_DENIED` for a server that may not be called, or for a known tool that is hidden. Does not ask the server. */
  whyHidden(server: CatalogServer, tool?: string): BridgeError | undefined;
  /** The current metadata of the running server, which is started if need be. Rejects with a `BridgeError`. */
  refresh(server: CatalogServer, signal: CancelSignal): Promise<ServerMetadata>;
  /** Checks again whether changes of its tools were accepted. Does not ask the server. */
  review(server: CatalogServer): Promise<void>;
  /** Notes that the server is used: its metadata is updated in the background. */
  noteUse(server: CatalogServer): void;
  /** Notes that a running server has announced a change of its tools. */
  noteChange(name: string): void;
  /** The known metadata, without hidden tools. Does not ask the server. */
  metadata(server: CatalogServer): ServerMetadata | undefined;
  /** Why the last attempt to ask the server failed, or why it may not be called. */
  lastError(server: CatalogServer): string | undefined;
  /** Its working directory, if the configuration names one. */
  workingDirectory(server: CatalogServer): string | undefined;
  /** Identifies its current definition: another server, or the same one with another definition, has another key. */
  definitionKey(server: CatalogServer): string;
  /** The best matches among the known visible tools and `extra`. Rejects with `POLICY_DENIED` if no tool may be called. */
  search(query: string, limit: number, extra?: readonly IndexedServer[]): Promise<FoundTools>;
  /** Resolves when all metadata has been written. */
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

/** Between updates because of uses. Chosen: code can make thousands of calls meanwhile, and lists are kept for minutes. */
const USE_INTERVAL_MS = 1_000;

/** Metadata of a server that may not be called. */
const NOTHING_TO_CALL: ServerMetadata = { tools: [], notices: [] };

class Directory implements ServerDirectory {
  readonly #source: MetadataSource;
  readonly #configured: CurrentServers;
  readonly #visible: VisibleTools;
  readonly #catalog: Catalog;
  readonly #background: BackgroundWork<CatalogServer>;
  /** Hashes of the definitions whose kept metadata was loaded. */
  readonly #hashes = new Map<string, string | undefined>();
  /** Running servers that have announced a change of their tools, each with a symbol of the last announcement. */
  readonly #changed = new Map<string, symbol>();
  readonly #errors = new Map<string, string>();
  /** When a use last led to an update, in ms of `performance.now()`. */
  readonly #usedAt = new Map<string, number>();
  #current: ReadonlyMap<string, CallableServer> | undefined;
  /** Undefined if nothing is loading, so that a call need not wait a turn. */
  #loading: Promise<unknown> | undefined;

  constructor(source: MetadataSource, configured: CurrentServers, logger: Logger, visible: VisibleTools) {
    this.#source = source;
    this.#configured = configured;
    this.#visible = visible;
    this.#catalog = createCatalog((server, tools) => visible.of(server, tools));
    this.#background = new BackgroundWork(async (server) => {
      // Not cancelled with the call that started it: the next call needs the result.
      await this.refresh(server, new CancelSource().signal).catch((error: unknown) => {
        logger.debug(`Cannot update the metadata of server '${server.name}': ${messageOf(error)}`);
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

  find(wanted: string): MaybePromise<CatalogServer> {
    return this.#find(wanted, undefined);
  }

  findLoaded(wanted: string, loaded: ReadonlySet<string>): MaybePromise<CatalogServer> {
    return this.#find(wanted, loaded);
  }

  #find(wanted: string, loaded: ReadonlySet<string> | undefined): MaybePromise<CatalogServer> {
    const server = resolveName(this.servers(), wanted);
    if (server === undefined) {
      return this.#refuseToFind(wanted);
    }
    if (loaded?.has(server.name) === false) {
      throw serverNotLoaded(server);
    }
    return this.#loading === undefined ? server : this.#loading.then(() => server);
  }

  async #refuseToFind(wanted: string): Promise<never> {
    throw this.whyDisabled(wanted) ?? (await serverNotFound(wanted, this.servers()));
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

  findToolToCall(server: CatalogServer, wanted: string, signal: CancelSignal): MaybePromise<CatalogTool> {
    if (this.whyHidden(server) !== undefined) {
      const known = resolveName(this.#catalog.tools(server) ?? [], wanted);
      return known ?? { name: shownName(wanted), alias: '', description: '', inputSchema: {} };
    }
    const known = resolveName(this.#knownTools(server) ?? [], wanted);
    return known ?? this.#findUnknownTool(server, wanted, signal);
  }

  async #findUnknownTool(server: CatalogServer, wanted: string, signal: CancelSignal): Promise<CatalogTool> {
    const known = resolveName(await this.#allTools(server, signal), wanted);
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

  /** Undefined if they are unknown, or if the server has announced a change. */
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
      // Of a caller that gave up, such as a cell at its deadline. The server may be starting still.
      if (toBridgeError(error).code !== 'CALL_CANCELLED') {
        this.#errors.set(server.name, visibleText(messageOf(error), MAX_ERROR_CHARS));
      }
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
    const now = performance.now();
    if (now - (this.#usedAt.get(server.name) ?? Number.NEGATIVE_INFINITY) >= USE_INTERVAL_MS) {
      this.#usedAt.set(server.name, now);
      this.#background.start(server.name, server);
    }
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

  async search(query: string, limit: number, extra: readonly IndexedServer[] = []): Promise<FoundTools> {
    const refusal = this.#visible.refusalOfAll();
    if (refusal !== undefined) {
      throw refusal;
    }
    this.servers();
    return this.#catalog.search(query, limit, extra);
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

  /** Uses the kept metadata, unless the server answers first. */
  async #loadKept(server: CatalogServer): Promise<void> {
    this.#catalog.setMetadata(server, undefined);
    const metadata = await this.#source.kept(this.#definitionOf(server));
    if (metadata !== undefined && this.#catalog.metadata(server) === undefined) {
      this.#catalog.setMetadata(server, metadata);
    }
  }
}
