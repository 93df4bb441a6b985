/** Starts the servers that are probably needed before the first cell, and remembers which ones are used. */
import { CancelSource } from '../../core/base/cancel.ts';
import { toBridgeError } from '../../core/base/errors.ts';
import { limitConcurrency } from '../../core/base/limit-concurrency.ts';
import type { Watcher } from '../../core/calls/events.ts';
import type { CatalogServer } from '../../core/catalog/known.ts';
import { resolveName } from '../../core/catalog/names.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import type { ServerDefinition } from '../../edges/servers/discover.ts';
import { MAX_PRESTARTED, type PrestartMode } from '../../edges/settings/prestart.ts';
import { type Finding, renderLine } from '../../edges/terminal/finding.ts';
import { likelySecrets } from '../../edges/upstream/secrets.ts';
import { findUnusableName } from './names.ts';
import { loginOf, whyNotAhead } from './reasons.ts';
import { createUseWatch } from './use-watch.ts';
import { UsedServers, type UsedServersOptions } from './used-servers.ts';

/** Few, because the first cell of the client may need the machine at the same time. Chosen. */
const STARTS_AT_ONCE = 2;

type Servers = Pick<ConfiguredServers, 'pool' | 'known' | 'definitions' | 'failures' | 'logins' | 'refresh'>;

export interface ServersAheadOptions
  extends Pick<UsedServersOptions, 'stateDir' | 'user' | 'run' | 'logger' | 'closeLimitMs'> {
  readonly mode: Exclude<PrestartMode, 'off'>;
  readonly servers: Servers;
}

export interface ServersAhead {
  /** Notes which servers are used. */
  readonly watch: Watcher;
  /** Starts the servers, a few at a time. Resolves when that is done. Never rejects because of a server. */
  start(): Promise<void>;
  /** Starts no more. */
  stop(): void;
  /** Resolves when it is written which servers were used. */
  close(): Promise<void>;
}

export function createServersAhead(options: ServersAheadOptions): ServersAhead {
  return new Ahead(options);
}

interface Candidate {
  readonly server: CatalogServer;
  readonly definition: ServerDefinition;
}

class Ahead implements ServersAhead {
  readonly watch: Watcher;
  readonly #options: ServersAheadOptions;
  readonly #used: UsedServers;
  readonly #closing = new CancelSource();

  constructor(options: ServersAheadOptions) {
    const { definitions, logins } = options.servers;
    this.#options = options;
    this.#used = new UsedServers({
      ...options,
      definitionOf: (name) => definitions().get(name)?.definitionHash,
      async hasLogin(name) {
        const definition = definitions().get(name);
        return definition !== undefined && ((await loginOf(definition, logins)) ?? 'none') !== 'none';
      },
    });
    this.watch = createUseWatch((name) => this.#used.note(name));
  }

  async start(): Promise<void> {
    const candidates = await this.#choose();
    const inTurn = limitConcurrency(STARTS_AT_ONCE);
    await Promise.all(candidates.map((candidate) => inTurn(() => this.#start(candidate))));
  }

  stop(): void {
    this.#closing.abort();
  }

  close(): Promise<void> {
    return this.#used.close();
  }

  async #choose(): Promise<readonly Candidate[]> {
    const { mode, servers, logger } = this.#options;
    const used = await this.#used.recent();
    const wanted = mode === 'recent' ? used.map(({ name }) => name) : mode;
    // Without any, the files of the servers need not be read.
    if (wanted.length === 0 || this.#closing.aborted) {
      return [];
    }
    servers.refresh();
    await servers.known.ready();
    const chosen: Candidate[] = [];
    for (const name of wanted) {
      const all = servers.known.servers();
      // A name that a person wrote may be spelled otherwise; one that was remembered is exact.
      const server = mode === 'recent' ? all.find((one) => one.name === name) : resolveName(all, name);
      const definition = server && servers.definitions().get(server.name);
      if (server === undefined || definition === undefined) {
        this.#report(mode === 'recent' ? undefined : await findUnusableName(name, servers.known));
        continue;
      }
      const last = used.find((one) => one.name === server.name);
      const reason = await whyNotAhead(server, definition, { last, servers });
      if (reason === undefined) {
        chosen.push({ server, definition });
      } else {
        // A person who names a server wonders why it is not started.
        logger[mode === 'recent' ? 'debug' : 'info'](`Server '${server.name}' is not started ahead: ${reason}`);
      }
    }
    return chosen.slice(0, MAX_PRESTARTED);
  }

  #report(finding: Finding | undefined): void {
    if (finding !== undefined) {
      this.#options.logger.warning(renderLine(finding));
    }
  }

  async #start({ server, definition }: Candidate): Promise<void> {
    const { servers, logger } = this.#options;
    const { name } = server;
    // Its entry may have changed or gone while it waited for its turn.
    if (this.#closing.aborted || servers.definitions().get(name) !== definition) {
      return;
    }
    try {
      const outcome = await servers.pool.startAhead(name);
      if (outcome === 'asks') {
        this.#used.noteQuestion(name, definition.definitionHash);
        logger.info(`Server '${name}' is not started ahead: it asks you something before its first call`);
      }
      // If it has ended meanwhile, asking for its tools would start it again.
      if (outcome === 'ready' && servers.pool.serverInfo(name) !== undefined) {
        await servers.known.refresh(server, this.#closing);
      }
    } catch (thrown) {
      await this.#noteFailure(definition, thrown);
    }
  }

  /** At a low level, because no one has asked for the server yet: its first call reports what is wrong. */
  async #noteFailure(definition: ServerDefinition, thrown: unknown): Promise<void> {
    if (this.#closing.aborted) {
      return;
    }
    const error = toBridgeError(thrown);
    const [what = ''] = error.message.replace(/; last lines of its stderr:\n.*/s, '').split('\n');
    this.#options.logger.info(`Not started ahead, so the first call tries again: ${what}`);
    if (error.code === 'LOGIN_REQUIRED') {
      await this.#options.servers.failures.note(definition, error, likelySecrets(definition));
    }
  }
}
