/**
 * What the front needs from the rest of the program, and how it gets it: the bridge is made when it is first needed, so
 * `initialize` and `tools/list` are answered before any of it is loaded.
 */

import type { CancelSignal } from '../base/cancel.ts';
import type { CellAnswer, CellRequest } from '../base/cell.ts';
import type { BridgeError } from '../base/errors.ts';
import type { ProgramRequest, ProgramResult } from '../base/program.ts';

export interface Bridge {
  /** Runs one cell. May reject with a `BridgeError`; a failure of the user's code is an answer. */
  runCell(request: CellRequest): Promise<CellAnswer>;
  /** Runs a program in a sandbox of its own. Rejects with a `BridgeError`; a program that fails is a result. */
  runProgram(request: ProgramRequest, context: ProgramContext): Promise<ProgramResult>;
  /** Reads the configured servers as of now; starts none. */
  listServers(): Promise<ServerNames>;
  /** What runs sessions, which engines were refused and what Python lacks there; undefined before the first cell. Starts nothing. */
  describeEngine(): Promise<string | undefined>;
  /** Loads the modules the first cell will need. Starts no process and opens no connection. */
  preload(): Promise<void>;
  /** Fetches what `MCP_BRIDGE_PREINSTALL` names, if it is not there yet. Rejects with the reason if that fails. */
  preinstall(): Promise<void>;
  /** Ends every session and server. Running cells are answered first. */
  close(): Promise<void>;
}

export interface ProgramContext {
  readonly signal?: CancelSignal | undefined;
  /** What the run waits for before it starts. */
  readonly onProgress?:
    | ((progress: { readonly message: string; readonly percent?: number | undefined }) => void)
    | undefined;
  /** Name of the session, for the label of the sandbox. */
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
  #isClosed = false;

  /** `create` is called at most once at a time. After a failure the next use calls it again. */
  constructor(create: () => Promise<Bridge>) {
    this.#create = create;
  }

  /** The bridge, made if need be. Rejects as `create` does, and after `close`. */
  get(): Promise<Bridge> {
    if (this.#isClosed) {
      return Promise.reject(new Error('The bridge is shutting down.'));
    }
    this.#bridge ??= this.#create().catch((error: unknown) => {
      this.#bridge = undefined;
      throw error;
    });
    return this.#bridge;
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
