/**
 * The running MCP servers: started on first use, kept warm, shared by all sessions, restarted after a crash. A server that
 * hangs or crashes affects only its own calls.
 */
import type { CancelSignal } from '../../core/base/cancel.ts';
import { EgressRules } from '../../core/base/egress.ts';
import type { EgressAnswer, EgressRequest } from '../../core/base/egress-exchange.ts';
import { BridgeError } from '../../core/base/errors.ts';
import type { JsonObject } from '../../core/base/is-object.ts';
import type { Logger } from '../../core/base/log.ts';
import type { UpstreamDefinition } from '../../core/base/server-definition.ts';
import type { ResultBytes } from '../../core/protocol/result-bytes.ts';
import type { SurfaceAnswer, SurfaceCall } from '../../core/protocol/server-requests.ts';
import type { ServerInfo, StartStep } from './connection.ts';
import { Guardian } from './guardian.ts';
import { type ElicitationOffer, PROBE_TIMEOUT_MS } from './handshake.ts';
import type { InviteLogin } from './oauth/authorization.ts';
import type { LoginStore } from './oauth/login-store.ts';
import type { ObserveServer } from './observer.ts';
import {
  type AheadStart,
  MAX_LISTING_AGE_MS,
  type ServerListing,
  type ServerState,
  type ToolRequest,
  type ToolRequestForBytes,
  UpstreamServer,
} from './server.ts';

export type { JsonObject } from '../../core/base/is-object.ts';
export type { ProcessDefinition, RemoteDefinition, UpstreamDefinition } from '../../core/base/server-definition.ts';
export type { ServerInfo, StartStep } from './connection.ts';
export type { LoginStore } from './oauth/login-store.ts';
export type { ServerListing, ServerState, ToolRequest } from './server.ts';
export type { UpstreamTool } from './tool-list.ts';

/** The slowest of 40 real servers took 16 s with everything downloaded. Chosen. */
const START_TIMEOUT_MS = 60_000;
/** A runner may fetch one large file without a word: 300 MB in this time take 1.7 MB/s. Chosen. */
const QUIET_START_MS = 180_000;
/** Chosen: people give up before. */
const LONGEST_START_MS = 900_000;

/** What one entry allows code to send itself. */
export interface ServerEgress {
  readonly rules: EgressRules;
  /** Whether its tools are the methods of HTTP. */
  readonly hasTools: boolean;
  /** The variables that have a placeholder in sandboxes. */
  readonly keys: readonly string[];
}

export type EgressByServer = ReadonlyMap<string, ServerEgress>;

export interface UpstreamPoolOptions {
  readonly logger: Logger;
  /** The bridge's environment, of which servers inherit named safe variables. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Time from start to the end of the handshake, if the command is no package runner. Default: 60 s. */
  readonly startTimeoutMs?: number | undefined;
  /** For a package runner: time without a word on stderr. Default: 3 minutes. */
  readonly quietStartMs?: number | undefined;
  /** For a package runner: time from start to the end of the handshake. Default: 15 minutes. */
  readonly longestStartMs?: number | undefined;
  /** How long a server may take to answer `server/discover` before it is sent `initialize`. Default: 5 s. */
  readonly probeTimeoutMs?: number | undefined;
  /** Where compiled descriptions of APIs are kept. Default: nowhere. */
  readonly descriptionsDir?: string | undefined;
  /** What the placeholders of keys in sandboxes derive from. Default: they are of no use. */
  readonly egressSeed?: (() => Promise<Buffer>) | undefined;
  /** Logins at remote servers. Default: none. */
  readonly logins?: LoginStore | undefined;
  /** Where the owner of a server can log in; without it, errors name a command. */
  readonly inviteLogin?: InviteLogin | undefined;
  /** Called when a server reports that its tools changed, at most once a second per server. */
  readonly onToolsChanged?: ((server: string) => void) | undefined;
  /** Whether secrets of an entry are masked in the messages of its server. Default: yes. In the bridge's messages they always are. */
  readonly masksSecrets?: boolean | undefined;
  /** Replaces references in a definition with their values when its server starts. Default: the definition is used unchanged. */
  readonly prepare?: ((definition: UpstreamDefinition) => Promise<UpstreamDefinition>) | undefined;
  /** Watches what is asked of each server. */
  readonly observe?: ObserveServer | undefined;
  /** Called as the start of a server proceeds. */
  readonly onStep?: ((server: string, step: StartStep) => void) | undefined;
  /** The level at which a failed start is logged. Default: warning, because the caller may not show the error to a person. */
  readonly failureLevel?: 'debug' | 'warning' | undefined;
  /** The age from which a tool list is read again when requested. Default: 10 minutes. */
  readonly maxListingAgeMs?: number | undefined;
}

/** Every rejection is a `BridgeError` whose `data.server` names the server. Secrets of the entry are masked in it. */
export interface UpstreamPool {
  /**
   * Sets the configured servers. A server whose definition changed or disappeared finishes its calls and ends; the new one
   * starts on its next use. Passing the same map again costs nothing.
   */
  update(definitions: ReadonlyMap<string, UpstreamDefinition>): void;
  /** Sets which questions servers may ask the person. Applies to servers that start later. */
  offerElicitation(offer: ElicitationOffer): void;
  /**
   * What a server reports about itself, and all its tools. Starts the server if necessary. The same object is returned until
   * the server reports a change, the server ends, or the list is old. Rejects with `SERVER_UNKNOWN`, `SERVER_START_FAILED`,
   * `SERVER_EXITED`, `SERVER_PROTOCOL`, `CALL_TIMEOUT`, `CALL_CANCELLED`.
   */
  describe(server: string, options?: { readonly signal?: CancelSignal | undefined }): Promise<ServerListing>;
  /**
   * Resolves with the result as the server sent it, including one with `isError`. Rejects as `describe` does, and with
   * `TOOL_UNKNOWN`, `TOOL_FAILED` (a JSON-RPC error of the server) and `LIMIT_RESULT`.
   */
  callTool(call: ToolRequestForBytes): Promise<JsonObject | ResultBytes>;
  callTool(call: ToolRequest): Promise<JsonObject>;
  /**
   * Sends one request for resources or prompts. Rejects as `describe` does, and with `CAPABILITY_MISSING`, `TOOL_FAILED` (a
   * JSON-RPC error of the server) and `LIMIT_RESULT`.
   */
  surface(call: SurfaceCall): Promise<SurfaceAnswer>;
  /** What each server's entry allows code to send itself; the same map until the definitions change. */
  egress(): EgressByServer;
  /** Sends a request of code to the API of a server. Rejects as `callTool` does. The caller has checked that its entry allows it. */
  sendEgress(server: string, request: EgressRequest): Promise<EgressAnswer>;
  /**
   * Starts a server before anyone asks for it, and reads its tools; a request meanwhile waits for this start and no other.
   * Rejects as `describe` does; the first request then starts the server as if this had not been tried.
   */
  startAhead(server: string): Promise<AheadStart>;
  /** What a running server reported about itself; undefined if it is not running. */
  serverInfo(server: string): ServerInfo | undefined;
  /** The state of each configured server, in the order of the configuration. */
  states(): ServerState[];
  /** Stops a server if it runs, and its calls in flight fail; the next request starts it again. Rejects with `SERVER_UNKNOWN`. */
  stop(server: string): Promise<void>;
  /** The next `describe` reads the tools of the server again. Throws `SERVER_UNKNOWN`. */
  forgetListing(server: string): void;
  /** Stops every server and everything it started; resolves when they are gone, within 3 s. Later calls are refused. */
  close(): Promise<void>;
}

export function createUpstreamPool(options: UpstreamPoolOptions): UpstreamPool {
  return new Pool(options);
}

class Pool implements UpstreamPool {
  readonly #options: UpstreamPoolOptions;
  readonly #guardian: Guardian;
  readonly #legacyServers = new Set<string>();
  /** Removed servers that are finishing their calls. */
  readonly #retiring = new Set<UpstreamServer>();
  #definitions: ReadonlyMap<string, UpstreamDefinition> = new Map();
  #servers = new Map<string, UpstreamServer>();
  #egress: EgressByServer | undefined;
  #elicitation: ElicitationOffer;
  #isClosed = false;

  constructor(options: UpstreamPoolOptions) {
    this.#options = options;
    this.#guardian = new Guardian(options.logger);
  }

  update(definitions: ReadonlyMap<string, UpstreamDefinition>): void {
    if (definitions === this.#definitions || this.#isClosed) {
      return;
    }
    const next = new Map([...definitions].map(([name, definition]) => [name, this.#keepOrCreate(definition)]));
    [...this.#servers.values()]
      .filter((server) => next.get(server.name) !== server)
      .forEach((old) => this.#retire(old));
    this.#definitions = definitions;
    this.#egress = undefined;
    this.#servers = next;
  }

  offerElicitation(offer: ElicitationOffer): void {
    this.#elicitation = offer;
  }

  async describe(server: string, options: { readonly signal?: CancelSignal | undefined } = {}): Promise<ServerListing> {
    return this.#serverOf(server).describe(options.signal);
  }

  callTool(call: ToolRequestForBytes): Promise<JsonObject | ResultBytes>;
  callTool(call: ToolRequest): Promise<JsonObject>;
  callTool(call: ToolRequest): Promise<JsonObject | ResultBytes> {
    const server = this.#servers.get(call.server);
    return server === undefined ? Promise.reject(unknownServer(call.server)) : server.callTool(call);
  }

  async surface(call: SurfaceCall): Promise<SurfaceAnswer> {
    return this.#serverOf(call.server).surface(call);
  }

  egress(): EgressByServer {
    this.#egress ??= new Map(
      [...this.#definitions].flatMap(([name, definition]): [string, ServerEgress][] => {
        if (definition.url === undefined || definition.egress === undefined) {
          return [];
        }
        const { api, egress, keys = {}, url } = definition;
        const hasTools = api?.kind === 'http';
        return [[name, { rules: new EgressRules(url, egress), keys: Object.keys(keys), hasTools }]];
      }),
    );
    return this.#egress;
  }

  async sendEgress(server: string, request: EgressRequest): Promise<EgressAnswer> {
    return this.#serverOf(server).sendEgress(request);
  }

  async startAhead(server: string): Promise<AheadStart> {
    return this.#serverOf(server).startAhead();
  }

  serverInfo(server: string): ServerInfo | undefined {
    return this.#servers.get(server)?.info();
  }

  states(): ServerState[] {
    return [...this.#servers.values()].map((server) => server.state());
  }

  async stop(server: string): Promise<void> {
    await this.#serverOf(server).stop();
  }

  forgetListing(server: string): void {
    this.#serverOf(server).forgetListing();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#servers.values(), ...this.#retiring].map((server) => server.close()));
    this.#guardian.close();
  }

  #serverOf(name: string): UpstreamServer {
    const server = this.#servers.get(name);
    if (server === undefined) {
      throw unknownServer(name);
    }
    return server;
  }

  #keepOrCreate(definition: UpstreamDefinition): UpstreamServer {
    const current = this.#servers.get(definition.name);
    if (current?.redefine(definition) === true) {
      return current;
    }
    const {
      logger,
      env,
      failureLevel = 'warning',
      startTimeoutMs,
      quietStartMs,
      longestStartMs,
      probeTimeoutMs,
      descriptionsDir,
      egressSeed,
      logins,
      inviteLogin,
      onToolsChanged,
      masksSecrets,
      maxListingAgeMs,
      observe,
      onStep,
      prepare,
    } = this.#options;
    return new UpstreamServer(definition, {
      env: env ?? process.env,
      guardian: this.#guardian,
      logger,
      failureLevel,
      startTimeoutMs: startTimeoutMs ?? START_TIMEOUT_MS,
      quietStartMs: quietStartMs ?? QUIET_START_MS,
      longestStartMs: longestStartMs ?? LONGEST_START_MS,
      probeTimeoutMs: probeTimeoutMs ?? PROBE_TIMEOUT_MS,
      legacyServers: this.#legacyServers,
      descriptionsDir,
      egressSeed,
      logins,
      inviteLogin,
      onToolsChanged: () => onToolsChanged?.(definition.name),
      observer: observe?.(definition),
      onStep: (step) => onStep?.(definition.name, step),
      masksSecrets: masksSecrets ?? true,
      elicitation: () => this.#elicitation,
      prepare: prepare ?? (async (unprepared) => unprepared),
      maxListingAgeMs: maxListingAgeMs ?? MAX_LISTING_AGE_MS,
    });
  }

  #retire(server: UpstreamServer): void {
    this.#retiring.add(server);
    void server.retire().finally(() => this.#retiring.delete(server));
  }
}

function unknownServer(name: string): BridgeError {
  return new BridgeError('SERVER_UNKNOWN', `no server '${name}' is configured`, { data: { server: name } });
}
