/**
 * What the front needs from the rest of the program, and how it gets it: the bridge is made when it is first needed, so
 * `initialize` and `tools/list` are answered before any of it is loaded.
 */
import type { AbsentPerson, CellAnswer, CellProgress, CellRequest, Person } from '../base/cell.ts';
import type { BridgeError } from '../base/errors.ts';
import type { MaybePromise } from '../base/maybe-promise.ts';
import type { ProgramRequest, ProgramResult } from '../base/program.ts';
import type { SessionFacts } from './session.ts';

export interface Bridge {
  /** Runs one cell. May reject with a `BridgeError`; a failure of the user's code is an answer. */
  runCell(request: CellRequest): Promise<CellAnswer>;
  /** Runs one program in a sandbox of its own. May reject with a `BridgeError`; a program that fails is a result. */
  runProgram(request: ProgramRequest, context: ProgramContext): Promise<ProgramResult>;
  /** The live sessions, by name. */
  listSessions(): Promise<readonly SessionFacts[]>;
  /** Drops the state of a session, saved or not, and ends its cell. False if there is no session of this name; creates none. */
  resetSession(name: string): Promise<boolean>;
  /** Keeps answers of a session that no client has taken for a later bridge, instead of those before. Never rejects. */
  keepAnswers(session: string, texts: readonly string[]): Promise<void>;
  /** Reads the configured servers as of now; starts none. */
  listServers(): ServerNames;
  /** What runs sessions, which engines were refused and what Python lacks there; undefined before the first cell. Starts nothing. */
  describeEngine(): Promise<string | undefined>;
  /** Loads the modules the first cell will need. Starts no process and opens no connection. */
  preload(): Promise<void>;
  /** Starts what the first cell would wait for: a sandbox. Never rejects. */
  startSandboxesAhead(): Promise<void>;
  /** Fetches what `MCP_BRIDGE_PREINSTALL` names, if it is not there yet. Rejects with the reason if that fails. */
  preinstall(): Promise<void>;
  /** Starts the servers that `MCP_BRIDGE_PRESTART` says. A server that fails is tried again by its first call. */
  startServersAhead(person: AbsentPerson | undefined): Promise<void>;
  /** Ends every session and server. Running cells are answered first. */
  close(): Promise<void>;
}

/** The request of a client that a cell or a program belongs to. */
export interface RequestContext {
  /** Aborts when the client cancels the request or disconnects. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CellProgress) => void) | undefined;
  /** Undefined if the client cannot ask the person. */
  readonly person?: Person | undefined;
}

/** On whose behalf a program runs. */
export interface ProgramContext extends RequestContext {
  /** The session whose code starts the program; undefined if the client does. */
  readonly session?: string | undefined;
}

/** The configured servers at one moment. */
export interface ServerNames {
  /** Servers that are not disabled. */
  readonly names: readonly string[];
  /** Problems in the files that configure servers, one line each, as `doctor` reports them. */
  readonly fileProblems: readonly string[];
  /** The name of the server with this name or alias, in any case; undefined if there is none, or more than one. */
  resolve(wanted: string): string | undefined;
  /** `SERVER_NOT_AVAILABLE` for the name or alias of a disabled server. */
  whyDisabled(name: string): BridgeError | undefined;
}

export class LazyBridge {
  readonly #create: () => Promise<Bridge>;
  #bridge: Promise<Bridge> | undefined;
  #made: Bridge | undefined;
  #isClosed = false;

  /** `create` is called at most once at a time. After a failure the next use calls it again. */
  constructor(create: () => Promise<Bridge>) {
    this.#create = create;
  }

  /** The bridge, made if need be. Rejects as `create` does, and after `close`. */
  get(): MaybePromise<Bridge> {
    if (this.#isClosed) {
      return Promise.reject(new Error('The bridge is shutting down.'));
    }
    this.#bridge ??= this.#make();
    return this.#made ?? this.#bridge;
  }

  async #make(): Promise<Bridge> {
    try {
      this.#made = await this.#create();
      return this.#made;
    } catch (error) {
      this.#bridge = undefined;
      throw error;
    }
  }

  /** The bridge if it was made; does not make it. Never rejects. */
  async made(): Promise<Bridge | undefined> {
    return this.#bridge?.catch(() => undefined);
  }

  /** Closes the bridge if it was made, or is being made. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const bridge = await this.made();
    await bridge?.close();
  }
}
