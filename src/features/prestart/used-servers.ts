/** Remembers which servers a client really used in a project folder. */
import { z } from 'zod';
import { MAX_PRESTARTED } from '../../edges/settings/prestart.ts';
import { RecentRuns, type RecentRunsOptions } from './recent-runs.ts';

const UsedServerSchema = z.object({
  name: z.string(),
  /** `definitionHash` of its entry when it was used. */
  definition: z.string(),
  /** Whether it was used with a stored login. */
  hadLogin: z.boolean(),
  /** Whether it asks the person something before its first call. */
  asksFirst: z.boolean(),
});

/** A server as it was when it was used. */
export type UsedServer = z.infer<typeof UsedServerSchema>;

export interface UsedServersOptions extends RecentRunsOptions {
  /** `definitionHash` of the entry of a server. Called for every call. */
  readonly definitionOf: (name: string) => string | undefined;
  /** Whether there is a login for a server. */
  readonly hasLogin: (name: string) => Promise<boolean>;
}

export class UsedServers {
  readonly #options: UsedServersOptions;
  readonly #runs: RecentRuns<UsedServer>;
  /** The servers used in this run, the last used one first. */
  #used: Omit<UsedServer, 'asksFirst'>[] = [];
  /** Servers that ask the person first, with their definition. */
  readonly #asking = new Map<string, string>();
  #isWritten = true;

  constructor(options: UsedServersOptions) {
    this.#options = options;
    this.#runs = new RecentRuns('servers', UsedServerSchema, MAX_PRESTARTED, options);
  }

  /** The servers of the last runs, the last used one first, each as it was used last. Writes nothing. Never rejects. */
  async recent(): Promise<readonly UsedServer[]> {
    const servers = await this.#runs.items();
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
    await this.#runs.close();
  }

  #writeSoon(before: () => Promise<void> = async () => undefined): void {
    this.#isWritten = true;
    this.#runs.writeSoon(
      async () => {
        await before();
        return this.#used.map((server) => ({ ...server, asksFirst: false }));
      },
      (server, written) => ({ ...server, asksFirst: this.#asksFirst(server, written) }),
    );
  }

  async #noteLogin(name: string): Promise<void> {
    const hadLogin = await this.#options.hasLogin(name);
    this.#used = this.#used.map((used) => (used.name === name ? { ...used, hadLogin } : used));
  }

  #asksFirst({ name, definition }: Omit<UsedServer, 'asksFirst'>, before: readonly UsedServer[]): boolean {
    return (
      this.#asking.get(name) === definition ||
      before.some((known) => known.asksFirst && known.name === name && known.definition === definition)
    );
  }
}
