/**
 * Folders of functions that are shared, for example through git (`MCP_BRIDGE_TOOLBOX`). They are only read. A person consents to
 * each file as it is: `toolbox.json` in the state directory has its hash. A file that is new or has changed is not loaded before.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../base/errors.ts';
import { MAX_SAVED_TOOL_BYTES, MAX_SAVED_TOOLS } from '../base/limits.ts';
import { withFileLock } from '../state/file-lock.ts';
import { ensureDirectory, readBounded, writeAtomically } from '../state/state-files.ts';
import { checkName, checkSource, type SavedTool } from './function-source.ts';
import { sha256 } from './function-store.ts';

export interface ToolboxFunction extends SavedTool {
  readonly folder: string;
  readonly path: string;
  readonly sha256: string;
  readonly state: 'approved' | 'changed' | 'new';
}

const PinsSchema = z.object({
  version: z.literal(1),
  /** By path. */
  approved: z.array(z.object({ path: z.string(), sha256: z.string(), at: z.string() })),
});
type Pins = z.infer<typeof PinsSchema>;

const EXTENSION = '.py';
/** Room for 10,000 functions. */
const MAX_PINS_BYTES = 4 * 1024 * 1024;

export interface ToolboxOptions {
  readonly folders: readonly string[];
  readonly stateDir: string;
  /** Told once about each problem. */
  readonly report: (problem: string) => void;
}

export class Toolbox {
  readonly #options: ToolboxOptions;
  readonly #file: string;

  constructor(options: ToolboxOptions) {
    this.#options = options;
    this.#file = join(options.stateDir, 'toolbox.json');
  }

  /** The functions of all folders; of those with the same name, that of the first folder. Never rejects. */
  async list(): Promise<ToolboxFunction[]> {
    const { folders, report } = this.#options;
    if (folders.length === 0) {
      return [];
    }
    const pins = await this.#readPins();
    const found = new Map<string, ToolboxFunction>();
    for (const tool of (await Promise.all(folders.map((folder) => this.#listFolder(folder, pins)))).flat()) {
      const first = found.get(tool.name);
      if (first === undefined) {
        found.set(tool.name, tool);
      } else {
        report(`${tool.path} was skipped: ${first.path} has the same name.`);
      }
    }
    return [...found.values()];
  }

  /** Notes the person's consent to this source. Rejects with `STATE_WRITE_FAILED`. */
  async approve({ path, sha256: hash }: Pick<ToolboxFunction, 'path' | 'sha256'>): Promise<void> {
    try {
      await ensureDirectory(this.#options.stateDir);
      await withFileLock(`${this.#file}.lock`, async () => {
        const { approved } = await this.#readPins();
        const others = approved.filter((one) => one.path !== path);
        const all = [...others, { path, sha256: hash, at: new Date().toISOString() }];
        await writeAtomically(this.#file, [`${JSON.stringify({ version: 1, approved: all }, undefined, 2)}\n`]);
      });
    } catch (cause) {
      throw new BridgeError('STATE_WRITE_FAILED', `${this.#file} could not be written: ${messageOf(cause)}`, {
        hint: 'Make the state directory writable.',
        cause,
      });
    }
  }

  async #readPins(): Promise<Pins> {
    try {
      return PinsSchema.parse(JSON.parse((await readBounded(this.#file, MAX_PINS_BYTES)).toString('utf8')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        const reason = messageOf(error);
        this.#options.report(`${this.#file} was ignored, so shared functions need your consent again: ${reason}`);
      }
      return { version: 1, approved: [] };
    }
  }

  async #listFolder(folder: string, pins: Pins): Promise<ToolboxFunction[]> {
    const { report } = this.#options;
    const files = await readdir(folder).catch((error: unknown): string[] => {
      report(`The toolbox ${folder} was skipped: ${messageOf(error)}`);
      return [];
    });
    const names = files.filter((name) => name.endsWith(EXTENSION)).toSorted();
    if (names.length > MAX_SAVED_TOOLS) {
      report(`The toolbox ${folder} holds ${names.length} functions; the first ${MAX_SAVED_TOOLS} by name are used.`);
    }
    const tools = await Promise.all(
      names.slice(0, MAX_SAVED_TOOLS).map((name) =>
        readShared(folder, name, pins).catch((error: unknown) => {
          report(`${join(folder, name)} was skipped: ${messageOf(error)}`);
        }),
      ),
    );
    return tools.filter((tool) => tool !== undefined);
  }
}

async function readShared(folder: string, base: string, { approved }: Pins): Promise<ToolboxFunction> {
  const path = join(folder, base);
  const name = base.slice(0, -EXTENSION.length);
  checkName(name);
  const source = (await readBounded(path, MAX_SAVED_TOOL_BYTES)).toString('utf8');
  checkSource({ name, source });
  const hash = sha256(source);
  const pin = approved.find((one) => one.path === path);
  const state = pin === undefined ? 'new' : pin.sha256 === hash ? 'approved' : 'changed';
  return { name, source, folder, path, sha256: hash, state };
}
