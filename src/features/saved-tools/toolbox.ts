/**
 * Folders of functions that are shared, for example through git (`MCP_BRIDGE_TOOLBOX`). They are only read. A person consents to
 * each file as it is: `toolbox.json` in the state directory has its hash. A file that is new or has changed is not loaded before.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/base/errors.ts';
import { MAX_SAVED_TOOL_BYTES, MAX_SAVED_TOOLS } from '../../core/base/limits.ts';
import { type ConsentState, FileConsents, hashText } from '../../core/state/file-consents.ts';
import { readBounded } from '../../core/state/state-files.ts';
import { checkName, checkSource, type SavedTool } from './function-source.ts';

export interface ToolboxFunction extends SavedTool {
  readonly folder: string;
  readonly path: string;
  readonly sha256: string;
  readonly state: ConsentState;
}

type StateOf = Awaited<ReturnType<FileConsents['read']>>;

const EXTENSION = '.py';

export interface ToolboxOptions {
  readonly folders: readonly string[];
  readonly stateDir: string;
  /** Gets each problem once, as a sentence. */
  readonly report: (problem: string) => void;
}

export class Toolbox {
  readonly #options: ToolboxOptions;
  readonly #consents: FileConsents;

  constructor(options: ToolboxOptions) {
    this.#options = options;
    this.#consents = new FileConsents(options.stateDir, options.report);
  }

  /** The functions of all folders; of those with the same name, that of the first folder. Never rejects. */
  async list(): Promise<ToolboxFunction[]> {
    const { folders, report } = this.#options;
    if (folders.length === 0) {
      return [];
    }
    const stateOf = await this.#consents.read();
    const found = new Map<string, ToolboxFunction>();
    for (const tool of (await Promise.all(folders.map((folder) => this.#listFolder(folder, stateOf)))).flat()) {
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
  async approve(tool: Pick<ToolboxFunction, 'path' | 'sha256'>): Promise<void> {
    await this.#consents.give(tool);
  }

  async #listFolder(folder: string, stateOf: StateOf): Promise<ToolboxFunction[]> {
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
        readShared(folder, name, stateOf).catch((error: unknown) => {
          report(`${join(folder, name)} was skipped: ${messageOf(error)}`);
        }),
      ),
    );
    return tools.filter((tool) => tool !== undefined);
  }
}

async function readShared(folder: string, base: string, stateOf: StateOf): Promise<ToolboxFunction> {
  const path = join(folder, base);
  const name = base.slice(0, -EXTENSION.length);
  checkName(name);
  const source = (await readBounded(path, MAX_SAVED_TOOL_BYTES)).toString('utf8');
  checkSource({ name, source });
  const hash = hashText(source);
  return { name, source, folder, path, sha256: hash, state: stateOf({ path, sha256: hash }) };
}
