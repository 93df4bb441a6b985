/** Connects settings, engines, upstreams and sessions to the one thing the front needs: a runner of cells. */
import type { Settings } from '../config/settings.ts';
import { BridgeError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { CellRunner } from '../server/cell-runner.ts';

export interface Bridge extends CellRunner {
  /** Loads the modules the first cell will need. Starts no process and opens no connection. */
  preload(): Promise<void>;
}

/** Makes a bridge; nothing is started before its first cell. */
export type CreateBridge = (settings: Settings, logger: Logger) => Promise<Bridge>;

export const createBridge: CreateBridge = async () => {
  throw new BridgeError('ENGINE_UNAVAILABLE', 'No engine is connected in this build.');
};
