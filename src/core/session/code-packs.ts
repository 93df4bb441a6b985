/**
 * Keeps the code packs of sandboxes: the standard library, compiled once for each image, so that the next start need not
 * compile it (39 ms instead of 224 ms, measured). A pack is data from a sandbox: the host never parses it and gives it only to
 * sandboxes of the same engine and image. A store that cannot write keeps packs in memory.
 *
 * A file begins with the SHA-256 of the pack, because Python runs what is in it: with a damaged one, no sandbox would start.
 */
import { createHash } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { ensureDirectory, readBounded, TEMPORARY_SUFFIX, writeAtomically } from '../state/state-files.ts';

export interface CodePackStore {
  load(key: string): Promise<Buffer | undefined>;
  /** Keeps a pack; never rejects. */
  save(key: string, pack: Buffer): Promise<void>;
}

/** Real packs have about 3 MB. */
const MAX_PACK_BYTES = 32 * 1024 * 1024;
const DIGEST_BYTES = 32;
/** Long enough for the standby that is started after a session, so that both use the same one. Chosen. */
const HOLD_MS = 1_500;
/** Writing one takes milliseconds. Chosen. */
const MAX_TEMPORARY_AGE_MS = 60 * 60 * 1000;
/** As for other files of the cache. */
const MAX_PACK_AGE_MS = 90 * 24 * 60 * 60 * 1000;

/** A store in `folder`, which is created when first needed. */
export function createCodePackStore(folder: string, logger: Logger): CodePackStore {
  const known = new Map<string, Buffer>();
  const timers = new Map<string, NodeJS.Timeout>();
  const fileOf = (key: string) => join(folder, `${createHash('sha256').update(key).digest('hex')}.pack`);

  /** Keeps a pack that is on disk in memory for a moment; an idle bridge needs no 3 MB for it. */
  function hold(key: string, pack: Buffer): void {
    known.set(key, pack);
    clearTimeout(timers.get(key));
    const release = (): void => {
      known.delete(key);
      timers.delete(key);
    };
    timers.set(key, setTimeout(release, HOLD_MS).unref());
  }

  return {
    async load(key) {
      const held = known.get(key);
      if (held !== undefined) {
        if (timers.has(key)) {
          hold(key, held);
        }
        return held;
      }
      try {
        const content = await readBounded(fileOf(key), DIGEST_BYTES + MAX_PACK_BYTES);
        const pack = content.subarray(DIGEST_BYTES);
        if (!digestOf(pack).equals(content.subarray(0, DIGEST_BYTES))) {
          return undefined;
        }
        hold(key, pack);
        return pack;
      } catch {
        return undefined; // Missing or unreadable: the sandbox makes a new one.
      }
    },
    async save(key, pack) {
      known.set(key, pack);
      try {
        await ensureDirectory(folder);
        await writeAtomically(fileOf(key), [digestOf(pack), pack], { isDurable: false });
        hold(key, pack);
        await removeOldPacks(folder);
      } catch (error) {
        logger.debug(`the code pack is kept in memory only: ${messageOf(error)}`);
      }
    },
  };
}

/**
 * Removes packs of images that are gone, of users who do not come back, and those that a bridge had not finished when it ended. One that
 * is still needed is made again. Never rejects.
 */
export async function removeOldPacks(folder: string): Promise<void> {
  const names = await readdir(folder).catch((): string[] => []);
  for (const name of names) {
    const file = join(folder, name);
    const maxAgeMs = name.endsWith(TEMPORARY_SUFFIX) ? MAX_TEMPORARY_AGE_MS : MAX_PACK_AGE_MS;
    const mtimeMs = await stat(file).then(
      (found) => found.mtimeMs,
      () => undefined,
    );
    if (mtimeMs !== undefined && Date.now() - mtimeMs > maxAgeMs) {
      await rm(file, { force: true }).catch(() => undefined);
    }
  }
}

function digestOf(pack: Buffer): Buffer {
  return createHash('sha256').update(pack).digest();
}

/** Collects the pieces of a pack that a sandbox sends. */
export class PackCollector {
  readonly #store: CodePackStore;
  readonly #key: string;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(store: CodePackStore, key: string) {
    this.#store = store;
    this.#key = key;
  }

  /** Takes a piece in base64. Returns false if the pack has become too large. */
  add(data: string): boolean {
    const piece = Buffer.from(data, 'base64');
    this.#bytes += piece.length;
    if (this.#bytes > MAX_PACK_BYTES) {
      this.#pieces = [];
      return false;
    }
    this.#pieces.push(piece);
    return true;
  }

  /** Stores the pack, if the sandbox sent one. */
  save(): void {
    if (this.#pieces.length > 0) {
      void this.#store.save(this.#key, Buffer.concat(this.#pieces));
      this.#pieces = [];
    }
  }
}
