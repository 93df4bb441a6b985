/**
 * What clients can still ask about their tasks when the process that ran them has ended: one file for each task, in the state directory of
 * the principal. Whoever knows the id, which cannot be guessed, may have it. A lease says whether the process that runs a task lives.
 */
import { createHash, randomUUID } from 'node:crypto';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ensureDirectory, readBounded, writeAtomically } from '../state/state-files.ts';
import { claimSession, readHolder } from './session-claim.ts';

/** How long a task is known: as long as a cell may run. */
export const TASK_TTL_MS = 24 * 3_600_000;
const TASKS = 'tasks';
const TASK_SUFFIX = '.task';
const CLAIM_SUFFIX = '.claim';
/** Of one principal; the oldest are removed first. Chosen: of four clients at once, as many as each may have. */
const MAX_TASKS = 64;
const MAX_TASKS_BYTES = 64 * 1024 * 1024;
/** Of one. An answer has up to 6 MB. */
const MAX_TASK_BYTES = 16 * 1024 * 1024;

const TaskSchema = z.object({
  /** The name of the claim of its process. */
  by: z.uuid(),
  createdAt: z.int(),
  changedAt: z.int(),
  /** Whatever the front has written. */
  state: z.unknown(),
});

/** A task as it was noted last. Times are in ms since 1970. */
export interface KeptTask {
  readonly createdAt: number;
  readonly changedAt: number;
  readonly state: unknown;
  /** Whether another process runs it. */
  readonly isElsewhere: boolean;
}

export class KeptTasks {
  readonly #folder: string;
  readonly #by = randomUUID();
  #claim: Promise<unknown> | undefined;
  #writing: Promise<void> = Promise.resolve();

  /** @param stateDir that of the principal. */
  constructor(stateDir: string) {
    this.#folder = join(stateDir, TASKS);
  }

  /** One after the other. Rejects if it cannot be written; then a later process does not know the task, or not as it is now. */
  async write(id: string, task: Omit<KeptTask, 'isElsewhere'>): Promise<void> {
    const writing = this.#writing.then(() => this.#write(id, JSON.stringify({ by: this.#by, ...task })));
    this.#writing = writing.catch(() => undefined);
    await writing;
  }

  async #write(id: string, json: string): Promise<void> {
    if (json.length > MAX_TASK_BYTES) {
      throw new Error('the task is too large to be kept');
    }
    await ensureDirectory(this.#folder);
    this.#claim ??= claimSession(this.#claimOf(this.#by));
    await this.#claim;
    await this.#makeRoom(Buffer.byteLength(json));
    await writeAtomically(this.#pathOf(id), [json], { isDurable: false });
  }

  /** Undefined if there is none, or it is too old or damaged. */
  async read(id: string): Promise<KeptTask | undefined> {
    try {
      const { by, ...task } = TaskSchema.parse(
        JSON.parse((await readBounded(this.#pathOf(id), MAX_TASK_BYTES)).toString('utf8')),
      );
      const isElsewhere = by !== this.#by && (await readHolder(this.#claimOf(by))) !== undefined;
      return Date.now() - task.createdAt > TASK_TTL_MS ? undefined : { ...task, isElsewhere };
    } catch {
      return undefined;
    }
  }

  /** Removes what is too old. Never rejects. */
  async sweep(): Promise<void> {
    await this.#makeRoom(0).catch(() => undefined);
  }

  /** Also the oldest if there is too much. */
  async #makeRoom(bytes: number): Promise<void> {
    const names = await readdir(this.#folder);
    const found = await Promise.all(names.map((name) => this.#statsOf(name)));
    const newestFirst = found.flatMap((one) => one ?? []).toSorted((a, b) => b.mtimeMs - a.mtimeMs);
    let [count, used] = [1, bytes];
    for (const { isClaim, mtimeMs, path, size } of newestFirst) {
      if (!isClaim) {
        count += 1;
        used += size;
      }
      const isOver = !isClaim && (count > MAX_TASKS || used > MAX_TASKS_BYTES);
      // A claim is renewed as long as its process lives.
      if (isOver || Date.now() - mtimeMs > TASK_TTL_MS) {
        await rm(path, { force: true });
      }
    }
  }

  async #statsOf(name: string) {
    const path = join(this.#folder, name);
    const stats = await lstat(path).catch(() => undefined);
    return stats && { path, size: stats.size, mtimeMs: stats.mtimeMs, isClaim: !name.endsWith(TASK_SUFFIX) };
  }

  #claimOf(by: string): string {
    return join(this.#folder, `${by}${CLAIM_SUFFIX}`);
  }

  /** An id may be any text that a client sends. */
  #pathOf(id: string): string {
    return join(this.#folder, `${createHash('sha256').update(id).digest('hex').slice(0, 32)}${TASK_SUFFIX}`);
  }
}
