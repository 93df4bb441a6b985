/** Logins for tests, stored in a separate folder. A script plays the person and follows the address. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { silentLogger } from '../../src/core/base/log.ts';
import { type LoginOptions, type LoginOutcome, login } from '../../src/edges/upstream/oauth/login.ts';
import { createLoginStore } from '../../src/edges/upstream/oauth/login-store.ts';
import type { LoginStore, RemoteDefinition, UpstreamPool } from '../../src/edges/upstream/pool.ts';
import { definitions, startPool } from './upstream.ts';

export interface Logins {
  readonly folder: string;
  /** A new one each time, as each bridge has its own. */
  store(): LoginStore;
  logIn(url: string, options?: Partial<LoginOptions>, more?: Partial<RemoteDefinition>): Promise<LoginOutcome>;
  /** A pool with the server as `tracker`. */
  poolOf(url: string): UpstreamPool;
}

/** Removed when the test ends. */
export function useLogins(): Logins {
  const folder = mkdtempSync(join(tmpdir(), 'logins-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = (): LoginStore => createLoginStore(folder, silentLogger);
  return {
    folder,
    store,
    async logIn(url, options = {}, more = {}) {
      const definition = definitions({ tracker: { ...more, url } }).get('tracker') as RemoteDefinition;
      return login(definition, {
        store: store(),
        env: {},
        timeoutMs: 20_000,
        onAddress: async (address) => void browse(address),
        ...options,
      });
    },
    poolOf: (url) => startPool({ tracker: { url } }, { logins: store() }),
  };
}

/** Follows the address as a browser does. Returns the page where it ends. */
export async function browse(url: URL): Promise<string> {
  return (await fetch(url)).text();
}
