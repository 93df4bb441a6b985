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

export interface Toolbox {
  /** The functions of all folders; of those with the same name, that of the first folder. Never rejects. */
  list(): Promise<ToolboxFunction[]>;
  /** Notes the person's consent to this source. Rejects with `STATE_WRITE_FAILED`. */
  approve(tool: Pick<ToolboxFunction, 'path' | 'sha256'>): Promise<void>;
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

export function createToolbox({ folders, stateDir, report }: ToolboxOptions): Toolbox {
  const file = join(stateDir, 'toolbox.json');

  async function readPins(): Promise<Pins> {
    try {
      return PinsSchema.parse(JSON.parse((await readBounded(file, MAX_PINS_BYTES)).toString('utf8')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        report(`${file} was ignored, so shared functions need your consent again: ${messageOf(error)}`);
      }
      return { version: 1, approved: [] };
    }
  }

  async function listFolder(folder: string, { approved }: Pins): Promise<ToolboxFunction[]> {
    const files = await readdir(folder).catch((error: unknown): string[] => {
      report(`The toolbox ${folder} was skipped: ${messageOf(error)}`);
      return [];
    });
    const paths = files.filter((name) => name.endsWith(EXTENSION)).toSorted();
    if (paths.length > MAX_SAVED_TOOLS) {
      report(`The toolbox ${folder} holds ${paths.length} functions; the first ${MAX_SAVED_TOOLS} by name are used.`);
    }
    const tools = await Promise.all(
      paths.slice(0, MAX_SAVED_TOOLS).map(async (base): Promise<ToolboxFunction | undefined> => {
        const path = join(folder, base);
        const name = base.slice(0, -EXTENSION.length);
        try {
          checkName(name);
          const source = (await readBounded(path, MAX_SAVED_TOOL_BYTES)).toString('utf8');
          checkSource({ name, source });
          const hash = sha256(source);
          const pin = approved.find((one) => one.path === path);
          const state = pin === undefined ? 'new' : pin.sha256 === hash ? 'approved' : 'changed';
          return { name, source, folder, path, sha256: hash, state };
        } catch (error) {
          report(`${path} was skipped: ${messageOf(error)}`);
          return undefined;
        }
      }),
    );
    return tools.filter((tool) => tool !== undefined);
  }

  return {
    async list() {
      if (folders.length === 0) {
        return [];
      }
      const pins = await readPins();
      const found = new Map<string, ToolboxFunction>();
      for (const tool of (await Promise.all(folders.map((folder) => listFolder(folder, pins)))).flat()) {
        const first = found.get(tool.name);
        if (first === undefined) {
          found.set(tool.name, tool);
        } else {
          report(`${tool.path} was skipped: ${first.path} has the same name.`);
        }
      }
      return [...found.values()];
    },
    async approve({ path, sha256: hash }) {
      try {
        await ensureDirectory(stateDir);
        await withFileLock(`${file}.lock`, async () => {
          const { approved } = await readPins();
          const others = approved.filter((one) => one.path !== path);
          const next: Pins = {
            version: 1,
            approved: [...others, { path, sha256: hash, at: new Date().toISOString() }],
          };
          await writeAtomically(file, [`${JSON.stringify(next, undefined, 2)}\n`]);
        });
      } catch (cause) {
        throw new BridgeError('STATE_WRITE_FAILED', `${file} could not be written: ${messageOf(cause)}`, {
          hint: 'Make the state directory writable.',
          cause,
        });
      }
    },
  };
}
