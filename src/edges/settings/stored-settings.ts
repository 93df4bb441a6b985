/**
 * Settings that a person keeps in a file: `settings.json` in the state directory, an object of variables and their values. The environment
 * wins over it, variable by variable.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** In the state directory. It is not read as a server file. */
export const SETTINGS_FILE = 'settings.json';

export interface StoredSettings {
  /** Absolute path of the file, which need not exist. */
  readonly path: string;
  /** The text of each variable. */
  readonly values: Readonly<Record<string, string>>;
  /** What in the file is no text, and so no setting, such as `mcpServers`. */
  readonly others: Readonly<Record<string, unknown>>;
}

export const NOTHING_STORED: StoredSettings = { path: SETTINGS_FILE, values: {}, others: {} };

/**
 * Rejects with `CONFIG_INVALID` for a file that cannot be read: without it, limits that someone has set would not hold. Every start asks,
 * and most find no file, so what reads it is loaded only for one that is there.
 */
export async function readStoredSettings(stateDir: string): Promise<StoredSettings> {
  const path = join(stateDir, SETTINGS_FILE);
  // Also for a state directory that cannot be used, which is reported by whoever needs it.
  if (!existsSync(path)) {
    return { ...NOTHING_STORED, path };
  }
  const { readSettingsFile } = await import('./settings-file.ts');
  return { path, ...(await readSettingsFile(path)) };
}
