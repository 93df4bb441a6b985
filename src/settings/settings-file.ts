/** Reads and changes `settings.json`. */
import { join } from 'node:path';
import { BridgeError, messageOf } from '../base/errors.ts';
import { isObject } from '../base/is-object.ts';
import { parseJson } from '../base/json-text.ts';
import { changeJsonFile } from '../state/change-file.ts';
import { readBounded } from '../state/state-files.ts';
import { readStoredSettings, SETTINGS_FILE, type StoredSettings } from './stored-settings.ts';

/** Chosen: ten times what all settings need. */
const MAX_FILE_BYTES = 256 * 1024;

/** What the file has. Rejects with `CONFIG_INVALID`. */
export async function parseStoredSettings(path: string): Promise<StoredSettings> {
  const bytes = await readBounded(path, MAX_FILE_BYTES).catch((error: unknown) => {
    throw unreadable(path, `cannot be read: ${messageOf(error)}`);
  });
  const parsed = parseJson(bytes.toString('utf8'));
  if ('fault' in parsed) {
    throw unreadable(path, parsed.fault);
  }
  if (!isObject(parsed.value)) {
    throw unreadable(path, 'is not an object of variables and values, such as { "MCP_BRIDGE_TIMEOUT": "60s" }');
  }
  const entries = Object.entries(parsed.value);
  const isText = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);
  return {
    path,
    values: Object.fromEntries(
      entries.filter(([, value]) => isText(value)).map(([key, value]) => [key, String(value)]),
    ),
    others: Object.fromEntries(entries.filter(([, value]) => !isText(value))),
  };
}

/** Writes the values that `change` returns; whatever else is in the file stays. Rejects with its error, `CONFIG_INVALID` or `STATE_WRITE_FAILED`. */
export async function changeStoredSettings(
  stateDir: string,
  change: (stored: StoredSettings) => StoredSettings['values'],
): Promise<void> {
  await changeJsonFile(join(stateDir, SETTINGS_FILE), async () => {
    const stored = await readStoredSettings(stateDir);
    return { ...stored.others, ...change(stored) };
  });
}

function unreadable(path: string, reason: string): BridgeError {
  return new BridgeError('CONFIG_INVALID', `${path} ${reason}`, {
    hint: 'Correct the file, or remove it: all settings then have their default values.',
  });
}
