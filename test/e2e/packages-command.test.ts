// Tags: anywhere, full
/** `packages` of the built command, with a real index on this machine, and bridges whose sessions use the same store. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { UiStored } from '../../src/record/ui/schema.ts';
import { type BridgeClient, CLI, environmentOf, startBridge } from '../support/bridge-client.ts';
import { coverEngines, coverPackageEngines } from '../support/covered-engines.ts';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { startUiCommand } from '../support/ui-command.ts';
import { makeWheel } from '../support/wheels.ts';

const covered = await coverEngines();

const run = (env: Readonly<Record<string, string>>, ...args: string[]) => runCommand(env, 'packages', ...args);

async function runCommand(env: Readonly<Record<string, string>>, ...args: string[]) {
  const child = spawn(process.execPath, [CLI, ...args], { env });
  const exited = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { stdout, stderr, exitCode };
}

for (const engine of covered.filter(({ name }) => name === 'embedded')) {
  it('names a way out on the embedded engine, which has no store', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bridge-packages-'));
    const env = environmentOf(engine, folder, { MCP_BRIDGE_PACKAGES: 'any' });
    expect(await run(env, 'list')).toMatchObject({
      exitCode: 69,
      stderr: expect.stringMatching(/the engine embedded has no package store[\s\S]*MCP_BRIDGE_RUNTIME/),
    });
    rmSync(folder, { recursive: true });
  });
}

it('reports that there is no engine', async () => {
  const env = { PATH: '/nonexistent', HOME: '/nonexistent', MCP_BRIDGE_RUNTIME: 'podman' };
  expect(await run(env, 'list')).toMatchObject({
    exitCode: 69,
    stderr: expect.stringContaining('ENGINE_UNAVAILABLE'),
  });
});

// The commands do the same on each engine; only stores in a volume and in a folder differ.
const engines = (await coverPackageEngines(covered)).filter(({ name }, at) => at === 0 || name === 'bubblewrap');
for (const engine of engines) {
  describe(`packages on ${engine.label}`, () => {
    const store = `bridge-test-packages-${randomUUID().slice(0, 8)}`;
    let folder = '';
    let index: PackageIndex;
    const environment = (more: Record<string, string> = {}) =>
      environmentOf(engine, folder, {
        MCP_BRIDGE_PACKAGES: 'common',
        MCP_BRIDGE_PACKAGES_STORE: store,
        MCP_BRIDGE_PACKAGES_NETWORK: 'host',
        PIP_INDEX_URL: index.url,
        // No other index of this machine.
        PIP_CONFIG_FILE: '/dev/null',
        UV_NO_CONFIG: '1',
        ...more,
      });
    const packages = (...args: string[]) => run(environment(), ...args);
    const json = async (...args: string[]) => JSON.parse((await packages(...args, '--json')).stdout);
    const use = async (work: (bridge: BridgeClient) => Promise<void>, more: Record<string, string> = {}) => {
      const bridge = await startBridge({ engine, env: environment(more) });
      try {
        await work(bridge);
      } finally {
        await bridge.close();
      }
    };

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'bridge-packages-'));
      index = await startPackageIndex();
      index.add(
        makeWheel({ name: 'tiny-pkg' }),
        makeWheel({ name: 'tiny-pkg', version: '2.0' }),
        makeWheel({ name: 'needs-tiny', requires: ['tiny-pkg<2'] }),
        makeWheel({ name: 'other-pkg' }),
      );
    });
    afterAll(async () => {
      await index.close();
      if (engine.isContainer) {
        await engine.run('volume', 'rm', '--force', store);
      }
      // Where the stores of a bridge that runs as root are; others are in the state directory.
      rmSync(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
      rmSync(folder, { recursive: true, force: true });
    });

    it('lists an empty store without a network', async () => {
      const before = index.requests.length;
      expect(await packages()).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(/^The package store is empty\. To add packages, run: .* packages add pandas\n$/),
      });
      expect(await json('list')).toEqual({ bytes: expect.any(Number), maxBytes: 4 * 1024 ** 3, sets: [] });
      expect(await packages('lock')).toMatchObject({ exitCode: 64, stderr: expect.stringContaining('is empty') });
      expect(await packages('prune')).toMatchObject({ exitCode: 0, stdout: 'There is nothing to remove.\n' });
      expect(index.requests.slice(before)).toEqual([]);
    });

    it('adds packages and shows what led to them', async () => {
      const added = await packages('add', 'needs-tiny');
      expect(added).toMatchObject({ exitCode: 0 });
      expect(added.stdout).toMatch(
        /^Added needs-tiny 1\.0, tiny-pkg 1\.0\.\nFetched: \d+ KiB\. Set: [0-9a-f]{12}\.\n$/,
      );
      expect(added.stderr).toContain('fetching needs-tiny 1.0, tiny-pkg 1.0');
      const { stdout: records } = await runCommand(environment(), 'audit', 'show', '--json');
      expect(JSON.parse(records).record).toMatchObject({
        type: 'packages_installed',
        allowed_by: 'command',
        packages: [
          expect.stringMatching(/^needs-tiny==1\.0 sha256:/),
          expect.stringMatching(/^tiny-pkg==1\.0 sha256:/),
        ],
      });
      expect((await packages('add', 'other-pkg')).exitCode).toBe(0);
      const { sets } = await json('list');
      expect(sets).toMatchObject([
        { isInUse: false, packages: [{ name: 'other-pkg', version: '1.0' }] },
        { requests: [{ requirements: ['needs-tiny'], allowedBy: 'command' }], packages: { length: 2 } },
      ]);
      expect((await packages('list')).stdout).toMatch(
        /^[0-9a-f]{12} {2}\d+ KiB {2}used .* other-pkg 1\.0\n[^\n]*\n2 sets, /,
      );
      const { stdout } = await packages('show', 'Needs_Tiny');
      expect(stdout).toMatch(/requested {2}needs-tiny \(added with packages add\)/);
      expect(stdout).toMatch(/ {2}tiny-pkg 1\.0 {2}sha256:[0-9a-f]{64}\n/);
      expect((await packages('show', sets[1].id.slice(0, 12))).stdout).toBe(stdout);
    });

    it('gives sessions what was added, without asking the index or a person', async () => {
      const before = index.requests.length;
      await use(async (bridge) => {
        expect((await bridge.runPython('import tiny_pkg\ntiny_pkg.version')).structured['result']).toBe("'1.0'");
        // Of both additions, in a session that has one of them.
        expect((await bridge.runPython('import other_pkg, needs_tiny\nneeds_tiny.version')).structured['result']).toBe(
          "'1.0'",
        );
        const { text: refused } = await bridge.runPython('await runtime.install("tiny-pkg>=2")');
        expect(refused).toContain('not in the list of common packages');
      });
      expect(index.requests.slice(before)).toEqual([]);
    });

    it('keeps a set that a session uses', async () => {
      await use(async (bridge) => {
        await bridge.runPython('import other_pkg');
        const refused = await packages('remove', 'other-pkg');
        expect(refused).toMatchObject({ exitCode: 75, stdout: expect.stringContaining('in use, kept') });
        expect(refused.stderr).toContain('A session uses what was kept.');
        const { sets } = await json('list');
        expect(sets.map(({ isInUse }: { isInUse: boolean }) => isInUse)).toContain(true);
        expect((await packages('prune', '--all')).exitCode).toBe(0);
        expect((await bridge.runPython('import other_pkg\nother_pkg.version')).structured['result']).toBe("'1.0'");
        expect((await json('list')).sets).toMatchObject([{ isInUse: true }]);
      });
      expect(await packages('remove', 'other-pkg')).toMatchObject({ exitCode: 0 });
      expect((await json('list')).sets).toEqual([]);
    });

    it('locks versions and hashes, and fetches the same files from a lock', async () => {
      await packages('add', 'tiny-pkg<2', 'other-pkg');
      const file = join(folder, 'lock.txt');
      expect(await packages('lock', '--output', file)).toMatchObject({ exitCode: 0, stdout: '' });
      const lock = readFileSync(file, 'utf8');
      expect((await packages('lock', 'tiny-pkg')).stdout).toBe(lock);
      expect(lock).toMatch(
        /^# For cpython-.*\nother-pkg==1\.0 \\\n {4}--hash=sha256:[0-9a-f]{64}\ntiny-pkg==1\.0 \\\n/,
      );
      const [before] = (await json('list')).sets;
      await packages('remove', 'tiny-pkg');
      expect(await packages('add', '-r', file)).toMatchObject({ exitCode: 0 });
      const [after] = (await json('list')).sets;
      expect(after.id).toBe(before.id);
      writeFileSync(file, lock.replace(/sha256:[0-9a-f]{8}/, 'sha256:00000000'));
      const changed = await packages('add', '-r', file);
      expect(changed).toMatchObject({ exitCode: 69, stderr: expect.stringContaining('PACKAGE_UNAVAILABLE') });
      expect(changed.stderr).toMatch(/sha256|hash/i);
      // Two sets with different versions of a package have no common lock.
      await packages('add', 'tiny-pkg>=2');
      expect(await packages('lock')).toMatchObject({ exitCode: 64, stderr: expect.stringContaining('no common lock') });
      await packages('remove', 'tiny-pkg');
    });

    it('prunes by size and by age, the least recently used first', async () => {
      for (const name of ['needs-tiny', 'other-pkg', 'tiny-pkg>=2']) {
        expect((await packages('add', name)).exitCode).toBe(0);
      }
      const before = (await json('list')).sets as { id: string }[];
      expect(before).toHaveLength(3);
      expect(await json('prune', '--older-than', '1h')).toMatchObject({ removed: [], bytes: 0 });
      // The least recently used one serves a session now, and is the last to go.
      await use(async (bridge) => {
        expect((await bridge.runPython('import needs_tiny\nneeds_tiny.version')).structured['result']).toBe("'1.0'");
      });
      const [used] = (await json('list')).sets;
      expect(used.id).toBe(before[2]?.id);
      expect((await run(environment({ MCP_BRIDGE_PACKAGES_MAX_SIZE: '1m' }), 'prune')).stdout).toContain('nothing to');
      const all = await json('prune', '--all');
      expect(all.removed.map(({ id }: { id: string }) => id)).toEqual([before[2]?.id, before[0]?.id, before[1]?.id]);
      expect(all.bytes).toBeGreaterThan(0);
      expect((await json('list')).sets).toEqual([]);

      await packages('add', 'other-pkg');
      const monthAgo = new Date(Date.now() - 40 * 24 * 3_600_000);
      const locks = join(folder, 'packages');
      readdirSync(locks).forEach((file) => utimesSync(join(locks, file), monthAgo, monthAgo));
      await packages('add', 'needs-tiny');
      expect((await json('prune')).removed).toEqual([]);
      const old = await json('prune', '--older-than', '30d');
      expect(old.removed).toMatchObject([{ packages: [{ name: 'other-pkg' }] }]);
      // The same request gets the same files again.
      await use(async (bridge) => {
        expect((await bridge.runPython('import other_pkg\nother_pkg.version')).structured['result']).toBe("'1.0'");
      });
    });

    it.each([
      ['an unknown name', ['show', 'no-such'], 64, "the store has no package or set 'no-such'"],
      ['an unknown name to remove', ['remove', 'no-such'], 64, "the store has no package or set 'no-such'"],
      ['an address', ['add', 'https://x.example/a.whl'], 64, "<requirement> is 'https:.*'; it must be a package"],
      ['no package', ['add'], 64, 'no package was named'],
      ['a file that is missing', ['add', '-r', '/no/such/file'], 64, '/no/such/file cannot be read'],
      ['a package that the index lacks', ['add', 'no-such-package'], 69, 'the index has no wheel of no-such-package'],
      ['no duration', ['prune', '--older-than', 'soon'], 64, "--older-than is 'soon'; it must be a duration"],
    ])('refuses %s', async (_, args, exitCode, message) => {
      expect(await packages(...args)).toMatchObject({ exitCode, stderr: expect.stringMatching(message) });
    });

    it('lists and removes them on the page of `ui`', async () => {
      await packages('add', 'other-pkg');
      const ui = await startUiCommand(environment());
      try {
        const list = async () => (await ui.get('/api/stored/packages')) as UiStored;
        const { items } = await list();
        const other = items.find(({ name }) => name === 'other-pkg 1.0');
        expect(other).toMatchObject({ bytes: expect.any(Number), removable: true });
        expect(await ui.remove(`/api/stored/packages?id=${other?.id}`)).toEqual({ ok: true });
        expect((await list()).items).toHaveLength(items.length - 1);
        await expect(ui.remove(`/api/stored/packages?id=${other?.id}`)).rejects.toThrow('404');
      } finally {
        await ui.close();
      }
    });

    it('adds nothing if packages are off, but lists what there is', async () => {
      const env = environment({ MCP_BRIDGE_PACKAGES: 'off' });
      expect(await run(env, 'add', 'tiny-pkg')).toMatchObject({
        exitCode: 70,
        stderr: expect.stringContaining('MCP_BRIDGE_PACKAGES is off'),
      });
      expect(await run(env, 'list')).toMatchObject({ exitCode: 0 });
    });
  });
}
