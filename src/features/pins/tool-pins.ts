/**
 * The store of accepted tool definitions: one file per server, in `pins` of the state directory or of the principal to whom the server belongs.
 * The first line contains the fingerprints, which are needed often; each further line contains the texts of one tool, for
 * people. This is not a cache: without it, the next definition is accepted unseen.
 */

import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { createPause } from '../../core/base/slices.ts';
import type { ShownTexts } from '../../core/directory/server-metadata.ts';
import { ensureDirectory, readBounded, writeAtomically } from '../../core/state/state-files.ts';

/** Increase it whenever the content of a line or of a fingerprint changes. */
const FORMAT = 1;
/** The same as for a server's cached metadata. */
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
  /** The accepted tools of a server by name; empty if there are none yet. Rejects if they cannot be read. */
  load(server: string): Promise<ReadonlyMap<string, PinnedTool>>;
  /** The texts of the accepted tools whose texts were kept. Rejects like `load`. */
  loadTexts(server: string): Promise<ReadonlyMap<string, ShownTexts>>;
  /** Replaces the accepted tools. Rejects if they cannot be written. */
  save(server: string, tools: ReadonlyMap<string, PinnedTool>, texts: ReadonlyMap<string, ShownTexts>): Promise<void>;
  /** Changes whenever the file does. */
  stampOf(server: string): string;
  pathOf(server: string): string;
}

/** @param folderOf where the accepted tools of a server belong. */
export function createToolPinStore(folderOf: (server: string) => string): ToolPinStore {
  const pathOf = (server: string): string => join(folderOf(server), 'pins', fileNameOf(server));

  return {
    pathOf,
    stampOf(server) {
      try {
        const { ino, size, mtimeMs } = statSync(pathOf(server));
        return `${ino}:${size}:${mtimeMs}`;
      } catch {
        // `load` reports the reason.
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
      const path = pathOf(server);
      await ensureDirectory(dirname(path));
      const lines = [{ format: FORMAT, server, tools: [...tools] }, ...texts].map(
        (line) => `${JSON.stringify(line)}\n`,
      );
      await writeAtomically(path, lines);
    },
  };
}

/** ENOTDIR: something other than a folder is at the path of the folder. */
const NOT_THERE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR']);

/** Empty if there is no file. */
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

/** A name that people recognize, with a hash that makes it unique. */
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
    throw new Error('it is from a different version, or for a different server');
  }
  return new Map(found.data.tools);
}
