/** Changes a small JSON file of the state directory, one process at a time. */
import { dirname } from 'node:path';
import { BridgeError, messageOf } from '../base/errors.ts';
import { withFileLock } from './file-lock.ts';
import { ensureDirectory, writeAtomically } from './state-files.ts';

/** Writes what `change` resolves with, which reads the file itself. Rejects with its `BridgeError`, or with `STATE_WRITE_FAILED`. */
export async function changeJsonFile(path: string, change: () => Promise<unknown>): Promise<void> {
  try {
    await ensureDirectory(dirname(path));
    await withFileLock(`${path}.lock`, async () => {
      await writeAtomically(path, [`${JSON.stringify(await change(), undefined, 2)}\n`]);
    });
  } catch (error) {
    throw error instanceof BridgeError
      ? error
      : new BridgeError('STATE_WRITE_FAILED', `${path} could not be written: ${messageOf(error)}`, {
          hint: 'Make the folder writable, or set MCP_BRIDGE_STATE_DIR to one that is.',
          cause: error,
        });
  }
}
