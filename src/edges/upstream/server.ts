/**
 * One configured server throughout its life: not running, starting, ready, failing, retired. Calls start it if necessary;
 * after repeated failures, a start is refused for a while. It may be started ahead of its first call.
 */

import { setMaxListeners } from 'node:events';
import { type CancelSignal, unlessAborted } from '../../core/base/cancel.ts';
import type { EgressAnswer, EgressRequest } from '../../core/base/egress-exchange.ts';
import { BridgeError } from '../../core/base/errors.ts';
import type { JsonObject } from '../../core/base/is-object.ts';
import type { UpstreamDefinition } from '../../core/base/server-definition.ts';
import { objectOfResult, type ResultBytes } from '../../core/protocol/result-bytes.ts';
import {
  type Elicit,
  RequestError,
  type SurfaceAnswer,
  type SurfaceCall,
} from '../../core/protocol/server-requests.ts';
import {
  type AdmittedTools,
  type ConnectOptions,
  observeConnection,
  type ServerConnection,
  type ServerInfo,
  SessionLostError,
} from './connection.ts';
import { atMostEvery, Deadline, isAbortError } from './deadline.ts';
import { answerRequests } from './elicitation-protocol.ts';
import { noticesForTools } from './explain-docker.ts';
import { Failures } from './failures.ts';
import { openConnection } from './open-connection.ts';
import { longestStartMs } from './package-runner.ts';
import type { Answer, RequestLimits } from './requests.ts';
import { awaitTask, needsTask } from './server-tasks.ts';
import { askSurface, MissingCapabilityError } from './surface.ts';
import { readToolList, type ToolList } from './tool-list.ts';

/** For calls without a deadline. Cells end far earlier and cancel their calls. Chosen. */
const DEFAULT_CALL_TIMEOUT_MS = 600_000;
/** A page of a list is a small answer. Chosen. */
const LIST_TIMEOUT_MS = 60_000;
/**
 * A start that failed stands for so long: the check before a cell and its first call must not start the server twice. After the
 * second failure, the wait doubles up to the limit. After a crash, and for a remote server, the first retry is immediate.
 */
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;
/** A change of tools is announced once per interval: a server may send 50,000 notifications. */
const TOOLS_CHANGED_INTERVAL_MS = 1_000;

/** The age from which a list is read again when requested: a server may change its tools without notice. Chosen. */
export const MAX_LISTING_AGE_MS = 600_000;

export interface ServerState {
  readonly name: string;
  readonly state: 'idle' | 'starting' | 'ready' | 'failing';
  readonly pid: number | undefined;
  /** Requests in flight. */
  readonly requests: number;
  /** Failed starts and crashes since the last answered call. */
  readonly failures: number;
  readonly lastError: BridgeError | undefined;
  /** While a package runner starts it: the runner and the last line that it wrote, such as `uvx: Downloading numpy (18MiB)`. */
  readonly preparing?: string | undefined;
}

/**
 * How a start ahead of the first request ended: with its tools known, with a request that takes it from there, or stopped again,
 * because the server asked the person something.
 */
export type AheadStart = 'ready' | 'wanted' | 'asks';

/** What a running server reports about itself, and its tools. */
export interface ServerListing extends ToolList {
  readonly info: ServerInfo;
  /** Whether anything but the list had been asked on the connection when it was complete. */
  readonly wasUsed: boolean;
}

export interface ToolRequest {
  readonly server: string;
  /** The exact name that the server uses. */
  readonly tool: string;
  readonly arguments: JsonObject;
  /** Includes the start of the server. The smaller of this and the entry's `timeout` applies. */
  readonly timeoutMs?: number | undefined;
  /** Cancels the call, also at the server. */
  readonly signal?: CancelSignal | undefined;
  /** Called for each progress report of the server. */
  readonly onProgress?: RequestLimits['onProgress'];
  /** Asks the person what the server wants to know during the call. Without it, no question of the server is answered. */
  readonly elicit?: Elicit | undefined;
  /** Whether the call was let through as one that only reads. */
  readonly isTakenForRead?: boolean | undefined;
}

export interface ToolRequestForBytes extends ToolRequest {
  /** Whether a large result may come as `ResultBytes`. */
  readonly takesBytes: boolean | undefined;
}

export interface ServerOptions extends Omit<ConnectOptions, 'signal' | 'onUnasked' | 'onRunner'> {
  readonly maxListingAgeMs: number;
  readonly failureLevel: 'debug' | 'warning';
  /** Replaces references in the definition with their values. Rejects with a `BridgeError`. */
  readonly prepare: (definition: UpstreamDefinition) => Promise<UpstreamDefinition>;
}

export class UpstreamServer {
  readonly #options: ServerOptions;
  /** Aborted when the server is closed: ends a start and everything that waits for it. */
  readonly #closing = new AbortController();
  readonly #announceTools: () => void;
  #definition: UpstreamDefinition;
  #failures: Failures;
  /** Values that replaced references at the last start. */
  #secrets: UpstreamDefinition['secrets'];
  #connection: ServerConnection | undefined;
  /** Connections that have seen the tool list; see `ServerConnection.admitTools`. */
  readonly #informed = new WeakSet<ServerConnection>();
  #starting: Promise<ServerConnection> | undefined;
  /** While a package runner starts the server. */
  #preparing: (() => string) | undefined;
  #listing: Promise<ServerListing> | undefined;
  /** Connections on which anything but the list was asked: what a server lists may depend on that. */
  readonly #wasUsed = new WeakSet<ServerConnection>();
  /** The list that is being read, even if the server has announced a change since it began. */
  #reading: Promise<unknown> | undefined;
  /** The list to be read after that one. */
  #next: Promise<ServerListing> | undefined;
  #listedAt = 0;
  #requests = 0;
  /** Whether anyone has asked for the server. Until then, a failed start must not make the first call fail or wait. */
  #isWanted = false;
  /** Whether it was started before anyone needed it. */
  #isAhead = false;
  /** Whether it asked the person something before anyone needed it, so that it must wait for a call. */
  #asksFirst = false;
  /** The end of a connection that was given up because of that. */
  #ending: Promise<void> | undefined;
  #failed = 0;
  #retryAt = 0;
  #lastError: BridgeError | undefined;
  #onIdle: (() => void) | undefined;

  constructor(definition: UpstreamDefinition, options: ServerOptions) {
    this.#definition = definition;
    this.#failures = new Failures(definition);
    this.#options = options;
    // Every start and every list adds a listener.
    setMaxListeners(0, this.#closing.signal);
    this.#announceTools = atMostEvery(TOOLS_CHANGED_INTERVAL_MS, options.onToolsChanged);
  }

  get name(): string {
    return this.#definition.name;
  }

  /** Adopts changes that need no new process (timeout, file). Returns false if the definition needs a new one. */
  redefine(definition: UpstreamDefinition): boolean {
    const { definitionHash, secretsVersion } = this.#definition;
    if (definition.definitionHash !== definitionHash || definition.secretsVersion !== secretsVersion) {
      return false;
    }
    this.#definition = definition;
    this.#failures = new Failures({ ...definition, secrets: this.#secrets });
    return true;
  }

  info(): ServerInfo | undefined {
    return this.#openConnection()?.info;
  }

  state(): ServerState {
    const open = this.#openConnection();
    const unused = this.#failed > 0 ? 'failing' : 'idle';
    return {
      name: this.#definition.name,
      state: open !== undefined ? 'ready' : this.#starting !== undefined ? 'starting' : unused,
      pid: open?.info.pid,
      requests: this.#requests,
      failures: this.#failed,
      lastError: this.#lastError,
      preparing: this.#preparing?.(),
    };
  }

  /** The listing; the same object until the server reports a change, the server ends, or the list is old. */
  async describe(signal: CancelSignal | undefined): Promise<ServerListing> {
    // If it was started ahead, reading what is known about it is no use of it yet.
    this.#isWanted ||= this.#openConnection() === undefined;
    const isOld = performance.now() - this.#listedAt >= this.#options.maxListingAgeMs;
    try {
      return await unlessAborted((isOld ? undefined : this.#listing) ?? this.#startListing(), signal);
    } catch (error) {
      throw signal?.aborted === true ? this.#failures.cancelled(undefined) : error;
    }
  }

  /**
   * Starts the server and reads its tools, unless someone asked for it already: then that request does it. Resolves with `asks` if it was
   * stopped again because it asked the person something. Rejects as `describe` does, but the failure leaves no trace.
   */
  async startAhead(): Promise<AheadStart> {
    if (this.#isWanted) {
      return 'wanted';
    }
    try {
      await this.#startListing();
      this.#isAhead = true;
    } catch (error) {
      // If a call waited for this start, the failure is that of the call, and reported as such.
      if (!this.#isWanted && !this.#asksFirst) {
        throw error;
      }
    }
    if (this.#isWanted) {
      return 'wanted';
    }
    return this.#asksFirst ? 'asks' : 'ready';
  }

  async callTool(call: ToolRequest | ToolRequestForBytes): Promise<JsonObject | ResultBytes> {
    this.#isWanted = true;
    const timeoutMs = Math.min(
      call.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS,
      this.#definition.timeoutMs ?? Number.POSITIVE_INFINITY,
    );
    const deadline = new Deadline(timeoutMs, call.signal);
    try {
      const asked = { method: 'tools/call', params: { name: call.tool, arguments: call.arguments } };
      const { result } = await this.#withConnection(deadline, (open) =>
        open.admitTools === undefined || this.#informed.has(open)
          ? requestCall(this.#used(open), asked, call, deadline)
          : this.#admitAndRequest(open, asked, call, deadline),
      );
      this.#failed = 0;
      return result;
    } catch (error) {
      throw this.#explain(error, call.tool, deadline);
    } finally {
      deadline.clear();
    }
  }

  async #admitAndRequest(
    open: ServerConnection,
    asked: AskedRequest,
    call: ToolRequest,
    deadline: Deadline,
  ): Promise<Answer> {
    this.#admit(open, (await this.describe(call.signal)).tools);
    return requestCall(this.#used(open), asked, call, deadline);
  }

  /** Requests resources or prompts. Bounded by `LIST_TIMEOUT_MS` and by the entry's `timeout`. */
  async surface(call: SurfaceCall): Promise<SurfaceAnswer> {
    this.#isWanted = true;
    const timeoutMs = Math.min(
      longestStartMs(this.#definition, this.#options) + LIST_TIMEOUT_MS,
      this.#definition.timeoutMs ?? Number.POSITIVE_INFINITY,
    );
    const deadline = new Deadline(timeoutMs, call.signal);
    try {
      return await this.#withConnection(deadline, (open) =>
        askSurface(call, open.info, async (method, params) => {
          const answer = await request(this.#used(open), { method, params }, call, deadline);
          return { ...answer, result: objectOfResult(answer.result) };
        }),
      );
    } catch (error) {
      throw error instanceof MissingCapabilityError
        ? this.#failures.lacks(error.capability, error.offered)
        : this.#explain(error, call.method, deadline);
    } finally {
      deadline.clear();
    }
  }

  /** Sends a request of code's own to the API. Rejects as `callTool` does; the entry's `timeout` is the time until the answer begins. */
  async sendEgress(sent: EgressRequest): Promise<EgressAnswer> {
    this.#isWanted = true;
    const deadline = new Deadline(this.#definition.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS, sent.signal);
    try {
      return await this.#withConnection(deadline, (open) => {
        if (open.sendEgress === undefined) {
          throw this.#failures.lacks('requests of code ("egress")', []);
        }
        return open.sendEgress(sent);
      });
    } catch (error) {
      throw this.#explain(error, sent.method.toLowerCase(), deadline);
    } finally {
      deadline.clear();
    }
  }

  /** Stops it, and what is in flight fails. The next request starts it again, even if starts have failed before. */
  async stop(): Promise<void> {
    const open = this.#connection ?? (await this.#starting?.catch(() => undefined));
    this.#connection = undefined;
    this.#listing = undefined;
    this.#failed = 0;
    this.#lastError = undefined;
    this.#retryAt = 0;
    this.#ending = open?.close() ?? this.#ending;
    await this.#ending;
  }

  /** The next `describe` reads the tools again. */
  forgetListing(): void {
    this.#listing = undefined;
  }

  /** Closes the server once its requests in flight are answered, or when `close` is called. The caller sends no new ones. */
  async retire(): Promise<void> {
    if (this.#requests > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.close();
  }

  /** Stops the server, even while it is starting; resolves when it is gone. Later calls are refused. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#onIdle?.();
    const open = this.#connection ?? (await this.#starting?.catch(() => undefined));
    await Promise.all([open?.close(), this.#ending]);
  }

  /**
   * A listing that begins from now on, which callers share. One is read at a time: a server that announces changes without end
   * must not have a list of the largest size in memory for every caller. A failed one is not kept.
   */
  #startListing(): Promise<ServerListing> {
    if (this.#reading !== undefined) {
      this.#next ??= this.#listAfter(this.#reading);
    }
    const listing = this.#next ?? this.#beginListing();
    this.#listing = listing;
    this.#listedAt = performance.now();
    listing.catch(() => {
      if (this.#listing === listing) {
        this.#listing = undefined;
      }
    });
    return listing;
  }

  async #listAfter(reading: Promise<unknown>): Promise<ServerListing> {
    await reading;
    this.#next = undefined;
    return this.#beginListing();
  }

  #beginListing(): Promise<ServerListing> {
    const listing = this.#readListing();
    const reading = listing.then(
      () => undefined,
      () => undefined,
    );
    this.#reading = reading;
    void reading.then(() => {
      if (this.#reading === reading) {
        this.#reading = undefined;
      }
    });
    return listing;
  }

  async #readListing(): Promise<ServerListing> {
    const limitMs = longestStartMs(this.#definition, this.#options) + LIST_TIMEOUT_MS;
    const deadline = new Deadline(limitMs, this.#closing.signal);
    try {
      const info = await this.#withConnection(deadline, async (open) => open.info);
      const askPage = (params: JsonObject): Promise<Buffer> =>
        this.#withConnection(deadline, (open) =>
          open.requestLine('tools/list', params, { timeoutMs: deadline.leftMs(), signal: deadline.callerSignal }),
        );
      const list = await readToolList(askPage, info.protocolVersion);
      const [admitted, wasUsed, own] = await this.#withConnection(
        deadline,
        async (open) => [this.#admit(open, list.tools), this.#wasUsed.has(open), open.notices?.() ?? []] as const,
      );
      const notices = [...list.notices, ...own, ...admitted.notices, ...noticesForTools(this.#definition, list.tools)];
      for (const notice of notices) {
        this.#options.logger.daily(`Tools of server '${this.#definition.name}': ${notice}`);
      }
      return { ...list, tools: admitted.tools, info, notices, wasUsed };
    } catch (error) {
      throw this.#explain(error, undefined, deadline);
    } finally {
      deadline.clear();
    }
  }

  #used(open: ServerConnection): ServerConnection {
    this.#wasUsed.add(open);
    return open;
  }

  #admit(open: ServerConnection, tools: ToolList['tools']): AdmittedTools {
    this.#informed.add(open);
    return open.admitTools?.(tools) ?? { tools, notices: [] };
  }

  /** Runs `use` with the open connection, and starts the server if necessary. A lost session is retried once. */
  async #withConnection<Value>(deadline: Deadline, use: (open: ServerConnection) => Promise<Value>): Promise<Value> {
    this.#requests += 1;
    try {
      for (let isSecond = false; ; isSecond = true) {
        try {
          return await use(this.#openConnection() ?? (await unlessAborted(this.#connect(), deadline.signal)));
        } catch (error) {
          if (isSecond || !(error instanceof SessionLostError)) {
            throw error;
          }
        }
      }
    } finally {
      this.#requests -= 1;
      if (this.#requests === 0) {
        this.#onIdle?.();
      }
    }
  }

  #explain(error: unknown, tool: string | undefined, deadline: Deadline): BridgeError {
    if (deadline.callerSignal?.aborted === true) {
      return this.#failures.cancelled(tool);
    }
    if (error instanceof SessionLostError) {
      return error.failure;
    }
    if (!(error instanceof RequestError)) {
      return isAbortError(error)
        ? this.#failures.timedOut(tool, deadline.timeoutMs, true)
        : this.#failures.ofUnknown(error);
    }
    return error.kind === 'timeout'
      ? this.#failures.timedOut(tool, deadline.timeoutMs, false)
      : this.#failures.ofRequest(error, tool);
  }

  #openConnection(): ServerConnection | undefined {
    return this.#connection?.isOpen() === true ? this.#connection : undefined;
  }

  #connect(): Promise<ServerConnection> {
    const open = this.#openConnection();
    if (open !== undefined) {
      return Promise.resolve(open);
    }
    if (this.#closing.signal.aborted) {
      return Promise.reject(this.#failures.notReady({ reason: 'it is being stopped' }, ''));
    }
    const waitMs = this.#retryAt - performance.now();
    if (this.#starting === undefined && this.#lastError !== undefined && waitMs > 0) {
      const last = this.#lastError;
      return Promise.reject(this.#failed === 1 ? last : this.#failures.backingOff(last, this.#failed, waitMs));
    }
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<ServerConnection> {
    const { logger } = this.#options;
    try {
      const prepared = await unlessAborted(this.#options.prepare(this.#definition), this.#closing.signal);
      await this.#ending;
      this.#secrets = prepared.secrets;
      this.#failures = new Failures({ ...this.#definition, secrets: prepared.secrets });
      const opened = await this.#open(prepared);
      this.#connection = opened;
      void opened.exited.then((exit) => this.#forget(opened, opened.failureOf(exit)));
      const { pid, protocolVersion } = opened.info;
      const where = pid === undefined ? 'connected' : `started: process ${pid}`;
      logger.info(`Server '${this.#definition.name}' ${where}, MCP ${protocolVersion}`);
      this.#giveUpIfAsking();
      return opened;
    } catch (error) {
      if (error instanceof BridgeError && !this.#closing.signal.aborted) {
        this.#noteFailure(error, this.#definition.url === undefined ? FIRST_RETRY_MS : 0);
      }
      throw error;
    } finally {
      this.#preparing = undefined;
    }
  }

  async #open(prepared: UpstreamDefinition): Promise<ServerConnection> {
    const { observer } = this.#options;
    const open = (): Promise<ServerConnection> =>
      openConnection(prepared, {
        ...this.#options,
        signal: this.#closing.signal,
        onToolsChanged: () => this.#forgetTools(),
        onUnasked: () => this.#noteQuestion(),
        onRunner: (runner, said) => {
          this.#preparing = () => [runner, said()].filter((part) => part !== '').join(': ');
        },
      });
    return observeConnection(await (observer?.start(open) ?? open()), observer);
  }

  #forget(closed: ServerConnection, failure: BridgeError): void {
    const isCurrent = this.#connection === closed;
    if (isCurrent) {
      this.#connection = undefined;
      this.#listing = undefined;
      if (this.#isWanted) {
        this.#announceTools();
      }
    }
    // A connection that was already replaced needs no report.
    if (isCurrent && !this.#closing.signal.aborted) {
      this.#noteFailure(failure, 0);
    }
  }

  /** Before the first call, a person is not there to answer, and the server could take that for a refusal. */
  #noteQuestion(): void {
    this.#asksFirst ||= !this.#isWanted;
    this.#giveUpIfAsking();
  }

  #giveUpIfAsking(): void {
    const open = this.#connection;
    if (this.#asksFirst && !this.#isWanted && open !== undefined) {
      this.#connection = undefined;
      this.#listing = undefined;
      this.#ending = open.close();
    }
  }

  #forgetTools(): void {
    this.#listing = undefined;
    this.#announceTools();
  }

  #noteFailure(error: BridgeError, firstRetryMs: number): void {
    const { failureLevel, logger } = this.#options;
    if (!this.#isWanted) {
      // Whoever starts it ahead gets the error of the start, and reports it.
      logger[this.#isAhead ? 'info' : 'debug'](`${error.code}: ${error.message}`);
      return;
    }
    logger[failureLevel](`${error.code}: ${error.message}`);
    this.#failed += 1;
    this.#lastError = error;
    this.#retryAt = performance.now() + this.#retryInMs(error, firstRetryMs);
  }

  #retryInMs({ code }: BridgeError, firstRetryMs: number): number {
    // A person who has just logged in does not have to wait.
    if (code === 'LOGIN_REQUIRED') {
      return 0;
    }
    return this.#failed === 1 ? firstRetryMs : Math.min(FIRST_RETRY_MS * 2 ** (this.#failed - 2), MAX_RETRY_MS);
  }
}

interface AskedRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/** Sends a request within `deadline`, again with what its result asks of the person. Rejects as `connection.request` does. */
function request(
  connection: Pick<ServerConnection, 'request'>,
  { method, params }: AskedRequest,
  { signal, onProgress, elicit, isTakenForRead, takesBytes, takesTask }: Omit<RequestLimits, 'timeoutMs'>,
  deadline: Deadline,
): Promise<Answer> {
  const send = (given: JsonObject): Promise<Answer> =>
    connection.request(method, given, {
      timeoutMs: deadline.leftMs(),
      signal,
      onProgress,
      elicit,
      isTakenForRead,
      takesBytes,
      takesTask,
    });
  const first = send(params);
  return elicit === undefined
    ? first
    : first.then((answer) => answerRequests(answer, { params, send, elicit, deadline }));
}

/** Calls a tool, and waits for its task if it has one. */
async function requestCall(
  connection: ServerConnection,
  asked: AskedRequest,
  call: ToolRequest | ToolRequestForBytes,
  deadline: Deadline,
): Promise<Answer> {
  const { elicit, onProgress, signal } = call;
  const limits = { ...call, takesTask: true };
  let isLegacy = false;
  const answer = await request(connection, asked, limits, deadline).catch((error: unknown) => {
    if (needsTask(error, connection.info.capabilities)) {
      isLegacy = true;
      return request(connection, { ...asked, params: { ...asked.params, task: {} } }, limits, deadline);
    }
    throw error;
  });
  const awaited = awaitTask(answer, {
    send: (method, params, given) =>
      connection.request(method, params, given ?? { timeoutMs: deadline.leftMs(), signal, onProgress, elicit }),
    deadline,
    elicit,
    isLegacy,
    onProgress,
  });
  return awaited.catch((error: unknown) => {
    // The call was accepted before, so it must not be sent again.
    throw error instanceof SessionLostError ? error.failure : error;
  });
}
