// Tags: full, fresh
/** Packages that are there before any code needs them: the built command, a real client, and an index that counts requests. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createDeferred } from '../../src/core/base/deferred.ts';
import { PID_LABEL } from '../../src/edges/engines/container/labels.ts';
import { type BridgeClient, CLI, startBridge } from '../support/bridge-client.ts';
import { coverEngines, coverPackageEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { PATIENCE } from '../support/patience.ts';
import { pause } from '../support/pause.ts';
import { makeWheel } from '../support/wheels.ts';

const FAILED = 'the packages of MCP_BRIDGE_PREINSTALL';
const READY = 'The packages of MCP_BRIDGE_PREINSTALL are ready.';
const covered = await coverEngines();
// The embedded engine needs no pip.
const embedded = covered.filter(({ name }) => name === 'embedded');
// Stores in a volume and in a folder differ, containers do not.
const stores = (await coverPackageEngines(covered)).filter(({ name }, at) => at === 0 || name === 'bubblewrap');
const engines = [...stores, ...embedded];

/** A bridge whose log is searched. */
async function startLogged(engine: TestEngine, env: Record<string, string>) {
  let log = '';
  const waiting = new Map<string, () => void>();
  const bridge = await startBridge({
    engine,
    env: { MCP_BRIDGE_LOG_LEVEL: 'INFO', ...env },
    onLog(text) {
      log += text;
      waiting.forEach((resolve, part) => log.includes(part) && resolve());
    },
  });
  const untilLogged = async (part: string): Promise<string> => {
    const logged = createDeferred<void>();
    waiting.set(part, logged.resolve);
    if (!log.includes(part)) {
      await logged.promise;
    }
    return log.split('\n').find((line) => line.includes(part)) ?? '';
  };
  return { ...bridge, log: () => log, untilLogged };
}

for (const engine of engines) {
  describe(`packages from the start on ${engine.label}`, () => {
    const store = `bridge-test-preinstall-${randomUUID().slice(0, 8)}`;
    let index: PackageIndex;
    let folder = '';
    const start = (preinstall: string, more: Record<string, string> = {}) =>
      startLogged(engine, {
        MCP_BRIDGE_STATE_DIR: folder,
        MCP_BRIDGE_PREINSTALL: preinstall,
        MCP_BRIDGE_PACKAGES_STORE: store,
        MCP_BRIDGE_PACKAGES_NETWORK: 'host',
        MCP_BRIDGE_TIMEOUT: '120',
        PIP_INDEX_URL: index.url,
        // No other index of this machine.
        PIP_CONFIG_FILE: '/dev/null',
        UV_NO_CONFIG: '1',
        ...more,
      });

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'bridge-preinstall-'));
      index = await startPackageIndex({ hasPip: engine.name !== 'embedded' });
      index.add(makeWheel({ name: 'tiny-pkg' }), makeWheel({ name: 'needs-tiny', requires: ['tiny-pkg'] }));
    });
    afterAll(async () => {
      await index.close();
      rmSync(folder, { recursive: true, force: true });
      if (engine.isContainer) {
        await engine.run('volume', 'rm', '--force', store);
      } else {
        rmSync(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
      }
    });

    it('fetches them before any cell, delays no other one, and an import meanwhile waits and sees how far it is', async () => {
      const arrived = createDeferred<void>();
      const held = index.hold(/tiny_pkg-1.0-py3-none-any.whl$/, arrived.resolve);
      const bridge = await start('needs-tiny');
      try {
        await arrived.promise;
        expect((await bridge.client.listTools()).tools).toHaveLength(1);
        expect((await bridge.runPython('20 + 22')).text).toBe('42');
        const messages: string[] = [];
        const importing = bridge.runPython(
          'import needs_tiny, tiny_pkg\ntiny_pkg.name',
          {},
          {
            onprogress({ message = '' }) {
              messages.push(message);
              if (/fetching needs-tiny 1\.0, tiny-pkg 1\.0/.test(message)) {
                held.release();
              }
            },
          },
        );
        expect((await importing).text).toBe("'tiny-pkg'");
        expect(await bridge.untilLogged(READY)).toContain(' INFO ');
        expect(index.requests.filter((request) => request.endsWith('/tiny_pkg-1.0-py3-none-any.whl'))).toHaveLength(1);
        const env = { ...process.env, MCP_BRIDGE_STATE_DIR: folder };
        const { stdout } = await promisify(execFile)(process.execPath, [CLI, 'audit', 'show', '--json'], { env });
        const installed = stdout.split('\n').filter((line) => line.includes('"packages_installed"'));
        expect(installed).toHaveLength(1);
        expect(JSON.parse(installed[0] ?? '{}').record).toMatchObject({
          cell: expect.stringMatching(/\/preinstall\/0\/0$/),
          allowed_by: 'setting',
          packages: [expect.stringMatching(/^needs-tiny==1\.0 /), expect.stringMatching(/^tiny-pkg==1\.0 /)],
        });
      } finally {
        await bridge.close();
      }
    });

    it('asks the index nothing at a later start, and every session can import them', async () => {
      const before = index.requests.length;
      const bridge = await start('needs-tiny');
      try {
        await bridge.untilLogged(READY);
        expect(await sandboxesOf(engine, bridge)).toBe('');
        expect((await bridge.runPython('import needs_tiny\nneeds_tiny.version')).structured['result']).toBe("'1.0'");
        expect(index.requests.slice(before)).toEqual([]);
      } finally {
        await bridge.close();
      }
    });

    it.runIf(engine.name !== 'embedded')('are imported ahead, and never exchanged for other versions', async () => {
      index.add(makeWheel({ name: 'other-pkg' }));
      const state = mkdtempSync(join(tmpdir(), 'bridge-preinstall-'));
      onTestFinished(() => rmSync(state, { recursive: true, force: true, maxRetries: 5 }));
      const ahead = {
        MCP_BRIDGE_STATE_DIR: state,
        MCP_BRIDGE_PREWARM: '1',
        MCP_BRIDGE_PREWARM_IMPORTS: 'tiny_pkg',
        MCP_BRIDGE_LOG_LEVEL: 'DEBUG',
        MCP_BRIDGE_PACKAGES: 'any',
      };
      /** A session whose sandbox has imported it before any cell. */
      const openSession = async (bridge: BridgeClient): Promise<string> => {
        let session = '';
        const attempt = async () => {
          session = `attempt-${randomUUID().slice(0, 4)}`;
          return (await bridge.runPython('import sys\n"tiny_pkg" in sys.modules', { session })).text;
        };
        await expect.poll(attempt, { timeout: 60_000 * PATIENCE, interval: 4_000 }).toContain('True');
        return session;
      };
      const first = await start('tiny-pkg', ahead);
      try {
        await first.client.listTools();
        await first.untilLogged(READY);
        const session = await openSession(first);
        // The set of both takes the place of the first, and comes after the folder of the session.
        const grown =
          'import sys, other_pkg, tiny_pkg\nat = [p for p in sys.path if p == "/workspace" or "/sets/" in p]\n';
        const { text } = await first.runPython(`${grown}at[0], len(at), at[1] in other_pkg.__file__`, { session });
        expect(text).toBe("('/workspace', 2, True)");
        await first.runPython('import tiny_pkg\nkept = tiny_pkg.version', { session: 'kept' });
      } finally {
        await first.close();
      }
      index.add(makeWheel({ name: 'tiny-pkg', version: '2.0' }));
      const second = await start('tiny-pkg>=2', ahead);
      try {
        await second.client.listTools();
        await second.untilLogged(READY);
        const session = await openSession(second);
        expect((await second.runPython('import tiny_pkg\ntiny_pkg.version', { session })).text).toBe("'2.0'");
        await expect.poll(() => second.log(), { timeout: 30_000 }).toMatch(/was started ahead(?![^]*attempt)/);
        await pause(3_000 * PATIENCE, 'a sandbox does not report what it has imported');
        // Its sandbox has loaded 2.0 ahead, so the session is restored in another one.
        const { text } = await second.runPython('kept, tiny_pkg.version', { session: 'kept' });
        expect(text).toMatch(/^\('1\.0', '1\.0'\)\nnotices:\nRestored /);
        await expect.poll(() => second.log().match(/session kept: sandbox \S+ on \S+ is ready/g)).toHaveLength(2);
        const tried = 'try:\n    import tiny_pkg as found\nexcept ImportError:\n    found = None\nfound.version';
        const both = ['a', 'b'].map((name) => second.runPython(tried, { session: name }));
        expect((await Promise.all(both)).map((answer) => answer.text)).toEqual(["'2.0'", "'2.0'"]);
      } finally {
        await second.close();
      }
    });

    it('logs a failure once, says it at the first import, and leaves other imports alone', async () => {
      const bridge = await start('no-such-package,tiny-pkg', { MCP_BRIDGE_PACKAGES: 'any' });
      try {
        const reason = 'could not be fetched: the index has no wheel of no-such-package';
        expect(await bridge.untilLogged(FAILED)).toContain(`ERROR ${FAILED} (no-such-package, tiny-pkg) ${reason}`);
        const before = index.requests.length;
        const { text } = await bridge.runPython('import tiny_pkg');
        expect(text).toContain(`${FAILED} could not be installed: the index has no wheel of no-such-package`);
        expect(text).toContain('Check the name and the version.');
        expect(index.requests.slice(before)).toEqual([]);
        expect((await bridge.runPython('import needs_tiny\nneeds_tiny.version')).structured['result']).toBe("'1.0'");
        expect(bridge.log().split(FAILED)).toHaveLength(2);
      } finally {
        await bridge.close();
      }
    });

    it('ends the fetch with the bridge, quietly', async () => {
      index.add(makeWheel({ name: 'endless-pkg' }));
      const arrived = createDeferred<void>();
      const held = index.hold(/endless_pkg-1.0-py3-none-any.whl$/, arrived.resolve);
      const bridge = await start('endless-pkg');
      await arrived.promise;
      await bridge.close();
      held.release();
      expect(await sandboxesOf(engine, bridge)).toBe('');
      expect(bridge.log()).not.toContain(FAILED);
    });
  });
}

/** The containers of a bridge; empty on engines whose sandboxes end with it. */
async function sandboxesOf(engine: TestEngine, { pid }: BridgeClient): Promise<string> {
  return engine.isContainer
    ? (await engine.run('ps', '--all', '--quiet', `--filter=label=${PID_LABEL}=${pid}`)).stdout.trim()
    : '';
}
