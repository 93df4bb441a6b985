/**
 * What the front needs from the rest: run one cell, name the configured servers, end everything. Tests drive the front
 * with a runner of ten lines.
 */
import type { CellAnswer, CellRequest } from '../base/cell.ts';
import type { BridgeError } from '../base/errors.ts';

export interface CellRunner {
  /** Runs one cell. May reject with a `BridgeError`; a failure of the user's code is an answer. */
  runCell(request: CellRequest): Promise<CellAnswer>;
  /** Names of all configured servers that are not disabled, as of now. */
  knownServers(): Promise<readonly string[]>;
  /** `SERVER_NOT_AVAILABLE` for one that was disabled then. */
  whyDisabled?(name: string): Promise<BridgeError | undefined>;
  /** What was wrong with their files then, a line each, in the words of `doctor`. */
  serverFileProblems?(): Promise<readonly string[]>;
  /** What runs sessions, what is refused and what Python lacks there; undefined before the first cell. Starts nothing. */
  describeEngine(): Promise<string | undefined>;
  /** Ends every session and server; cells in flight are answered first. */
  close(): Promise<void>;
}

export interface Bridge extends CellRunner {
  /** Loads the modules the first cell will need. Starts no process and opens no connection. */
  preload(): Promise<void>;
}
