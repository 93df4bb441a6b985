/**
 * The files of saved functions in the state directory: `tools/NAME.py`, its record `NAME.json`, `NAME.sha256` in the format of
 * `sha256sum`, which earlier versions of the bridge read, and its versions in `.history/NAME/N.py`. Links are not followed.
 *
 * The record says which source a person or the bridge has accepted. A file that differs from it was changed by something else, so
 * it is not loaded until a person approves it.
 */
import { lstatSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { MAX_SAVED_TOOL_BYTES, MAX_SAVED_TOOLS, MAX_SAVED_TOOLS_OF_SESSION } from '../../core/base/limits.ts';
import { hashText } from '../../core/state/file-consents.ts';
import { withFileLock } from '../../core/state/file-lock.ts';
import { checkDirectory, ensureDirectory, readBounded, writeAtomically } from '../../core/state/state-files.ts';
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

const EXTENSION = '.py';
const HISTORY = '.history';
const LOCK = '.lock';
const HASH_CHARS = 64;
const MAX_RECORD_BYTES = 64 * 1024;
/** Versions of one function that are kept. Chosen. */
const MAX_VERSIONS = 20;

export class FunctionStore {
  readonly directory: string;

  constructor(stateDir: string) {
    this.directory = join(stateDir, 'tools');
  }

  /** Names of the stored functions, sorted; empty if there is no store. */
  async names(): Promise<string[]> {
    // Most users keep none, and each search asks.
    if (lstatSync(this.directory, { throwIfNoEntry: false }) === undefined) {
      return [];
    }
    try {
      await checkDirectory(this.directory);
      const files = await readdir(this.directory);
      const found = files.filter((file) => file.endsWith(EXTENSION)).map((file) => file.slice(0, -EXTENSION.length));
      return found.filter(isFileName).toSorted();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        return [];
      }
      throw error;
    }
  }

  /** Undefined if there is none. Rejects if its file cannot be read. */
  async read(name: string): Promise<StoredFunction | undefined> {
    if (!isFileName(name) || !(await this.names()).includes(name)) {
      return undefined;
    }
    const source = await readText(this.#file(name), MAX_SAVED_TOOL_BYTES);
    const record = await this.#readRecord(name);
    // Earlier versions of the bridge wrote only the hash.
    const written = await readText(this.#file(name, '.sha256'), MAX_RECORD_BYTES).catch(() => '');
    const hash = record?.sha256 ?? written.slice(0, HASH_CHARS);
    const actual = hashText(source);
    const state = hash === actual ? 'approved' : hash === '' ? 'new' : 'changed';
    return { name, source, sha256: actual, state, record };
  }

  /** Stores an accepted source as the newest version. Rejects with `CALL_REFUSED` or `STATE_WRITE_FAILED`. */
  async write(tool: SavedTool, facts: FunctionFacts): Promise<void> {
    try {
      await ensureDirectory(this.directory);
      await withFileLock(join(this.directory, LOCK), async () => {
        await this.#checkRoom(tool.name, facts.session);
        await this.#writeNow(tool, facts);
      });
    } catch (error) {
      throw error instanceof BridgeError ? error : writeFailed(this.directory, error);
    }
  }

  /** Resolves with whether there was one. Rejects with `STATE_WRITE_FAILED`. */
  async remove(name: string): Promise<boolean> {
    if (!(await this.names()).includes(name)) {
      return false;
    }
    try {
      await withFileLock(join(this.directory, LOCK), async () => {
        const files = ['.json', '.sha256', EXTENSION].map((extension) => this.#file(name, extension));
        await Promise.all(files.map((file) => rm(file, { force: true })));
        const isFolder = await checkDirectory(join(this.directory, HISTORY)).then(
          () => true,
          () => false,
        );
        if (isFolder) {
          await rm(this.#history(name), { recursive: true, force: true });
        }
      });
    } catch (error) {
      throw writeFailed(this.directory, error);
    }
    return true;
  }

  /** The source of a version. Undefined if it is not kept. */
  async source(name: string, number: number): Promise<string | undefined> {
    const file = join(this.#history(name), `${number}${EXTENSION}`);
    return isFileName(name) ? readText(file, MAX_SAVED_TOOL_BYTES).catch(() => undefined) : undefined;
  }

  /** Rejects with `CALL_REFUSED` if there is no room, for all or for the session. */
  async #checkRoom(name: string, session: string | undefined): Promise<void> {
    const stored = await this.names();
    checkRoom(name, stored);
    if (session === undefined || stored.includes(name) || stored.length < MAX_SAVED_TOOLS_OF_SESSION) {
      return;
    }
    const records = await Promise.all(stored.map((one) => this.#readRecord(one)));
    const own = records.filter((record) => record?.session === session).length;
    if (own >= MAX_SAVED_TOOLS_OF_SESSION) {
      throw new BridgeError('CALL_REFUSED', `this session has saved ${own} tools, which is the limit for one session`, {
        hint: 'Reuse the name of a tool that is no longer needed, or remove some with "functions rm".',
      });
    }
  }

  #file(name: string, extension = EXTENSION): string {
    return join(this.directory, name + extension);
  }

  #history(name: string): string {
    return join(this.directory, HISTORY, name);
  }

  async #readRecord(name: string): Promise<FunctionRecord | undefined> {
    const text = await readText(this.#file(name, '.json'), MAX_RECORD_BYTES).catch(() => undefined);
    return text === undefined ? undefined : parseRecord(text);
  }

  async #writeNow({ name, source }: SavedTool, facts: FunctionFacts): Promise<void> {
    const record = await this.#readRecord(name);
    const kept = record?.versions ?? (await this.#firstVersion(name));
    const number = (kept.at(-1)?.number ?? 0) + 1;
    const at = new Date().toISOString();
    const hash = hashText(source);
    const { session } = facts;
    const newest = { number, sha256: hash, at, ...(session === undefined ? {} : { session }) };
    const versions = [...kept, newest].slice(-MAX_VERSIONS);
    await this.#writeVersion(name, number, source);
    // Whatever is killed in between leaves a source that does not match the record, and so is not loaded.
    await writeAtomically(this.#file(name), [source]);
    await writeAtomically(this.#file(name, '.sha256'), [`${hash}  ${name}${EXTENSION}\n`]);
    const next: FunctionRecord = { version: 1, sha256: hash, at, ...facts, versions };
    await writeAtomically(this.#file(name, '.json'), [`${JSON.stringify(next, undefined, 2)}\n`]);
    const gone = kept.filter((old) => !versions.includes(old));
    const files = gone.map((old) => join(this.#history(name), `${old.number}${EXTENSION}`));
    await Promise.all(files.map((file) => rm(file, { force: true })));
  }

  /** The source that an earlier version of the bridge saved becomes version 1. */
  async #firstVersion(name: string): Promise<FunctionVersion[]> {
    const stored = await this.read(name).catch(() => undefined);
    if (stored === undefined || stored.state !== 'approved') {
      return [];
    }
    await this.#writeVersion(name, 1, stored.source);
    return [{ number: 1, sha256: stored.sha256, at: new Date().toISOString() }];
  }

  async #writeVersion(name: string, number: number, source: string): Promise<void> {
    await ensureDirectory(join(this.directory, HISTORY));
    await ensureDirectory(this.#history(name));
    await writeAtomically(join(this.#history(name), `${number}${EXTENSION}`), [source]);
  }
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
    throw new BridgeError('CALL_REFUSED', `'${name}' differs only in case from the saved function '${twin}'`, {
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

function writeFailed(directory: string, cause: unknown): BridgeError {
  return new BridgeError('STATE_WRITE_FAILED', `the tool could not be written to ${directory}: ${messageOf(cause)}`, {
    hint: 'Make the directory writable, or set MCP_BRIDGE_STATE_DIR to one that is.',
    cause,
  });
}
