/**
 * Functions that code keeps with `save_tool`, stored as `tools/<name>.py` in the state directory, each with a
 * `<name>.sha256` in the format of `sha256sum`. Names come from a sandbox, so they are checked against a pattern before they
 * become part of a path, and links in the store are not followed.
 */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../base/errors.ts';
import { MAX_SAVED_TOOL_BYTES, MAX_SAVED_TOOLS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { checked, type Method } from '../calls/method.ts';
import { isPythonKeyword } from '../catalog/names.ts';
import { checkDirectory, ensureDirectory, readBounded, writeAtomically } from '../state/state-files.ts';

export interface SavedTool {
  readonly name: string;
  readonly source: string;
}

export interface SavedTools {
  /** Stores a function, replacing one of the same name. Rejects with `CALL_REFUSED` or `STATE_WRITE_FAILED`. */
  save(tool: SavedTool): Promise<void>;
  /** The stored functions, sorted by name, at most `MAX_SAVED_TOOLS`. Unreadable ones are logged and skipped. Never rejects. */
  list(): Promise<SavedTool[]>;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
/** Names of devices on Windows, with any extension. */
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
      logger.warning(`The saved tool ${name} in ${directory} was skipped: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** Only a warning, because users may edit saved functions, and anyone who can write here could also define servers. */
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
      // Sessions work without them, and the folder may not even be meant as a store.
      const names = await storedNames(directory).catch((error: unknown) => {
        logger.warning(`The saved tools were skipped: ${messageOf(error)}`);
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
        hint: 'Use at most 64 ASCII letters, digits and underscores, and do not start with a digit.',
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
        hint: 'Save a smaller function, and keep its data in an artifact or on a server.',
      },
    );
  }
}

function checkRoom(name: string, stored: readonly string[]): void {
  // On a file system that ignores case, one would silently replace the other.
  const twin = stored.find((other) => other !== name && other.toLowerCase() === name.toLowerCase());
  if (twin !== undefined) {
    throw new BridgeError('CALL_REFUSED', `'${name}' differs only in case from the saved tool '${twin}'`, {
      hint: 'Give the function another name.',
    });
  }
  if (!stored.includes(name) && stored.length >= MAX_SAVED_TOOLS) {
    throw new BridgeError('CALL_REFUSED', `${MAX_SAVED_TOOLS} tools are already saved, which is the limit`, {
      hint: 'Reuse the name of a tool that is no longer needed.',
    });
  }
}

/** Names of the stored functions, sorted; empty if there is no store. */
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

const SaveToolParams = z.strictObject({
  name: z.string().refine((word) => !isPythonKeyword(word), 'a function cannot be named after a Python keyword'),
  source: z.string(),
});

/** The methods that code can call. */
export function savedToolMethods(savedTools: Pick<SavedTools, 'save'>): [string, Method][] {
  return [['save_tool', checked(SaveToolParams, (tool) => savedTools.save(tool))]];
}
