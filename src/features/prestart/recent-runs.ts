/**
 * Remembers what the last runs of the bridge used, for one client in one project folder: one small file for each, in the state
 * directory. A damaged file counts as missing, and a failure here never fails a call.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { messageOf } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { type SessionUser, userKey } from '../../core/session/checkpoint-store.ts';
import { withFileLock } from '../../core/state/file-lock.ts';
import { LineCache } from '../../core/state/line-cache.ts';
import { ensureDirectory } from '../../core/state/state-files.ts';

/** Increase it with every change of the schema. */
const FORMAT = 2;
/** What none of the last runs of the bridge used is not started ahead. Chosen. */
const MAX_RUNS = 5;
const MAX_FILE_BYTES = 64 * 1024;
/** A bridge that was killed may have left the lock, and the end of this one must not wait for that. Chosen. */
const CLOSE_LIMIT_MS = 1_500;

export interface RecentRunsOptions {
  readonly stateDir: string;
  /** Who used it. Called once the client has said its name. */
  readonly user: () => SessionUser;
  /** Identifies this run of the bridge. */
  readonly run: string;
  /** How long `close` waits for what is being written; 1.5 s by default. */
  readonly closeLimitMs?: number;
  /** Runs that are remembered; 5 by default. */
  readonly maxRuns?: number | undefined;
  readonly maxFileBytes?: number | undefined;
  readonly logger: Logger;
}

interface Run<Item> {
  readonly run: string;
  readonly items: readonly Item[];
}

export class RecentRuns<Item> {
  readonly #options: RecentRunsOptions;
  readonly #what: string;
  readonly #schema: z.ZodType<readonly Run<Item>[]>;
  readonly #directory: string;
  readonly #cache: LineCache;
  #writing: Promise<void> = Promise.resolve();

  /** `what` names the items and is part of the name of the file. A file with more than `maxItems` in a run counts as damaged. */
  constructor(what: string, item: z.ZodType<Item>, maxItems: number, options: RecentRunsOptions) {
    this.#options = options;
    this.#what = what;
    this.#schema = z.array(z.object({ run: z.string(), items: z.array(item).max(maxItems) })).max(MAX_RUNS);
    this.#directory = join(options.stateDir, '.cache', 'prestart');
    const { maxFileBytes = MAX_FILE_BYTES } = options;
    this.#cache = new LineCache({ directory: this.#directory, format: FORMAT, maxFileBytes });
  }

  /** What the last runs used, those of the last run first. Writes nothing. Never rejects. */
  async items(): Promise<readonly Item[]> {
    return (await this.#load()).flatMap(({ items }) => items);
  }

  /**
   * Writes soon what this run has used, as `used` says by then. `revise` gets each item, also those of earlier runs, and what was
   * written before.
   */
  writeSoon(
    used: () => Promise<readonly Item[]>,
    revise: (item: Item, before: readonly Item[]) => Item = (item) => item,
  ): void {
    this.#writing = this.#writing
      .then(used)
      .then((items) => this.#write(items, revise))
      .catch((error: unknown) => {
        this.#options.logger.debug(`Cannot remember which ${this.#what} are used: ${messageOf(error)}`);
      });
  }

  /** Resolves when everything is written, or it takes too long. Never rejects. */
  async close(): Promise<void> {
    await Promise.race([this.#writing, sleep(this.#options.closeLimitMs ?? CLOSE_LIMIT_MS, undefined, { ref: false })]);
  }

  /** Under a lock, because several bridges may serve one client in one folder. */
  async #write(mine: readonly Item[], revise: (item: Item, before: readonly Item[]) => Item): Promise<void> {
    const { run } = this.#options;
    await ensureDirectory(this.#directory);
    await withFileLock(join(this.#directory, 'lock'), async () => {
      const runs = await this.#load();
      const before = runs.flatMap(({ items }) => items);
      const others = runs.filter((other) => other.run !== run);
      const next = (mine.length === 0 ? others : [{ run, items: mine }, ...others])
        .slice(0, this.#options.maxRuns ?? MAX_RUNS)
        .map((one) => ({ run: one.run, items: one.items.map((item) => revise(item, before)) }));
      await this.#cache.save(this.#id(), [`${JSON.stringify(next)}\n`]);
    });
  }

  async #load(): Promise<readonly Run<Item>[]> {
    try {
      const [line] = (await this.#cache.load(this.#id())) ?? [];
      return line === undefined ? [] : this.#schema.parse(JSON.parse(line.toString('utf8')));
    } catch (error) {
      this.#options.logger.debug(`What is known about used ${this.#what} cannot be read: ${messageOf(error)}`);
      return [];
    }
  }

  #id(): string {
    return `${this.#what} ${userKey(this.#options.user())}`;
  }
}
