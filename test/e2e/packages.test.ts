/** Packages that arrive in a running session, from a real index on this machine, with the built command and a real client. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverContainerEngines } from '../support/covered-engines.ts';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { makeWheel } from '../support/wheels.ts';

const engines = await coverContainerEngines();

for (const engine of engines) {
  describe(`packages on ${engine.label}`, () => {
    const store = `bridge-test-packages-${randomUUID().slice(0, 8)}`;
    let index: PackageIndex;
    let bridge: BridgeClient;
    let sessions = 0;
    const start = (env: Record<string, string> = {}) =>
      startBridge({
        engine,
        env: {
          MCP_BRIDGE_PACKAGES: 'any',
          MCP_BRIDGE_PACKAGES_STORE: store,
          MCP_BRIDGE_PACKAGES_NETWORK: 'host',
          MCP_BRIDGE_TIMEOUT: '120',
          PIP_INDEX_URL: index.url,
          ...env,
        },
      });
    const run = async (code: string, session?: string) => {
      const { structured, text } = await bridge.runPython(code, session === undefined ? {} : { session });
      return { text, result: structured['result'] };
    };
    const newSession = () => `s${(sessions += 1)}`;

    beforeAll(async () => {
      index = await startPackageIndex();
      index.add(
        makeWheel({ name: 'tiny-pkg' }),
        makeWheel({ name: 'tiny-pkg', version: '2.0' }),
        makeWheel({ name: 'needs-tiny', requires: ['tiny-pkg<2'] }),
      );
      bridge = await start();
    });
    afterAll(async () => {
      await bridge.close();
      await index.close();
      await engine.run('volume', 'rm', '--force', store);
    });

    it('fetches what a cell imports, and the same cell goes on with its variables', async () => {
      const session = newSession();
      await run('kept = 41', session);
      expect((await run('import tiny_pkg\ntiny_pkg.name, tiny_pkg.version, kept + 1', session)).text).toBe(
        "('tiny-pkg', '2.0', 42)",
      );
    });
  });
}
