/** Keeps the metadata of servers between runs of the bridge. A failure here never fails a call. */
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { createPause } from '../base/slices.ts';
import type { KnownTool, ServerMetadata } from '../catalog/known.ts';
import { parseExact, stringifyExact } from '../protocol/exact-json.ts';
import { LineCache } from '../state/line-cache.ts';

/** Increase it with every change of `ServerMetadata` or of the intake. */
const FORMAT = 2;
/** Tools of one server have at most 16 million characters, of a few bytes each. */
const MAX_FILE_BYTES = 96 * 1024 * 1024;
/** Parsing a line of this size takes 6 ms. */
const LINE_CHARS = 256 * 1024;

export interface MetadataCache {
  /** The metadata of this definition; undefined if there is none that can be used. */
  load(definitionHash: string): Promise<ServerMetadata | undefined>;
  /**
   * Keeps metadata, unless it contains one of `secrets`. Warns once if the directory cannot be written. `wasUsed` says whether the server
   * had been called before it sent them: then they may depend on who called it.
   */
  save(definitionHash: string, metadata: ServerMetadata, secrets: readonly string[], wasUsed?: boolean): Promise<void>;
  /** Forgets what is kept. */
  remove(definitionHash: string): Promise<void>;
}

/**
 * The cache of a principal. All share what a server says before it is called; what it says on a connection that was used is kept for
 * those whose connection it is, because a server may show what they have done.
 */
export function personalCache(shared: MetadataCache, own: MetadataCache): MetadataCache {
  return {
    load: async (definitionHash) => (await own.load(definitionHash)) ?? shared.load(definitionHash),
    async save(definitionHash, metadata, secrets, wasUsed) {
      await (wasUsed === true ? own : shared).save(definitionHash, metadata, secrets);
      await (wasUsed === true ? undefined : own.remove(definitionHash));
    },
    remove: (definitionHash) => own.remove(definitionHash),
  };
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
        logger.debug(`A tool list in ${directory} cannot be used, so its server is asked again: ${messageOf(error)}`);
        return undefined;
      }
    },
    async save(definitionHash, metadata, secrets) {
      try {
        const lines = await encode(metadata);
        if (holdsSecret(lines, secrets)) {
          logger.debug('The description of a server contains a secret of its entry, so it is not kept');
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
    async remove(definitionHash) {
      await cache.remove(definitionHash).catch((error: unknown) => {
        logger.debug(`A tool list in ${directory} cannot be removed: ${messageOf(error)}`);
      });
    },
  };
}

/** The server's description, then its tools, in lines that are parsed one at a time. */
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
  // The checksum proves that `encode` wrote the lines, so they have this shape.
  const [about, ...batches] = values as [Omit<ServerMetadata, 'tools'>, ...KnownTool[][]];
  return { ...about, tools: batches.flat() };
}

/** Whether lines of JSON contain one of `secrets`. */
export function holdsSecret(lines: readonly string[], secrets: readonly string[]): boolean {
  const escaped = secrets.map((secret) => JSON.stringify(secret).slice(1, -1));
  return lines.some((line) => escaped.some((secret) => line.includes(secret)));
}
