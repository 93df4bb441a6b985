/**
 * Definitions of tools that were accepted, so that a change is noticed: one file per server in `pins` of the state directory,
 * for the owner alone. The first line has the fingerprints, which are needed often; each further one the texts of a tool,
 * which are for people. Unlike the kept lists these are no cache: without them the next definition is accepted unseen.
 */

import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { createPause } from '../base/slices.ts';
import type { ShownTexts } from '../directory/server-metadata.ts';
import { ensureDirectory, readBounded, writeAtomically } from '../state/state-files.ts';

/** Raise it with every change of what a line holds, or of what a fingerprint is made of. */
const FORMAT = 1;
/** As much as what is kept of a server. */
const MAX_FILE_BYTES = 96 * 1024 * 1024;
const SLUG_CHARS = 40;
const HASH_CHARS = 12;

const HeaderSchema = z.object({
  format: z.literal(FORMAT),
  server: z.string(),
  tools: z.array(z.tuple([z.string(), z.object({ fingerprint: z.string(), since: z.string() })])),
});

export interface PinnedTool {
  readonly fingerprint: string;
  /** When it was accepted, in ISO 8601. */
  readonly since: string;
}

export interface ToolPinStore {
  /** The accepted tools of a server by name; empty when there are none yet. Rejects when they cannot be read. */
  load(server: string): Promise<ReadonlyMap<string, PinnedTool>>;
  /** Texts of those whose texts were kept. Rejects as `load`. */
  loadTexts(server: string): Promise<ReadonlyMap<string, ShownTexts>>;
  /** Replaces them. Rejects when they cannot be written. */
  save(server: string, tools: ReadonlyMap<string, PinnedTool>, texts: ReadonlyMap<string, ShownTexts>): Promise<void>;
  /** Changes when the file does. */
  stampOf(server: string): string;
  pathOf(server: string): string;
}

export function createToolPinStore(stateDir: string): ToolPinStore {
  const directory = join(stateDir, 'pins');
  const pathOf = (server: string): string => join(directory, fileNameOf(server));

  return {
    pathOf,
    stampOf(server) {
      try {
        const { ino, size, mtimeMs } = statSync(pathOf(server));
        return `${ino}:${size}:${mtimeMs}`;
      } catch {
        // Reading it says why.
        return '';
      }
    },
    async load(server) {
      const [header] = await readLines(pathOf(server));
      return header === undefined ? new Map() : decodeTools(header, server);
    },
    async loadTexts(server) {
      const pause = createPause();
      const texts = new Map<string, ShownTexts>();
      for (const line of (await readLines(pathOf(server))).slice(1)) {
        const [name, shown] = JSON.parse(line) as [string, ShownTexts];
        texts.set(name, shown);
        await pause();
      }
      return texts;
    },
    async save(server, tools, texts) {
      await ensureDirectory(directory);
      const lines = [{ format: FORMAT, server, tools: [...tools] }, ...texts].map(
        (line) => `${JSON.stringify(line)}\n`,
      );
      await writeAtomically(pathOf(server), lines);
    },
  };
}

/** The second: something else is in the place of the folder. */
const NOT_THERE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR']);

/** None when there is no file. */
async function readLines(path: string): Promise<string[]> {
  try {
    return (await readBounded(path, MAX_FILE_BYTES)).toString('utf8').trimEnd().split('\n');
  } catch (error) {
    if (NOT_THERE.has((error as NodeJS.ErrnoException).code)) {
      return [];
    }
    throw error;
  }
}

/** Tells the server to people, and from every other server. */
function fileNameOf(server: string): string {
  const slug = server
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, SLUG_CHARS);
  return `${slug}-${createHash('sha256').update(server).digest('hex').slice(0, HASH_CHARS)}.jsonl`;
}

function decodeTools(header: string, server: string): ReadonlyMap<string, PinnedTool> {
  const found = HeaderSchema.safeParse(JSON.parse(header));
  if (!found.success || found.data.server !== server) {
    throw new Error('it is of another version, or of another server');
  }
  return new Map(found.data.tools);
}
