/**
 * The running upstream servers: started on first use, kept warm, shared by all sessions, started again after a crash.
 * A server that hangs or crashes hurts only the calls that are on it.
 */
import type { CancelSignal } from '../base/cancel.ts';
import { BridgeError } from '../base/errors.ts';
import type { JsonObject } from '../base/is-object.ts';
import type { Logger } from '../base/log.ts';
import type { UpstreamDefinition } from '../base/server-definition.ts';
import type { ServerInfo, StartStep } from './connection.ts';
import type { ElicitationOffer } from './elicit.ts';
import { Guardian } from './guardian.ts';
import { PROBE_TIMEOUT_MS } from './handshake.ts';
import type { LoginStore } from './oauth/login-record.ts';
import {
  MAX_LISTING_AGE_MS,
  type ServerListing,
  type ServerState,
  type ToolRequest,
  UpstreamServer,
} from './server.ts';
import type { SurfaceAnswer, SurfaceCall } from './surface.ts';

export type { JsonObject } from '../base/is-object.ts';
export type { ProcessDefinition, RemoteDefinition, UpstreamDefinition } from '../base/server-definition.ts';
export type { ServerInfo, StartStep } from './connection.ts';
export type { LoginRecord, LoginStore } from './oauth/login-record.ts';
export type { ServerListing, ServerState, ToolRequest } from './server.ts';
export type { SurfaceAnswer, SurfaceCall } from './surface.ts';
export type { UpstreamTool } from './tool-list.ts';

/** A cold `npx` or `uvx` downloads the server first. Chosen. */
const START_TIMEOUT_MS = 60_000;

export interface UpstreamPoolOptions {
  readonly logger: Logger;
  /** Environment of the bridge; servers get the named safe variables of it. `process.env` when left out. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Time from start to the end of the handshake; 60 s when left out. */
  readonly startTimeoutMs?: number | undefined;
  /** Time a server has to answer `server/discover` before it is asked to `initialize`; 5 s when left out. */
  readonly probeTimeoutMs?: number | undefined;
  /** Logins at remote servers; without it there are none. */
  readonly logins?: LoginStore | undefined;
  /** Called when a server said that its tools changed; at most once a second per server. */
  readonly onToolsChanged?: ((server: string) => void) | undefined;
  /** Whether secrets of an entry are masked in what its server says; yes when left out. In messages they always are. */
  readonly masksSecrets?: boolean | undefined;
  /** Gives a definition with everything that is to be put in when its server starts; itself when left out. */
  readonly prepare?: ((definition: UpstreamDefinition) => Promise<UpstreamDefinition>) | undefined;
  /** Told how far the start of a server is. */
  readonly onStep?: ((server: string, step: StartStep) => void) | undefined;
  /** How a failed start is logged; as a warning when left out, because whoever asked may not tell the person. */
  readonly failureLevel?: 'debug' | 'warning' | undefined;
  /** After this long a list is read again when it is asked for; 10 minutes when left out. */
  readonly maxListingAgeMs?: number | undefined;
}

/** Every rejection is a `BridgeError` whose `data.server` names the server; secrets of its entry are masked. */
export interface UpstreamPool {
  /**
   * The servers that exist from now on. One whose definition changed or is gone finishes its calls and ends; the new
   * one starts with its next use. Costs nothing when given the same map again.
   */
  update(definitions: ReadonlyMap<string, UpstreamDefinition>): void;
  /** What servers that start from now on are told that they may ask the person. */
  offerElicitation(offer: ElicitationOffer): void;
  /**
   * A server in its own words with all its tools, started if need be; the same object until it says that they changed,
   * ends, or the list is old. Rejects with `SERVER_UNKNOWN`, `SERVER_START_FAILED`, `SERVER_EXITED`, `SERVER_PROTOCOL`, `CALL_TIMEOUT`,
   * `CALL_CANCELLED`.
   */
  describe(server: string, options?: { readonly signal?: CancelSignal | undefined }): Promise<ServerListing>;
  /**
   * The result as the server sent it, `isError` included. Rejects as `describe` does, and with `TOOL_UNKNOWN`,
   * `TOOL_FAILED` (a protocol error of the server) and `LIMIT_RESULT`.
   */
  callTool(call: ToolRequest): Promise<JsonObject>;
  /**
   * One request for resources or prompts. Rejects as `describe` does, and with `CAPABILITY_MISSING`, `TOOL_FAILED` (a
   * protocol error of the server) and `LIMIT_RESULT`.
   */
  surface(call: SurfaceCall): Promise<SurfaceAnswer>;
  /** What a running server said about itself; undefined when it does not run. */
  serverInfo(server: string): ServerInfo | undefined;
  /** One line per configured server, in the order of the configuration. */
  states(): ServerState[];
  /** Ends every server and what it started; resolves when they are gone, within 3 s. Later uses are refused. */
  close(): Promise<void>;
}

export function createUpstreamPool(options: UpstreamPoolOptions): UpstreamPool {
  return new Pool(options);
}

class Pool implements UpstreamPool {
  readonly #options: UpstreamPoolOptions;
  readonly #guardian: Guardian;
  readonly #legacyServers = new Set<string>();
  /** Servers that finish their calls before they end. */
  readonly #retiring = new Set<UpstreamServer>();
  #definitions: ReadonlyMap<string, UpstreamDefinition> = new Map();
  #servers = new Map<string, UpstreamServer>();
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
    this.#servers = next;
  }

  offerElicitation(offer: ElicitationOffer): void {
    this.#elicitation = offer;
  }

  async describe(server: string, options: { readonly signal?: CancelSignal | undefined } = {}): Promise<ServerListing> {
    return this.#serverOf(server).describe(options.signal);
  }

  callTool(call: ToolRequest): Promise<JsonObject> {
    const server = this.#servers.get(call.server);
    return server === undefined ? Promise.reject(unknownServer(call.server)) : server.callTool(call);
  }

  async surface(call: SurfaceCall): Promise<SurfaceAnswer> {
    return this.#serverOf(call.server).surface(call);
  }

  serverInfo(server: string): ServerInfo | undefined {
    return this.#servers.get(server)?.info();
  }

  states(): ServerState[] {
    return [...this.#servers.values()].map((server) => server.state());
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
      probeTimeoutMs,
      logins,
      onToolsChanged,
      masksSecrets,
      maxListingAgeMs,
      onStep,
      prepare,
    } = this.#options;
    return new UpstreamServer(definition, {
      env: env ?? process.env,
      guardian: this.#guardian,
      logger,
      failureLevel,
      startTimeoutMs: startTimeoutMs ?? START_TIMEOUT_MS,
      probeTimeoutMs: probeTimeoutMs ?? PROBE_TIMEOUT_MS,
      legacyServers: this.#legacyServers,
      logins,
      onToolsChanged: () => onToolsChanged?.(definition.name),
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
