/**
 * Functions that code keeps with `save_tool`, stored as `tools/<name>.py` in the state directory, each with a
 * `<name>.sha256` in the format of `sha256sum`. Names come from a sandbox, so they are checked against a pattern before they
 * become part of a path, and links in the store are not followed.
 *
 * A saved function reaches every later session, so it is how hostile code could stay. None replaces another unless the user
 * allows it, and each is recorded. What a function may contain is checked here only as far as text allows; the kernel of each
 * later session parses it, and defines it without running any of it (`saved_tools.py`).
 */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../base/errors.ts';
import { MAX_SAVED_TOOL_BYTES, MAX_SAVED_TOOLS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { Decision } from '../calls/contract.ts';
import { checked, type Method } from '../calls/method.ts';
import { isPythonKeyword } from '../catalog/names.ts';
import { checkDirectory, ensureDirectory, readBounded, writeAtomically } from '../state/state-files.ts';
import { askToSave, type SavingCall } from './ask-to-save.ts';

export interface SavedTool {
  readonly name: string;
  readonly source: string;
}

/** What happened, for the audit log. */
export interface SavedToolFacts {
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
  /** SHA-256 of the source that it replaced. */
  readonly replaced?: string;
  /** Whether the user was asked. */
  readonly asked: boolean;
}

export interface SavedToolsOptions {
  readonly stateDir: string;
  readonly logger: Logger;
  /** `MCP_BRIDGE_SAVED_TOOLS`. */
  readonly mode: 'off' | 'ask' | 'on';
  /** What the policy says about what it does not name, if anything. */
  readonly fallback?: () => Decision | undefined;
  readonly onSaved?: ((call: SavingCall, tool: SavedToolFacts) => void) | undefined;
}

export interface SavedTools {
  /**
   * Stores a function. Asks the user if the mode or the policy says so, and before replacing another source. Rejects with
   * `CALL_REFUSED`, `POLICY_DENIED`, `APPROVAL_…` or `STATE_WRITE_FAILED`.
   */
  save(tool: SavedTool, call: SavingCall): Promise<void>;
  /** The stored functions, sorted by name, at most `MAX_SAVED_TOOLS`. Unreadable ones are logged and skipped. Never rejects. */
  list(): Promise<SavedTool[]>;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
/** Names with a meaning in every session, which a function must not replace there. The kernel knows the others. */
const TAKEN_NAME = /^_|^mcp(_|$)|^(runtime|save_tool|display|print|LOADED_MCP_SERVERS|MCPError|ToolError|PolicyError)$/;
/** Names of devices on Windows, with any extension. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)$/i;
const EXTENSION = '.py';

export function createSavedTools(options: SavedToolsOptions): SavedTools {
  const { fallback, logger, mode, stateDir } = options;
  const directory = join(stateDir, 'tools');
  const inTurn = createTurns();

  return {
    async save(tool, call) {
      refuseIfOff(mode, fallback?.());
      checkName(tool.name);
      checkSource(tool);
      await inTurn(tool.name, () => saveNow(tool, call, { ...options, directory }));
    },
    async list() {
      if (mode === 'off') {
        return [];
      }
      // Sessions work without them, and the folder may not even be meant as a store.
      const names = await storedNames(directory).catch((error: unknown) => {
        logger.warning(`The saved tools were skipped: ${messageOf(error)}`);
        return [];
      });
      if (names.length > MAX_SAVED_TOOLS) {
        logger.warning(`${directory} holds ${names.length} tools; sessions get the first ${MAX_SAVED_TOOLS} by name.`);
      }
      const tools = await Promise.all(names.slice(0, MAX_SAVED_TOOLS).map((name) => readTool(name, directory, logger)));
      return tools.filter((tool) => tool !== undefined);
    },
  };
}

/** Runs what has the same name one after the other, so that two functions of that name cannot both be new. */
function createTurns(): (name: string, run: () => Promise<void>) => Promise<void> {
  const turns = new Map<string, Promise<void>>();
  return async (name, run) => {
    const done = (turns.get(name) ?? Promise.resolve()).then(run);
    const turn = done.catch(() => undefined);
    turns.set(name, turn);
    try {
      await done;
    } finally {
      if (turns.get(name) === turn) {
        turns.delete(name);
      }
    }
  };
}

interface Store extends SavedToolsOptions {
  readonly directory: string;
}

async function saveNow(tool: SavedTool, call: SavingCall, store: Store): Promise<void> {
  const { name, source } = tool;
  const { directory, logger, onSaved } = store;
  const file = join(directory, name + EXTENSION);
  const before = await readStored(name, directory);
  if (before === source) {
    return;
  }
  const reason = before === undefined ? whyAsk(store) : `another function is saved under the name ${name}`;
  if (reason !== undefined) {
    await askToSave(tool, before, { reason, file }, call);
  }
  try {
    await ensureDirectory(directory);
    checkRoom(name, await storedNames(directory));
    await writeAtomically(file, [source]);
    await writeAtomically(join(directory, `${name}.sha256`), [`${sha256(source)}  ${name}${EXTENSION}\n`]);
  } catch (error) {
    throw error instanceof BridgeError ? error : writeFailed(directory, error);
  }
  const replaced = before === undefined ? {} : { replaced: sha256(before) };
  const bytes = Buffer.byteLength(source);
  onSaved?.(call, { name, sha256: sha256(source), bytes, ...replaced, asked: reason !== undefined });
  logger.info(`Saved the tool ${name} in ${directory}.`);
}

/** Why the user is asked about a new function; undefined if not. */
function whyAsk({ fallback, mode }: SavedToolsOptions): string | undefined {
  if (mode === 'ask') {
    return 'MCP_BRIDGE_SAVED_TOOLS is ask';
  }
  const decision = fallback?.();
  return decision?.effect === 'ask' ? decision.reason : undefined;
}

/** Undefined if there is none. One that cannot be read counts as different from any other. */
async function readStored(name: string, directory: string): Promise<string | undefined> {
  const isStored = (await storedNames(directory).catch((): string[] => [])).includes(name);
  return isStored ? readText(join(directory, name + EXTENSION)).catch(() => '') : undefined;
}

async function readTool(name: string, directory: string, logger: Logger): Promise<SavedTool | undefined> {
  try {
    const source = await readText(join(directory, name + EXTENSION));
    // Only a warning, because users may edit saved functions, and anyone who can write here could also define servers.
    const recorded = await readText(join(directory, `${name}.sha256`)).catch(() => '');
    if (!recorded.startsWith(sha256(source))) {
      logger.warning(`The saved tool ${name} in ${directory} was changed after it was saved.`);
    }
    return { name, source };
  } catch (error) {
    logger.warning(`The saved tool ${name} in ${directory} was skipped: ${messageOf(error)}`);
    return undefined;
  }
}

function checkName(name: string): void {
  if (TAKEN_NAME.test(name)) {
    throw new BridgeError(
      'CALL_REFUSED',
      `a tool cannot be saved under the name '${name.slice(0, 80)}', which is taken`,
      {
        hint: 'Give the function another name.',
      },
    );
  }
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

function refuseIfOff(mode: SavedToolsOptions['mode'], decision: Decision | undefined): void {
  if (mode === 'off') {
    throw new BridgeError('CALL_REFUSED', 'functions cannot be saved, because MCP_BRIDGE_SAVED_TOOLS is off', {
      hint: 'Define the function again in each session.',
    });
  }
  if (decision?.effect === 'deny' || decision?.effect === 'dry-run') {
    throw new BridgeError('POLICY_DENIED', `functions cannot be saved: ${decision.reason}`, {
      hint: 'Define the function again in each session.',
    });
  }
}

function checkSource({ name, source }: SavedTool): void {
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
  if (!isFunction(name, source)) {
    throw new BridgeError('CALL_REFUSED', `the source of '${name}' is not one function with its imports`, {
      hint: `Begin with imports, if any, followed by 'def ${name}(...):', without decorators.`,
    });
  }
}

/** Whether the text begins as one function, with only imports before it. What follows, only a parser can judge. */
function isFunction(name: string, source: string): boolean {
  const start = new RegExp(`^(?:async[ \\t]+)?def[ \\t]+${name}\\b`);
  const lines = source.split(/\r\n?|\n/);
  const first = lines.findIndex((line) => start.test(line));
  return (
    first >= 0 && lines.slice(0, first).every((line) => /^(?:(?:import|from)[ \t][^;]*|[ \t]*(?:#.*)?)$/.test(line))
  );
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
  return [['save_tool', checked(SaveToolParams, (tool, call) => savedTools.save(tool, call))]];
}
