/**
 * Settings that a person keeps in a file: `settings.json` in the state directory, an object of variables and their values. The environment
 * wins over it, variable by variable.
 */
import { join } from 'node:path';
import { BridgeError, messageOf } from '../base/errors.ts';
import { isObject } from '../base/is-object.ts';
import { parseJson } from '../base/json-text.ts';
import { changeJsonFile } from '../state/change-file.ts';
import { readBounded } from '../state/state-files.ts';

/** In the state directory. It is not read as a server file. */
const SETTINGS_FILE = 'settings.json';
/** Chosen: ten times what all settings need. */
const MAX_FILE_BYTES = 256 * 1024;

export interface StoredSettings {
  /** Absolute path of the file, which need not exist. */
  readonly path: string;
  /** The text of each variable. */
  readonly values: Readonly<Record<string, string>>;
  /** What in the file is no text, and so no setting, such as `mcpServers`. */
  readonly others: Readonly<Record<string, unknown>>;
}

export const NOTHING_STORED: StoredSettings = { path: SETTINGS_FILE, values: {}, others: {} };

/** Rejects with `CONFIG_INVALID` for a file that cannot be read: without it, limits that someone has set would not hold. */
export async function readStoredSettings(stateDir: string): Promise<StoredSettings> {
  const path = join(stateDir, SETTINGS_FILE);
  let text: string;
  try {
    text = (await readBounded(path, MAX_FILE_BYTES)).toString('utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A state directory that cannot be used is reported by whoever needs it.
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      return { ...NOTHING_STORED, path };
    }
    throw unreadable(path, `cannot be read: ${messageOf(error)}`);
  }
  const parsed = parseJson(text);
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
