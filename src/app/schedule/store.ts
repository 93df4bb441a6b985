/**
 * The schedules of the state directory, each in a folder with its name:
 *
 *     schedules/NAME/entry.json          what runs, when, and what it may call
 *     schedules/NAME/claim               held by the process that runs it
 *     schedules/NAME/open/ID             empty; there as long as the run is not over, so that a look each minute reads little
 *     schedules/NAME/untold/ID           empty; there until an answer to a client has said how the run ended
 *     schedules/NAME/runs/ID/run.json    a run and how it stands
 *     schedules/NAME/runs/ID/calls.jsonl its recording, with which it goes on
 *     schedules/NAME/runs/ID/sent.jsonl  calls that were about to be sent
 *
 * The id of a run is the time at which it was due, in UTC, or the time at which it was started by hand.
 */
import { readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { ensureDirectory, OWNER_ONLY_FILE, readBounded, writeAtomically } from '../../core/state/state-files.ts';
import { RightsSchema } from './rights.ts';

const SCHEDULES = 'schedules';
const ID_TIME = /T(\d\d)-(\d\d)-(\d\d)Z.*$/;
const NAME = /^[a-z0-9][a-z0-9_-]{0,39}$/;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Older ones are removed. Chosen. */
const RUNS_KEPT = 50;

const LimitsSchema = z.object({
  calls: z.int().positive().optional(),
  seconds: z.int().positive().optional(),
  tokens: z.int().positive().optional(),
});
export type Limits = z.infer<typeof LimitsSchema>;

const EntrySchema = z.object({
  version: z.literal(1),
  when: z.string(),
  /** IANA name. */
  timezone: z.string(),
  source: z.union([
    z.object({ file: z.string() }),
    z.object({ code: z.string() }),
    z.object({ tool: z.string(), arguments: z.array(z.string()) }),
  ]),
  servers: z.array(z.string()),
  missed: z.enum(['run', 'skip']),
  overlap: z.enum(['skip', 'wait']),
  isPaused: z.boolean(),
  /** What was due by then does not count. ISO 8601. */
  from: z.string(),
  /** Of a run; its seconds are the deadline of the cell. */
  perRun: LimitsSchema,
  perDay: LimitsSchema,
  /** Where a run puts what it prints. */
  reportFile: z.string().optional(),
  reportCall: z.object({ server: z.string(), tool: z.string(), arguments: z.string() }).optional(),
  rights: RightsSchema.optional(),
});
export type Entry = z.infer<typeof EntrySchema>;

export const RUN_STATUSES = ['running', 'waiting', 'succeeded', 'failed', 'refused', 'skipped'] as const;

const RunSchema = z.object({
  version: z.literal(1),
  /** When it was due, or was started by hand. ISO 8601. */
  due: z.string(),
  isByHand: z.boolean(),
  status: z.enum(RUN_STATUSES),
  startedAt: z.string(),
  endedAt: z.string().optional(),
  /** How often it was started. */
  attempts: z.int(),
  /** How many earlier times had passed without a run. */
  missed: z.int(),
  /** Why it is not successful, in one sentence. */
  reason: z.string().optional(),
  exitCode: z.int().optional(),
  calls: z.int(),
  seconds: z.number(),
  tokens: z.int(),
  /** Calls that were sent, of which it is not known whether they were made. */
  unknown: z.array(z.string()),
  /** What it printed and returned, cut to a limit. */
  output: z.string(),
  /** Whether its report has left; `unknown` if the attempt was interrupted. */
  report: z.enum(['pending', 'sent', 'unknown', 'failed']).optional(),
  /** Why it was not sent, in one sentence. */
  reportProblem: z.string().optional(),
});
export type Run = z.infer<typeof RunSchema>;

export interface StoredRun {
  readonly id: string;
  readonly run: Run;
}

const OPEN = 'open';
const UNTOLD = 'untold';
const BY_HAND = '-by-hand';

/** `2026-11-30T06-00-00Z`. */
export function runIdOf(due: Date, isByHand = false): string {
  return `${due.toISOString().slice(0, 19).replaceAll(':', '-')}Z${isByHand ? BY_HAND : ''}`;
}

/** Undefined for a run that was started by hand. */
export function dueTimeOf(id: string): Date | undefined {
  return id.endsWith(BY_HAND) ? undefined : new Date(id.replace(ID_TIME, 'T$1:$2:$3Z'));
}

export class ScheduleStore {
  readonly #folder: string;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, SCHEDULES);
  }

  /** In the order of the alphabet. A folder with another name is none. */
  async names(): Promise<readonly string[]> {
    const names = await namesIn(this.#folder);
    return names.filter((name) => NAME.test(name));
  }

  /** Rejects with `USAGE_INVALID` if there is none, and with `CONFIG_INVALID` if its file cannot be read. */
  async read(name: string): Promise<Entry> {
    const found = await this.#readFile(join(this.folderOf(name), 'entry.json'), EntrySchema);
    if (found === undefined) {
      const names = await this.names();
      throw new BridgeError('USAGE_INVALID', `there is no schedule '${name}'.${await didYouMean(name, names)}`, {
        hint: `To list them, run: ${COMMAND} schedule list`,
      });
    }
    return found;
  }

  async has(name: string): Promise<boolean> {
    return (await this.names()).includes(name);
  }

  async write(name: string, entry: Entry): Promise<void> {
    await this.#writeFile(this.folderOf(name), 'entry.json', entry);
  }

  async remove(name: string): Promise<void> {
    await rm(this.folderOf(name), { recursive: true, force: true });
  }

  /** Absolute path. Throws `USAGE_INVALID` for what is no name. */
  folderOf(name: string): string {
    if (!NAME.test(name)) {
      throw new BridgeError('USAGE_INVALID', `'${name}' is no name of a schedule`, {
        hint: 'Use at most 40 small letters, digits, - and _, beginning with a letter or a digit.',
      });
    }
    return join(this.#folder, name);
  }

  runFolder(name: string, id: string): string {
    return join(this.folderOf(name), 'runs', id);
  }

  /** The oldest first. */
  async runIds(name: string): Promise<readonly string[]> {
    return namesIn(join(this.folderOf(name), 'runs'));
  }

  /** Those that are not over, the oldest first. */
  async openRuns(name: string): Promise<readonly StoredRun[]> {
    const runs = (await this.openIds(name)).map(async (id) => ({ id, run: await this.readRun(name, id) }));
    return (await Promise.all(runs)).flatMap(({ id, run }) => (run === undefined ? [] : [{ id, run }]));
  }

  async openIds(name: string): Promise<readonly string[]> {
    return namesIn(join(this.folderOf(name), OPEN));
  }

  /** What a process has left that ended while it added a run, which is due again. Only for who has the claim. */
  async removeHalfMade(name: string): Promise<void> {
    for (const id of await this.openIds(name)) {
      if ((await this.readRun(name, id)) === undefined) {
        await rm(this.runFolder(name, id), { recursive: true, force: true });
        await rm(this.#marker(name, id), { force: true });
      }
    }
  }

  /** The oldest first. One whose file is damaged counts as failed. */
  async runs(name: string): Promise<readonly StoredRun[]> {
    const runs = (await this.runIds(name)).map(async (id) => ({ id, run: await this.readRun(name, id) }));
    return (await Promise.all(runs)).flatMap(({ id, run }) => (run === undefined ? [] : [{ id, run }]));
  }

  /** Undefined if there is none. */
  async readRun(name: string, id: string): Promise<Run | undefined> {
    const path = join(this.runFolder(name, id), 'run.json');
    return this.#readFile(path, RunSchema).catch((error: unknown) => damagedRun(id, messageOf(error)));
  }

  /** False if there is a run with this id. */
  async addRun(name: string, id: string, run: Run): Promise<boolean> {
    if ((await this.readRun(name, id)) !== undefined) {
      return false;
    }
    // First: it leads to what this process leaves if it ends now.
    await this.#mark(name, id);
    await ensureDirectory(this.runFolder(name, id));
    await this.writeRun(name, id, run);
    return true;
  }

  async writeRun(name: string, id: string, run: Run): Promise<void> {
    if (isOpen(run)) {
      await this.#mark(name, id);
    }
    await this.#writeFile(this.runFolder(name, id), 'run.json', run);
    if (!isOpen(run)) {
      await rm(this.#marker(name, id), { force: true });
    }
  }

  /** For runs that no person has started: the next answer to a client says how it ended. */
  async addNews(name: string, id: string): Promise<void> {
    const folder = join(this.folderOf(name), UNTOLD);
    await ensureDirectory(folder);
    await writeFile(join(folder, id), '', { mode: OWNER_ONLY_FILE });
  }

  /** The runs of which no answer has told yet, which this does. Each is returned once, however many processes ask. */
  async takeNews(name: string): Promise<readonly StoredRun[]> {
    const folder = join(this.folderOf(name), UNTOLD);
    const ids = await namesIn(folder);
    const taken = await Promise.all(
      ids.map((id) =>
        rm(join(folder, id)).then(
          async () => ({ id, run: await this.readRun(name, id) }),
          () => undefined,
        ),
      ),
    );
    return taken.flatMap((one) => (one?.run === undefined ? [] : [{ id: one.id, run: one.run }]));
  }

  /**
   * Removes runs that are over, so that 50 are left: first the oldest, then those that are due later than now, from before the clock was
   * set back. The last one that is due by now is never removed, because it says what was due before.
   */
  async prune(name: string, now: Date): Promise<void> {
    const ids = await this.runIds(name);
    if (ids.length <= RUNS_KEPT) {
      return;
    }
    const open = await this.openIds(name);
    const isLater = (id: string): boolean => (dueTimeOf(id)?.getTime() ?? 0) > now.getTime();
    const past = ids.filter((id) => !isLater(id));
    const over = [...past.slice(0, -1), ...ids.filter(isLater).toReversed()].filter((id) => !open.includes(id));
    for (const id of over.slice(0, ids.length - RUNS_KEPT)) {
      await rm(join(this.folderOf(name), UNTOLD, id), { force: true });
      await rm(this.runFolder(name, id), { recursive: true, force: true });
    }
  }

  async #mark(name: string, id: string): Promise<void> {
    const marker = this.#marker(name, id);
    await ensureDirectory(dirname(marker));
    await writeFile(marker, '', { mode: OWNER_ONLY_FILE });
  }

  #marker(name: string, id: string): string {
    return join(this.folderOf(name), OPEN, id);
  }

  async #readFile<Value>(path: string, schema: z.ZodType<Value>): Promise<Value | undefined> {
    const data = await readBounded(path, MAX_FILE_BYTES).catch((error: unknown) => {
      if (isMissing(error)) {
        return undefined;
      }
      throw cannotRead(path, messageOf(error));
    });
    if (data === undefined) {
      return undefined;
    }
    const read = readUntrusted(data, JSON_BOUNDS.request);
    const parsed = read.ok ? schema.safeParse(read.value) : undefined;
    if (parsed?.success !== true) {
      throw cannotRead(path, read.ok ? 'it was not written by this version' : `it is ${read.reason}`);
    }
    return parsed.data;
  }

  async #writeFile(folder: string, file: string, value: unknown): Promise<void> {
    await ensureDirectory(folder);
    await writeAtomically(join(folder, file), [`${JSON.stringify(value, undefined, 2)}\n`]);
  }
}

/** Sorted; none if there is no such folder. Rejects if it cannot be read. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted((a, b) => (a < b ? -1 : 1));
  } catch (error) {
    if (isMissing(error)) {
      return [];
    }
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

function isOpen({ report, status }: Run): boolean {
  return status === 'running' || status === 'waiting' || report === 'pending';
}

function cannotRead(path: string, reason: string): BridgeError {
  return new BridgeError('CONFIG_INVALID', `cannot read ${path}: ${reason}`, {
    hint: 'Restore the file, or remove its folder.',
  });
}

function damagedRun(id: string, reason: string): Run {
  const due = id.replace(ID_TIME, 'T$1:$2:$3Z');
  const none = { attempts: 1, missed: 0, calls: 0, seconds: 0, tokens: 0, unknown: [], output: '' };
  return { version: 1, due, isByHand: false, status: 'failed', startedAt: due, reason, ...none };
}
