/**
 * Remembers which servers a client really used in a project folder: one small file for each, in the state directory. A damaged
 * file counts as missing, and a failure here never fails a call.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { type SessionUser, userKey } from '../session/checkpoint-store.ts';
import { MAX_PRESTARTED } from '../settings/prestart.ts';
import { withFileLock } from '../state/file-lock.ts';
import { LineCache } from '../state/line-cache.ts';
import { ensureDirectory } from '../state/state-files.ts';

/** Increase it with every change of the schema. */
const FORMAT = 1;
/** Servers that none of the last runs of the bridge used are not started ahead. Chosen. */
const MAX_RUNS = 5;
const MAX_FILE_BYTES = 64 * 1024;
/** A bridge that was killed may have left the lock, and the end of this one must not wait for that. Chosen. */
const CLOSE_LIMIT_MS = 1_500;

const UsedServerSchema = z.object({
  name: z.string(),
  /** `definitionHash` of its entry when it was used. */
  definition: z.string(),
  /** Whether it was used with a stored login. */
  hadLogin: z.boolean(),
  /** Whether it asks the person something before its first call. */
  asksFirst: z.boolean(),
});
const RunsSchema = z
  .array(z.object({ run: z.string(), servers: z.array(UsedServerSchema).max(MAX_PRESTARTED) }))
  .max(MAX_RUNS);

/** A server as it was when it was used. */
export type UsedServer = z.infer<typeof UsedServerSchema>;
/** What one run of the bridge used, the last used server first. */
type Run = z.infer<typeof RunsSchema>[number];

export interface UsedServersOptions {
  readonly stateDir: string;
  /** Whose servers they are. Called once the client has said its name. */
  readonly user: () => SessionUser;
  /** Identifies this run of the bridge. */
  readonly run: string;
  /** `definitionHash` of the entry of a server. Called for every call. */
  readonly definitionOf: (name: string) => string | undefined;
  /** Whether there is a login for a server. */
  readonly hasLogin: (name: string) => Promise<boolean>;
  /** How long `close` waits for what is being written; 1.5 s by default. */
  readonly closeLimitMs?: number;
  readonly logger: Logger;
}

export class UsedServers {
  readonly #options: UsedServersOptions;
  readonly #directory: string;
  readonly #cache: LineCache;
  /** The servers used in this run, the last used one first. */
  #used: Omit<UsedServer, 'asksFirst'>[] = [];
  /** Servers that ask the person first, with their definition. */
  readonly #asking = new Map<string, string>();
  #isWritten = true;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: UsedServersOptions) {
    this.#options = options;
    this.#directory = join(options.stateDir, '.cache', 'prestart');
    this.#cache = new LineCache({ directory: this.#directory, format: FORMAT, maxFileBytes: MAX_FILE_BYTES });
  }

  /** The servers of the last runs, the last used one first, each as it was used last. Writes nothing. Never rejects. */
  async recent(): Promise<readonly UsedServer[]> {
    const servers = (await this.#load()).flatMap((run) => run.servers);
    const names = [...new Set(servers.map(({ name }) => name))];
    return names.flatMap((name) => servers.find((server) => server.name === name) ?? []);
  }

  /** Notes a successful call. Called for every call, so it writes only when a server is used for the first time. */
  note(name: string): void {
    const definition = this.#options.definitionOf(name);
    const [last] = this.#used;
    if (definition === undefined || (last?.name === name && last.definition === definition)) {
      return;
    }
    const known = this.#used.find((used) => used.name === name && used.definition === definition);
    const others = this.#used.filter((used) => used.name !== name);
    this.#used = [known ?? { name, definition, hadLogin: false }, ...others].slice(0, MAX_PRESTARTED);
    this.#isWritten = false;
    if (known === undefined) {
      this.#writeSoon(() => this.#noteLogin(name));
    }
  }

  /** Notes that a server with this definition asks the person before its first call: it is not started ahead any more. */
  noteQuestion(name: string, definition: string): void {
    this.#asking.set(name, definition);
    this.#writeSoon();
  }

  /** Resolves when everything is written, or it takes too long. Never rejects. */
  async close(): Promise<void> {
    if (!this.#isWritten) {
      this.#writeSoon();
    }
    await Promise.race([this.#writing, sleep(this.#options.closeLimitMs ?? CLOSE_LIMIT_MS, undefined, { ref: false })]);
  }

  #writeSoon(before: () => Promise<void> = async () => undefined): void {
    this.#isWritten = true;
    this.#writing = this.#writing
      .then(before)
      .then(() => this.#write())
      .catch((error: unknown) => {
        this.#options.logger.debug(`Cannot remember which servers are used: ${messageOf(error)}`);
      });
  }

  async #noteLogin(name: string): Promise<void> {
    const hadLogin = await this.#options.hasLogin(name);
    this.#used = this.#used.map((used) => (used.name === name ? { ...used, hadLogin } : used));
  }

  /** Under a lock, because several bridges may serve one client in one folder. */
  async #write(): Promise<void> {
    await ensureDirectory(this.#directory);
    await withFileLock(join(this.#directory, 'lock'), async () => {
      const runs = await this.#load();
      const before = runs.flatMap(({ servers }) => servers);
      const others = runs.filter(({ run }) => run !== this.#options.run);
      const mine = { run: this.#options.run, servers: this.#used };
      const next = (this.#used.length === 0 ? others : [mine, ...others])
        .slice(0, MAX_RUNS)
        .map(({ run, servers }) => ({
          run,
          servers: servers.map((server) => ({ ...server, asksFirst: this.#asksFirst(server, before) })),
        }));
      await this.#cache.save(userKey(this.#options.user()), [`${JSON.stringify(next)}\n`]);
    });
  }

  #asksFirst({ name, definition }: Omit<UsedServer, 'asksFirst'>, before: readonly UsedServer[]): boolean {
    return (
      this.#asking.get(name) === definition ||
      before.some((known) => known.asksFirst && known.name === name && known.definition === definition)
    );
  }

  async #load(): Promise<readonly Run[]> {
    try {
      const [line] = (await this.#cache.load(userKey(this.#options.user()))) ?? [];
      return line === undefined ? [] : RunsSchema.parse(JSON.parse(line.toString('utf8')));
    } catch (error) {
      this.#options.logger.debug(`What is known about used servers cannot be read: ${messageOf(error)}`);
      return [];
    }
  }
}
