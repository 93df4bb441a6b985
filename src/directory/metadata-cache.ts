/** Keeps what servers said about themselves between runs of the bridge. Nothing that goes wrong here fails a call. */

import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { createPause } from '../base/slices.ts';
import type { KnownTool, ServerMetadata } from '../catalog/known.ts';
import { parseExact, stringifyExact } from '../protocol/exact-json.ts';
import { LineCache } from '../state/line-cache.ts';

/** Raise it with every change of the shape of `ServerMetadata`, or of what the intake does. */
const FORMAT = 2;
/** Tools of one server have at most 16 million characters, of a few bytes each. */
const MAX_FILE_BYTES = 96 * 1024 * 1024;
/** Parsing a line of this size takes 6 ms. */
const LINE_CHARS = 256 * 1024;

export interface MetadataCache {
  /** What is kept for this definition; undefined when there is nothing usable. */
  load(definitionHash: string): Promise<ServerMetadata | undefined>;
  /** Keeps it, unless one of `secrets` occurs in it. A directory that cannot be written is warned about once. */
  save(definitionHash: string, metadata: ServerMetadata, secrets: readonly string[]): Promise<void>;
}

/** The cache of a state directory. None of its methods rejects. */
export function createMetadataCache({ stateDir, logger }: { stateDir: string; logger: Logger }): MetadataCache {
  const directory = join(stateDir, '.cache', 'catalog');
  const cache = new LineCache({ directory, format: FORMAT, maxFileBytes: MAX_FILE_BYTES });
  let hasWarned = false;

  return {
    async load(definitionHash) {
      try {
        const lines = await cache.load(definitionHash);
        return lines && (await decode(lines));
      } catch (error) {
        logger.debug(`A list of tools in ${directory} is made anew: ${messageOf(error)}`);
        return undefined;
      }
    },
    async save(definitionHash, metadata, secrets) {
      try {
        const lines = await encode(metadata);
        if (holdsSecret(lines, secrets)) {
          logger.debug('A server repeats a secret of its entry in what it says of itself, which is therefore not kept');
          return;
        }
        await cache.save(definitionHash, lines);
      } catch (error) {
        if (!hasWarned) {
          hasWarned = true;
          logger.warning(`Tool lists are not kept for the next start: ${messageOf(error)}`);
        }
      }
    },
  };
}

/** What the server said of itself, then its tools in lines that are parsed one at a time. */
async function encode({ tools, ...about }: ServerMetadata): Promise<string[]> {
  const pause = createPause();
  const lines = [`${stringifyExact(about)}\n`];
  let batch: string[] = [];
  let chars = 0;
  const endBatch = (): void => {
    lines.push(`[${batch.join(',')}]\n`);
    batch = [];
    chars = 0;
  };
  for (const tool of tools) {
    const text = stringifyExact(tool);
    batch.push(text);
    chars += text.length;
    if (chars >= LINE_CHARS) {
      endBatch();
    }
    await pause();
  }
  endBatch();
  return lines;
}

async function decode(lines: readonly Buffer[]): Promise<ServerMetadata> {
  const pause = createPause();
  const values: unknown[] = [];
  for (const line of lines) {
    values.push(parseExact(line.toString('utf8')));
    await pause();
  }
  // The shape is that of this format: the checksum says that `encode` wrote it.
  const [about, ...batches] = values as [Omit<ServerMetadata, 'tools'>, ...KnownTool[][]];
  return { ...about, tools: batches.flat() };
}

/** Whether one of `secrets` occurs in lines of JSON. */
export function holdsSecret(lines: readonly string[], secrets: readonly string[]): boolean {
  const escaped = secrets.map((secret) => JSON.stringify(secret).slice(1, -1));
  return lines.some((line) => escaped.some((secret) => line.includes(secret)));
}
