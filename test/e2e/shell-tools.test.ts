// Tags: full, docker-release, user-release
/** `image` and `sessions` of the built command, on a real engine. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLI, startBridge } from '../support/bridge-client.ts';
import { coverContainerEngines } from '../support/covered-engines.ts';
import { emptyHome } from '../support/empty-home.ts';
import { TEST_IMAGES } from '../support/engines.ts';

const HOME = emptyHome();

const engines = await coverContainerEngines();
/** docker's builder needs a network, which the daemon of the tests lacks. */
// A rootless build needs user networking (slirp4netns), which not every machine supports.
const builders = engines.filter(({ label }) => label === 'podman');

async function run(env: Readonly<Record<string, string>>, ...args: string[]) {
  const child = spawn(process.execPath, [CLI, ...args], { env: { HOME, ...env } });
  const exited = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { stdout, stderr, exitCode };
}

describe('sessions', () => {
  it.each(engines)('are listed and ended on $label; the next answer says so', async (engine) => {
    const { env, name } = engine;
    const bridge = await startBridge({ engine });
    onTestFinished(() => bridge.close());
    const session = `shell-${randomUUID().slice(0, 8)}`;
    await bridge.runPython('kept = 1', { session });
    const listed = JSON.parse((await run(env, 'sessions', 'list', '--json')).stdout) as {
      session: string;
      id: string;
    }[];
    const own = listed.find((one) => one.session === session);
    expect(own).toMatchObject({ engine: name, isRunning: true, isLeftover: false, bridgePid: expect.any(Number) });

    const ended = await run(env, 'sessions', 'kill', session);
    expect(ended).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/ {2}ended\n$/) });
    expect((await run(env, 'sessions')).stdout).not.toContain(session);
    expect((await bridge.runPython('1', { session })).text).toMatch(/lost[\s\S]*kept|Restored 1 variable /);
  });

  it.each(engines)('that do not exist on $label are refused', async ({ env }) => {
    expect(await run(env, 'sessions', 'kill', 'no-such-session')).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining("there is no sandbox with the id or session 'no-such-session'"),
    });
  });

  it('are none without a container engine', async () => {
    expect(await run({ PATH: '/nonexistent' }, 'sessions')).toMatchObject({
      exitCode: 0,
      stdout: 'There are no sandboxes.\n',
    });
  });
});

describe('images', () => {
  it.each(builders)('are built on $label, listed, and run cells', async ({ env, run: engine }) => {
    const tag = `test-${randomUUID().slice(0, 8)}`;
    const image = `localhost/mcp-bridge-python:${tag}`;
    onTestFinished(async () => {
      await engine('rmi', '--force', image);
    });
    const base = `localhost/${TEST_IMAGES.slim}`;
    const built = await run(env, 'image', 'build', '--base', base, '--tag', tag);
    expect(built).toMatchObject({ exitCode: 0, stdout: `MCP_BRIDGE_IMAGE=${image}\n` });
    expect(built.stderr).toContain('compileall');
    const listed = JSON.parse((await run({ ...env, MCP_BRIDGE_IMAGE: image }, 'image', '--json')).stdout) as unknown[];
    expect(listed).toContainEqual(expect.objectContaining({ names: expect.arrayContaining([image]), isUsed: true }));
    expect(await run({ ...env, MCP_BRIDGE_IMAGE: image }, 'exec', '-c', '6 * 7')).toMatchObject({
      stdout: '42\n',
      exitCode: 0,
    });
  });

  /** A podman that only records how it is called, because images that users built here must not be removed. */
  async function withFakePodman() {
    const folder = await mkdtemp(join(tmpdir(), 'images-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const log = join(folder, 'calls');
    await writeFile(
      join(folder, 'podman'),
      `#!/bin/sh
echo "$@" >> '${log}'
case "$1 $2" in
  'images --quiet') printf 'aaa\\nbbb\\nbbb\\n' ;;
  'image inspect') case "$3" in
    aaa | mine:1) echo '[{"Id":"sha256:aaa","RepoTags":["localhost/mine:1"],"Size":2097152}]' ;;
    bbb) echo '[{"Id":"sha256:bbb","RepoTags":null}]' ;;
    *) exit 1 ;;
  esac ;;
  'rmi ccc' | 'pull docker.io/library/none:1') echo broken >&2; exit 125 ;;
esac
`,
    );
    await chmod(join(folder, 'podman'), 0o755);
    const PATH = [folder, dirname(process.execPath), '/bin', '/usr/bin'].join(delimiter);
    return {
      env: { PATH, MCP_BRIDGE_IMAGE: 'mine:1', MCP_BRIDGE_RUNTIME: 'podman' },
      calls: () => readFile(log, 'utf8'),
    };
  }

  it('prune removes only unused images of ours', async () => {
    const { calls, env } = await withFakePodman();
    expect((await run(env, 'image')).stdout).toBe(
      'localhost/mine:1  aaa  2 MiB  podman  in use\n(no name)         bbb         podman\n',
    );
    expect((await run(env, 'image', 'prune')).stdout).toMatch(/^\(no name\) +bbb +podman +removed\n$/);
    expect((await calls()).split('\n').filter((line) => line.startsWith('rmi'))).toEqual(['rmi bbb']);
  });

  it('that cannot be pulled are reported with the engine output', async () => {
    const { env } = await withFakePodman();
    expect(await run(env, 'image', 'pull', 'none:1')).toMatchObject({
      exitCode: 69,
      stdout: '',
      stderr: expect.stringMatching(
        /^broken\nENGINE_FAILED: podman could not pull docker\.io\/library\/none:1: broken\nHint: Check the name docker\.io\/library\/none:1 and the network\. To see whether the engine works, run: \S*node \S+\/dist\/cli\.js doctor\n$/,
      ),
    });
    const failed = await run(env, 'image', 'pull', 'none:1', '--json');
    expect(JSON.parse(failed.stdout)).toMatchObject({ error: { code: 'ENGINE_FAILED' } });
    expect(failed.stderr).toBe('broken\n');
  });

  it('are for container engines only', async () => {
    expect(await run({ PATH: '/nonexistent' }, 'image')).toMatchObject({
      exitCode: 69,
      stderr: expect.stringContaining('neither podman nor docker is on PATH'),
    });
  });
});
