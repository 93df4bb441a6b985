/**
 * Functions that code asked to keep (`save_tool`), as files `tools/<name>.py` of the state directory, each with
 * `<name>.sha256` beside it in the format of `sha256sum`. Names come from a sandbox: they are checked against a
 * pattern before they become part of a path, and no link in the store is followed.
 */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../base/errors.ts';
import { MAX_SAVED_TOOL_BYTES, MAX_SAVED_TOOLS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { checkDirectory, ensureDirectory, readBounded, writeAtomically } from '../state/state-files.ts';

export interface SavedTool {
  readonly name: string;
  readonly source: string;
}

export interface SavedTools {
  /** Stores a function, replacing one of the same name. Rejects with `CALL_REFUSED`, `STATE_WRITE_FAILED`. */
  save(tool: SavedTool): Promise<void>;
  /** All stored functions by name, at most `MAX_SAVED_TOOLS`; what cannot be read is logged and left out. Never rejects. */
  list(): Promise<SavedTool[]>;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
/** Names that Windows gives to devices, whatever the extension. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)$/i;
const EXTENSION = '.py';

export function createSavedTools({ stateDir, logger }: { stateDir: string; logger: Logger }): SavedTools {
  const directory = join(stateDir, 'tools');

  async function readTool(name: string): Promise<SavedTool | undefined> {
    try {
      const source = await readText(join(directory, name + EXTENSION));
      await warnIfChanged(name, source);
      return { name, source };
    } catch (error) {
      logger.warning(`The saved tool ${name} in ${directory} was left out: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** A user may edit a saved function, and whoever can write here can also define servers: so it is said, not refused. */
  async function warnIfChanged(name: string, source: string): Promise<void> {
    const recorded = await readText(join(directory, `${name}.sha256`)).catch(() => '');
    if (!recorded.startsWith(sha256(source))) {
      logger.warning(`The saved tool ${name} in ${directory} was changed after it was saved.`);
    }
  }

  return {
    async save({ name, source }) {
      checkName(name);
      checkSource(name, source);
      try {
        await ensureDirectory(directory);
        checkRoom(name, await storedNames(directory));
        await writeAtomically(join(directory, name + EXTENSION), [source]);
        await writeAtomically(join(directory, `${name}.sha256`), [`${sha256(source)}  ${name}${EXTENSION}\n`]);
      } catch (error) {
        throw error instanceof BridgeError ? error : writeFailed(directory, error);
      }
      logger.info(`Saved the tool ${name} in ${directory}.`);
    },
    async list() {
      // A session works without them, and a person may not have meant the store at all.
      const names = await storedNames(directory).catch((error: unknown) => {
        logger.warning(`The saved tools were left out: ${messageOf(error)}`);
        return [];
      });
      if (names.length > MAX_SAVED_TOOLS) {
        logger.warning(`${directory} holds ${names.length} tools; sessions get the first ${MAX_SAVED_TOOLS} by name.`);
      }
      const tools = await Promise.all(names.slice(0, MAX_SAVED_TOOLS).map(readTool));
      return tools.filter((tool) => tool !== undefined);
    },
  };
}

function checkName(name: string): void {
  if (!NAME.test(name) || DEVICE_NAME.test(name)) {
    throw new BridgeError(
      'CALL_REFUSED',
      `a tool cannot be saved under the name ${JSON.stringify(name.slice(0, 80))}`,
      {
        hint: 'Name the function with at most 64 ASCII letters, digits and underscores, not beginning with a digit.',
      },
    );
  }
}

function checkSource(name: string, source: string): void {
  const bytes = Buffer.byteLength(source);
  if (bytes > MAX_SAVED_TOOL_BYTES) {
    const limit = MAX_SAVED_TOOL_BYTES.toLocaleString('en-US');
    throw new BridgeError(
      'CALL_REFUSED',
      `the source of '${name}' has ${bytes.toLocaleString('en-US')} bytes; the limit is ${limit} bytes`,
      {
        hint: 'Save a smaller function, and keep data in files or servers.',
      },
    );
  }
}

function checkRoom(name: string, stored: readonly string[]): void {
  // On file systems that ignore case, one would silently replace the other.
  const twin = stored.find((other) => other !== name && other.toLowerCase() === name.toLowerCase());
  if (twin !== undefined) {
    throw new BridgeError('CALL_REFUSED', `'${name}' differs only in case from the saved tool '${twin}'`, {
      hint: 'Give the function another name.',
    });
  }
  if (!stored.includes(name) && stored.length >= MAX_SAVED_TOOLS) {
    throw new BridgeError('CALL_REFUSED', `${MAX_SAVED_TOOLS} tools are saved already, which is the limit`, {
      hint: 'Save it under the name of a tool that is not needed any more.',
    });
  }
}

/** Names of the stored functions, sorted; none when there is no store. */
async function storedNames(directory: string): Promise<string[]> {
  try {
    await checkDirectory(directory);
    const files = await readdir(directory);
    const names = files.filter((file) => file.endsWith(EXTENSION)).map((file) => file.slice(0, -EXTENSION.length));
    return names.filter((name) => NAME.test(name)).toSorted();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return [];
    }
    throw error;
  }
}

async function readText(path: string): Promise<string> {
  return (await readBounded(path, MAX_SAVED_TOOL_BYTES)).toString('utf8');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function writeFailed(directory: string, cause: unknown): BridgeError {
  return new BridgeError('STATE_WRITE_FAILED', `the tool could not be written to ${directory}: ${messageOf(cause)}`, {
    hint: 'Make the directory writable, or set MCP_BRIDGE_STATE_DIR to one that is.',
    cause,
  });
}
