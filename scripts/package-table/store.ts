/** A package store of its own on one engine, in which several sessions share what was fetched. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestEngine } from '../../test/support/engines.ts';

const NEED_NETWORK_OF_HOST: ReadonlySet<string> = new Set(['docker', 'podman-rootless']);

export interface PackageStore {
  /** For a bridge that installs common packages in it. */
  readonly env: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

export function packageStore(engine: TestEngine): PackageStore {
  const store = `bridge-test-real-${randomUUID().slice(0, 8)}`;
  return {
    env: {
      MCP_BRIDGE_PACKAGES: 'common',
      MCP_BRIDGE_PACKAGES_STORE: store,
      MCP_BRIDGE_MAX_TIMEOUT: '900',
      // The docker daemon of `.ci/setup-engines.sh` has no network for containers, and an ordinary user may have no /dev/net/tun.
      ...(NEED_NETWORK_OF_HOST.has(engine.label) ? { MCP_BRIDGE_PACKAGES_NETWORK: 'host' } : {}),
    },
    async remove() {
      if (engine.isContainer) {
        await engine.run('volume', 'rm', '--force', store);
      } else {
        rmSync(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
      }
    },
  };
}
