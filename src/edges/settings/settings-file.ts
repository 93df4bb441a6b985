/** Reads `settings.json`. */
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { parseJson } from '../../core/base/json-text.ts';
import { readBounded } from '../../core/state/state-files.ts';

/** Chosen: ten times what all settings need. */
const MAX_FILE_BYTES = 256 * 1024;

/** The values in the file, and what in it is no text. Rejects with `CONFIG_INVALID`. */
export async function readSettingsFile(path: string) {
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
    values: Object.fromEntries(
      entries.filter(([, value]) => isText(value)).map(([key, value]) => [key, String(value)]),
    ),
    others: Object.fromEntries(entries.filter(([, value]) => !isText(value))),
  };
}

function unreadable(path: string, reason: string): BridgeError {
  return new BridgeError('CONFIG_INVALID', `${path} ${reason}`, {
    hint: 'Correct the file, or remove it: all settings then have their default values.',
  });
}
