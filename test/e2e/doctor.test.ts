// Tags: full, docker-release
/** `doctor` of the built command, with engines that work, are broken, or are not installed. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { currentOwner } from '../../src/core/base/owner.ts';
import { writeLabels } from '../../src/edges/engines/container/labels.ts';
import { CLI, ROOT } from '../support/bridge-client.ts';
import { coverEngines, coverPackageEngines } from '../support/covered-engines.ts';
import { emptyHome } from '../support/empty-home.ts';
import { TEST_IMAGES } from '../support/engines.ts';
import { startPackageIndex } from '../support/package-index.ts';
import { makeWheel } from '../support/wheels.ts';

const HOME = emptyHome();

const DEAD = join(ROOT, 'test/fixtures/engines/dead');
const engines = await coverEngines();

async function runDoctor(env: Readonly<Record<string, string>>, ...options: string[]) {
  const child = spawn(process.execPath, [CLI, 'doctor', ...options], {
    // Rootless podman keeps its images in the real home folder; the state directory must be a temporary one.
    env: { HOME, MCP_BRIDGE_STATE_DIR: join(HOME, 'MCPs'), ...env },
  });
  const exited = once(child, 'close') as Promise<[number | null]>;
  const [stdout, [exitCode]] = await Promise.all([text(child.stdout), exited]);
  return { stdout, exitCode };
}

describe('doctor', () => {
  it.each(engines)('reports that $label is usable, and that sessions run on it', async ({ env, name }) => {
    const { exitCode, stdout } = await runDoctor(env, '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      requested: name,
      runs: name,
      engines: [{ engine: name, isUsable: true, isolation: expect.any(String), description: expect.any(String) }],
    });
    expect(exitCode).toBe(0);
  });

  it('names what is missing and how to fix it, and exits with 69 if no engine works', async () => {
    const home = await mkdtemp(join(tmpdir(), 'doctor-'));
    onTestFinished(() => rm(home, { recursive: true }));
    const { exitCode, stdout } = await runDoctor({ HOME: home, PATH: '', MCP_BRIDGE_RUNTIME: 'container' });
    expect(stdout).toContain(`
Engines
  problem  podman and docker cannot be used: podman is not on PATH; docker is not on PATH
           → Install Podman (https://podman.io/docs/installation) or Docker (https://docs.docker.com/engine/install/).
  problem  no cell can run: no engine can be used (podman is not on PATH; docker is not on PATH)
           → Install Podman (https://podman.io/docs/installation) or Docker (https://docs.docker.com/engine/install/).
`);
    expect(stdout).toMatch(/\nNo cell can run\. 2 problems, \d warnings?\.\n$/);
    expect(exitCode).toBe(69);
  });

  it('gives the reason for each broken engine', async () => {
    const { exitCode, stdout } = await runDoctor({ PATH: DEAD, MCP_BRIDGE_RUNTIME: 'container' }, '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      runs: null,
      engines: [
        { engine: 'podman', isUsable: false, reason: expect.stringMatching(/^podman does not answer: /) },
        { engine: 'docker', isUsable: false, reason: expect.stringMatching(/^docker does not answer: /) },
      ],
    });
    expect(exitCode).toBe(69);
  });

  it('reports for each server whether it starts and how many tools it has, and for each file what is wrong with it', async () => {
    const home = await mkdtemp(join(tmpdir(), 'doctor-'));
    onTestFinished(() => rm(home, { recursive: true }));
    const stateDir = join(home, 'MCPs');
    await mkdir(stateDir, { mode: 0o777 });
    await chmod(stateDir, 0o777);
    const servers = {
      echo: { command: process.execPath, args: [join(ROOT, 'test/fixtures/servers/echo.mjs')] },
      broken: { command: '/nonexistent/server' },
      off: { command: 'x', disabled: true },
    };
    await writeFile(join(stateDir, 'good.json'), JSON.stringify({ mcpServers: servers }));
    await writeFile(join(stateDir, 'bad.json'), '{"mcpServers": ');
    await writeFile(join(stateDir, 'policy.json'), '{"rules": 1}');
    await mkdir(join(home, '.cursor'));
    await writeFile(join(home, '.cursor', 'mcp.json'), '{}');
    const env = {
      HOME: home,
      MCP_BRIDGE_STATE_DIR: stateDir,
      MCP_BRIDGE_RUNTIME: 'embedded',
      PATH: process.env['PATH'] ?? '',
    };

    const found = await runDoctor(env);
    expect(found.stdout).toMatch(
      / {2}problem {2}other users can write to the state directory .*\n {11}→ Run: chmod go-w/,
    );
    expect(found.stdout).toMatch(/ {2}ok {7}echo: 7 tools in \d+\.\d s\n/);
    expect(found.stdout).toMatch(/ {2}problem {2}broken: .*\/nonexistent\/server/);
    expect(found.stdout).toMatch(/ {2}ok {7}off: disabled in .*good\.json\n/);
    expect(found.stdout).toMatch(/ {2}problem {2}.*bad\.json.* is not JSON/);
    expect(found.stdout).toMatch(
      / {2}problem {2}policy .*policy\.json: rules: must be a list\n {11}→ Calls are refused/,
    );
    expect(found.stdout).toMatch(/ {2}ok {7}Cursor: not registered in .*mcp\.json\n/);
    expect(found.stdout).toContain('the bridge is not registered in any of these clients');
    expect(found.stdout).toMatch(/a session starts on embedded in \d+ ms: Python 3\.\d+/);
    expect(found.exitCode).toBe(1);

    await writeFile(join(stateDir, 'policy.json'), '{"rules": []}');
    const fixed = await runDoctor(env, '--fix', '--no-servers');
    expect((await stat(stateDir)).mode & 0o777).toBe(0o755);
    expect(fixed.stdout).toContain(`  ok       state directory ${stateDir}\n`);
    expect(fixed.stdout).toContain(`  ok       policy for all servers in ${join(stateDir, 'policy.json')}\n`);
    expect(fixed.stdout).toContain('  ok       echo: 7 tools when it last ran\n');
  });

  it('reports orphaned sandboxes, a vulnerable runtime and missing limits, and --fix removes the sandboxes', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'doctor-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const owner = { ...currentOwner(), pid: 2 ** 22 - 1 };
    const labels = writeLabels({ instanceId: 'gone', owner, session: 'old', createdAt: new Date() });
    const leftover = [{ Id: 'c0ffee', State: 'running', Labels: labels }];
    const runtime = { name: 'runc', package: 'runc_1.1.5+ds1', version: 'runc version 1.1.5+ds1\ncommit: 1' };
    const security = { rootless: true, seccompEnabled: false };
    const info = { version: { Version: '4.3.1' }, host: { cgroupVersion: 'v2', ociRuntime: runtime, security } };
    await writeFile(join(folder, 'ps'), JSON.stringify(leftover));
    await writeFile(join(folder, 'info'), JSON.stringify(info));
    const podman = `#!/bin/sh
case "$*" in
  ps*) cat '${folder}/ps' ;;
  info*) cat '${folder}/info' ;;
  container*) echo 'Error: no such container' >&2; exit 125 ;;
  rm*c0ffee*) echo '[]' > '${folder}/ps' ;;
  run*) echo 'Error: something new' >&2; exit 125 ;;
esac
`;
    await writeFile(join(folder, 'podman'), podman);
    await chmod(join(folder, 'podman'), 0o755);
    const env = { PATH: [folder, '/bin', '/usr/bin'].join(delimiter), MCP_BRIDGE_RUNTIME: 'podman' };

    const found = await runDoctor(env, '--no-servers');
    expect(found.stdout).toContain(`
  problem  no cell can run: podman did not start the sandbox (exit code 125): something new
           → Check that this works: podman run --rm python:3.14-slim python3 --version
`);
    expect(found.stdout).toContain('  ok       podman: version 4.3.1, rootless, cgroup v2, runc 1.1.5\n');
    expect(found.stdout).toMatch(
      / {2}warning {2}podman: the engine cannot limit memory or processes here; .*\n {11}→ Delegate/,
    );
    expect(found.stdout).toMatch(/ {2}warning {2}podman: the engine has no system-call filter/);
    expect(found.stdout).toMatch(
      / {2}warning {2}podman: runc 1\.1\.5 has known container escapes .* unless your distribution has patched it \(.*runc_1\.1\.5\+ds1\)\n {11}→ /,
    );
    expect(found.stdout).toContain('  warning  podman: 1 sandbox left behind by ended bridges\n           → Run: ');
    expect(found.exitCode).toBe(69);
    // Reported, but not removed.
    expect(await readFile(join(folder, 'ps'), 'utf8')).toContain('c0ffee');
    const fixed = await runDoctor(env, '--no-servers', '--fix');
    expect(fixed.stdout).toContain('  ok       podman: 1 sandbox left behind by ended bridges, 1 removed\n');
  });
});

const packageEngines = [...(await coverPackageEngines(engines)), ...engines.filter(({ name }) => name === 'embedded')];

// It once promised what MCP_BRIDGE_PREINSTALL names without a look at the network, the index or the store.
describe.each(packageEngines)('packages, as doctor sees them on $label', (engine) => {
  const store = `bridge-test-doctor-${randomUUID().slice(0, 8)}`;
  afterAll(async () => {
    if (engine.isContainer) {
      await engine.run('volume', 'rm', '--force', store);
    } else {
      await rm(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
    }
  });

  it('says that sessions can import packages only if they can', async () => {
    const stateDir = await mkdtemp(join(tmpdir(), 'doctor-'));
    const index = await startPackageIndex({ hasPip: engine.name !== 'embedded' });
    onTestFinished(async () => {
      await index.close();
      await rm(stateDir, { recursive: true });
    });
    index.add(makeWheel({ name: 'tiny-pkg' }));
    const env = {
      ...engine.env,
      MCP_BRIDGE_STATE_DIR: stateDir,
      MCP_BRIDGE_PACKAGES: 'off',
      MCP_BRIDGE_PACKAGES_STORE: store,
      MCP_BRIDGE_PACKAGES_NETWORK: 'host',
      PIP_INDEX_URL: index.url.replace('//', '//ada:pass-word@'),
      PIP_CONFIG_FILE: '/dev/null',
      UV_NO_CONFIG: '1',
    };
    const doctor = async (preinstall: string) => {
      const { exitCode, stdout } = await runDoctor({ ...env, MCP_BRIDGE_PREINSTALL: preinstall }, '--no-servers');
      expect(stdout).not.toContain('pass-word');
      return { exitCode, stdout };
    };

    const before = await doctor('tiny-pkg');
    // It once said nothing about what most people want on the one engine that cannot have it.
    const fetched =
      engine.name === 'embedded'
        ? 'packages in pure Python can be fetched on embedded; those with compiled parts, such as NumPy, pandas and Matplotlib, cannot be used there: they need Podman, Docker or (on Linux) bubblewrap\n'
        : `packages can be fetched on ${engine.name}\n`;
    expect(before.stdout).toContain(`  ok       ${fetched}`);
    expect(before.stdout).toContain('can be had: the bridge fetches tiny-pkg 1.0 when it starts');
    expect(before.exitCode).toBe(0);
    expect(index.requests.filter((request) => request.endsWith('tiny_pkg-1.0-py3-none-any.whl'))).toEqual([]);

    const missing = await doctor('no-such-package');
    expect(missing.stdout).toContain(
      'problem  no session can import no-such-package of MCP_BRIDGE_PREINSTALL: the index has',
    );
    expect(missing.exitCode).toBe(1);

    if (engine.name !== 'embedded') {
      const add = spawn(process.execPath, [CLI, 'packages', 'add', 'tiny-pkg'], {
        env: { HOME, ...env, MCP_BRIDGE_PACKAGES: 'any' },
      });
      expect(await once(add, 'close')).toEqual([0, null]);
      expect((await doctor('tiny-pkg')).stdout).toContain('ok       every session can import tiny-pkg');
    }

    index.answer = (_, response) => void response.writeHead(403).end();
    const refused = await doctor('other-pkg');
    expect(refused.stdout).not.toContain('can be fetched');
    expect(refused.stdout).toContain('problem  no session can import other-pkg of MCP_BRIDGE_PREINSTALL: 127.0.0.1');
    expect(refused.stdout).toContain(
      '→ Correct the credentials in the address of the index (PIP_INDEX_URL) or in ~/.netrc.',
    );
    expect(refused.exitCode).toBe(1);
  });
});

// Rootless podman and docker without a network of their own once said "Check that this works: podman run …", which does, and
// "Check the network of this machine".
describe.each(engines.filter(({ isContainer, name }) => isContainer && name !== 'kubernetes'))(
  'the network of $label for packages, as doctor sees it',
  (engine) => {
    const store = `bridge-test-doctor-${randomUUID().slice(0, 8)}`;
    afterAll(() => engine.run('volume', 'rm', '--force', store));

    it('names the setting that helps if containers have none', async () => {
      const stateDir = await mkdtemp(join(tmpdir(), 'doctor-'));
      onTestFinished(() => rm(stateDir, { recursive: true }));
      const { stdout } = await runDoctor(
        {
          ...engine.env,
          MCP_BRIDGE_STATE_DIR: stateDir,
          MCP_BRIDGE_PACKAGES_STORE: store,
          PIP_INDEX_URL: 'http://index.invalid/simple',
          PIP_CONFIG_FILE: '/dev/null',
          UV_NO_CONFIG: '1',
        },
        '--no-servers',
      );
      // The first line is a heading; a container that cannot start has no routes.
      // podman would raise them, which an ordinary user may not.
      const limits = ['--ulimit=nproc=1024:1024', '--ulimit=nofile=1024:1024'];
      const routes = await engine.run('run', '--rm', ...limits, TEST_IMAGES.slim, 'cat', '/proc/net/route');
      const hasNetwork = routes.exitCode === 0 && routes.stdout.trim().split('\n').length > 1;
      const hint = hasNetwork
        ? /→ Check the network of this machine, and HTTPS_PROXY/
        : /→ (?:Check the network of this machine\. If it has one, the engine gives containers none: set|Set) MCP_BRIDGE_PACKAGES_NETWORK=host/;
      expect(stdout).toMatch(/warning {2}no package can be fetched: .*\n/);
      expect(stdout).toMatch(hint);
    });
  },
);
