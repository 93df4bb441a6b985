/**
 * The files of kept functions in the state directory: `tools/NAME.py`, its record `NAME.json`, `NAME.sha256` in the format of
 * `sha256sum`, which earlier versions of the bridge read, and its versions in `.history/NAME/N.py`. Links are not followed.
 *
 * The record says which source a person or the bridge has accepted. A file that differs from it was changed by something else, so
 * it is not loaded until a person approves it.
 */
import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../base/errors.ts';
import { MAX_SAVED_TOOL_BYTES, MAX_SAVED_TOOLS } from '../base/limits.ts';
import { withFileLock } from '../state/file-lock.ts';
import { checkDirectory, ensureDirectory, readBounded, writeAtomically } from '../state/state-files.ts';
import { isFileName, type SavedTool } from './function-source.ts';

const VersionSchema = z.object({
  number: z.int().positive(),
  sha256: z.string(),
  /** ISO 8601. */
  at: z.string(),
  /** The session whose code saved it; left out if a person did. */
  session: z.string().optional(),
});

const RecordSchema = z.object({
  version: z.literal(1),
  sha256: z.string(),
  at: z.string(),
  session: z.string().optional(),
  /** Packages of the session that the function imports, as `name==version`. */
  packages: z.array(z.string()).default([]),
  signature: z.string().default(''),
  summary: z.string().default(''),
  /** Oldest first; the last one is the accepted source. */
  versions: z.array(VersionSchema).default([]),
});

export type FunctionRecord = z.infer<typeof RecordSchema>;
export type FunctionVersion = z.infer<typeof VersionSchema>;

export interface StoredFunction extends SavedTool {
  readonly sha256: string;
  /** `changed`: the file is not what was accepted last. `new`: nothing was ever accepted. */
  readonly state: 'approved' | 'changed' | 'new';
  /** Undefined for one that an earlier version of the bridge saved. */
  readonly record: FunctionRecord | undefined;
}

/** What the record has beside the source. */
export type FunctionFacts = Pick<FunctionRecord, 'session' | 'packages' | 'signature' | 'summary'>;

export interface FunctionStore {
  readonly directory: string;
  /** Names of the stored functions, sorted; empty if there is no store. */
  names(): Promise<string[]>;
  /** Undefined if there is none. Rejects if its file cannot be read. */
  read(name: string): Promise<StoredFunction | undefined>;
  /** Stores an accepted source as the newest version. Rejects with `CALL_REFUSED` or `STATE_WRITE_FAILED`. */
  write(tool: SavedTool, facts: FunctionFacts): Promise<void>;
  /** Resolves with whether there was one. */
  remove(name: string): Promise<boolean>;
  /** The source of a version. Undefined if it is not kept. */
  source(name: string, number: number): Promise<string | undefined>;
}

const EXTENSION = '.py';
const HISTORY = '.history';
const MAX_RECORD_BYTES = 64 * 1024;
/** Versions of one function that are kept. Chosen. */
const MAX_VERSIONS = 20;

export function createFunctionStore(stateDir: string): FunctionStore {
  const directory = join(stateDir, 'tools');
  const fileOf = (name: string, extension = EXTENSION): string => join(directory, name + extension);
  const historyOf = (name: string): string => join(directory, HISTORY, name);

  async function names(): Promise<string[]> {
    try {
      await checkDirectory(directory);
      const files = await readdir(directory);
      const found = files.filter((file) => file.endsWith(EXTENSION)).map((file) => file.slice(0, -EXTENSION.length));
      return found.filter(isFileName).toSorted();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        return [];
      }
      throw error;
    }
  }

  async function readRecord(name: string): Promise<FunctionRecord | undefined> {
    const text = await readText(fileOf(name, '.json'), MAX_RECORD_BYTES).catch(() => undefined);
    return text === undefined ? undefined : parseRecord(text);
  }

  async function read(name: string): Promise<StoredFunction | undefined> {
    if (!isFileName(name) || !(await names()).includes(name)) {
      return undefined;
    }
    const source = await readText(fileOf(name), MAX_SAVED_TOOL_BYTES);
    const record = await readRecord(name);
    // Earlier versions of the bridge wrote only the hash.
    const hash =
      record?.sha256 ?? (await readText(fileOf(name, '.sha256'), MAX_RECORD_BYTES).catch(() => '')).slice(0, 64);
    const actual = sha256(source);
    return {
      name,
      source,
      sha256: actual,
      state: hash === actual ? 'approved' : hash === '' ? 'new' : 'changed',
      record,
    };
  }

  async function writeNow({ name, source }: SavedTool, facts: FunctionFacts): Promise<void> {
    const record = await readRecord(name);
    const kept = record?.versions ?? (await firstVersion(name));
    const number = (kept.at(-1)?.number ?? 0) + 1;
    const at = new Date().toISOString();
    const hash = sha256(source);
    const { session } = facts;
    const newest = { number, sha256: hash, at, ...(session === undefined ? {} : { session }) };
    const versions = [...kept, newest].slice(-MAX_VERSIONS);
    await ensureDirectory(join(directory, HISTORY));
    await ensureDirectory(historyOf(name));
    await writeAtomically(join(historyOf(name), `${number}${EXTENSION}`), [source]);
    // Whatever is killed in between leaves a source that does not match the record, and so is not loaded.
    await writeAtomically(fileOf(name), [source]);
    await writeAtomically(fileOf(name, '.sha256'), [`${hash}  ${name}${EXTENSION}\n`]);
    const next: FunctionRecord = { version: 1, sha256: hash, at, ...facts, versions };
    await writeAtomically(fileOf(name, '.json'), [`${JSON.stringify(next, undefined, 2)}\n`]);
    const gone = kept.filter(({ number: old }) => !versions.some((one) => one.number === old));
    await Promise.all(gone.map(({ number: old }) => rm(join(historyOf(name), `${old}${EXTENSION}`), { force: true })));
  }

  /** The source that an earlier version of the bridge saved becomes version 1. */
  async function firstVersion(name: string): Promise<FunctionVersion[]> {
    const stored = await read(name).catch(() => undefined);
    if (stored === undefined || stored.state !== 'approved') {
      return [];
    }
    await ensureDirectory(join(directory, HISTORY));
    await ensureDirectory(historyOf(name));
    await writeAtomically(join(historyOf(name), `1${EXTENSION}`), [stored.source]);
    return [{ number: 1, sha256: stored.sha256, at: new Date().toISOString() }];
  }

  return {
    directory,
    names,
    read,
    async write(tool, facts) {
      try {
        await ensureDirectory(directory);
        await withFileLock(join(directory, '.lock'), async () => {
          checkRoom(tool.name, await names());
          await writeNow(tool, facts);
        });
      } catch (error) {
        throw error instanceof BridgeError ? error : writeFailed(directory, error);
      }
    },
    async remove(name) {
      if (!(await names()).includes(name)) {
        return false;
      }
      try {
        await withFileLock(join(directory, '.lock'), async () => {
          await Promise.all(
            ['.json', '.sha256', EXTENSION].map((extension) => rm(fileOf(name, extension), { force: true })),
          );
          const isHistory = await checkDirectory(join(directory, HISTORY)).then(
            () => true,
            () => false,
          );
          if (isHistory) {
            await rm(historyOf(name), { recursive: true, force: true });
          }
        });
      } catch (error) {
        throw writeFailed(directory, error);
      }
      return true;
    },
    async source(name, number) {
      return isFileName(name)
        ? readText(join(historyOf(name), `${number}${EXTENSION}`), MAX_SAVED_TOOL_BYTES).catch(() => undefined)
        : undefined;
    },
  };
}

function parseRecord(text: string): FunctionRecord | undefined {
  try {
    return RecordSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
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

async function readText(path: string, maxBytes: number): Promise<string> {
  return (await readBounded(path, maxBytes)).toString('utf8');
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function writeFailed(directory: string, cause: unknown): BridgeError {
  return new BridgeError('STATE_WRITE_FAILED', `the tool could not be written to ${directory}: ${messageOf(cause)}`, {
    hint: 'Make the directory writable, or set MCP_BRIDGE_STATE_DIR to one that is.',
    cause,
  });
}
