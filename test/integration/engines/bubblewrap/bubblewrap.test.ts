// Tags: bubblewrap, user
/** What only bubblewrap must guarantee, and how it replaces container engines. It also runs the tests of all engines. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '../../../../src/core/base/log.ts';
import { buildBubblewrapCommand } from '../../../../src/edges/engines/bubblewrap/argv.ts';
import { ownFiles, SHOWN_IN_ETC } from '../../../../src/edges/engines/bubblewrap/etc-files.ts';
import { runEngineCommand } from '../../../../src/edges/engines/client.ts';
import { type DetectOptions, detectEngine } from '../../../../src/edges/engines/detect.ts';
import { findExecutable } from '../../../../src/edges/engines/executable.ts';
import { coverEngines } from '../../../support/covered-engines.ts';
import { processEnvironment, TEST_IMAGES, TEST_LIMITS } from '../../../support/engines.ts';
import { becomeUser, isRoot, ORDINARY_USER_ID } from '../../../support/ordinary-user.ts';
import { descendantsOf, isAlive } from '../../../support/processes.ts';
import { clientsOf, firstOutput, startOwner, startPython, startUntilReady } from '../../../support/sandbox.ts';
import { createHarness } from '../../../support/session-harness.ts';

const READY = 'print("ready")\ninput()';
const ROOT = join(import.meta.dirname, '..', '..', '..', '..');
const DEAD = join(ROOT, 'test', 'fixtures', 'engines', 'dead');
const TOOLS = ['bwrap', 'choom', 'prlimit', 'setpriv'];

const bubblewrap = (await coverEngines()).find(({ label }) => label === 'bubblewrap');

let nextInstance = 0;

/** A folder with only these commands, deleted when the test ends. */
function folderWith(tools: readonly string[], scripts: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'bubblewrap-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const tool of tools) {
    symlinkSync(findExecutable(tool, processEnvironment()) ?? tool, join(folder, tool));
  }
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }
  // Readable for the ordinary user that a sandbox switches to.
  execFileSync('chmod', ['755', folder]);
  return folder;
}

function detect(path: string, requested: DetectOptions['requested'] = 'auto', user = '65534:65534') {
  nextInstance += 1;
  const engine = detectEngine({
    requested,
    image: TEST_IMAGES.slim,
    limits: TEST_LIMITS,
    user,
    pullPolicy: 'never',
    instanceId: `bubblewrap-${process.pid}-${nextInstance}`,
    logger: silentLogger,
    env: { PATH: path },
  });
  onTestFinished(async () => {
    await engine.sweep({ own: true });
  });
  return engine;
}

describe.runIf(bubblewrap !== undefined)('bubblewrap', () => {
  it('replaces container engines that are not installed, and reports that once per session', async () => {
    const harness = await createHarness({ engine: detect(folderWith(TOOLS)) });
    onTestFinished(() => harness.close());
    const first = await harness.run('1 + 1');
    expect(first).toMatchObject({ engine: { name: 'bubblewrap' }, value: '2' });
    expect(first.notices).toEqual([
      expect.stringMatching(/^bubblewrap runs .* Not used: podman is not on PATH; docker is not on PATH\.$/),
    ]);
    expect(await harness.run('2')).toMatchObject({ notices: [], engine: undefined });
    expect((await harness.run('3', { session: 'another' })).notices).toHaveLength(1);
  });

  it('replaces broken engines, and reports why', async () => {
    const harness = await createHarness({ engine: detect(`${DEAD}${delimiter}${folderWith(TOOLS)}`) });
    onTestFinished(() => harness.close());
    const { engine, notices } = await harness.run('1');
    expect(engine).toMatchObject({
      name: 'bubblewrap',
      refused: [{ engine: 'podman' }, { engine: 'docker' }],
    });
    expect(notices[0]).toMatch(/Not used: podman does not answer: .*; docker does not answer: /);
  });

  it('is used without a notice if it was requested', async () => {
    const harness = await createHarness({ engine: detect(folderWith(TOOLS), 'bubblewrap') });
    onTestFinished(() => harness.close());
    expect(await harness.run('1')).toMatchObject({ engine: { name: 'bubblewrap', refused: [] }, notices: [] });
  });

  it('is not used if the user requires a container', () => {
    expect(() => detect(folderWith(TOOLS), 'container')).toThrow(
      'no engine can be used (podman is not on PATH; docker is not on PATH)',
    );
  });

  it('names a missing command', async () => {
    await expect(startUntilReady(detect(folderWith(['bwrap']), 'bubblewrap'), READY)).rejects.toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: 'bubblewrap needs choom, which is not on PATH',
      hint: 'Install the package util-linux.',
    });
  });

  it('reports that namespaces are forbidden', async () => {
    const words = 'bwrap: No permissions to create new namespace, likely because the kernel does not allow it';
    const folder = folderWith(['choom', 'prlimit', 'setpriv'], { bwrap: `echo "${words}" >&2; exit 1` });
    await expect(startUntilReady(detect(folder, 'bubblewrap'), READY)).rejects.toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: `bubblewrap may not create namespaces: ${words}`,
      hint: expect.stringMatching(/./),
    });
  });

  it('shows only the programs of the host', async () => {
    const harness = await createHarness({ engine: detect(folderWith(TOOLS), 'bubblewrap') });
    onTestFinished(() => harness.close());
    const seen = await harness.run('import os; print(*sorted(os.listdir("/")), "|", *sorted(os.listdir("/etc")))');
    const [root, etc] = seen.stdout.head.trim().split(' | ');
    const allowed = ['bin', 'dev', 'etc', 'lib', 'lib32', 'lib64', 'libx32', 'proc', 'sbin', 'tmp', 'usr', 'workspace'];
    expect(root?.split(' ').filter((name) => !allowed.includes(name))).toEqual([]);
    const shown = Object.keys(SHOWN_IN_ETC).map((name) => name.split('/')[0]);
    const own = ownFiles('65534').map(({ path }) => path.slice('/etc/'.length));
    expect(etc?.split(' ').filter((name) => ![...shown, ...own].includes(name))).toEqual([]);
  });

  it('shows no file of /etc that is not named, and none of its accounts and hosts', async () => {
    const harness = await createHarness({ engine: detect(folderWith(TOOLS), 'bubblewrap') });
    onTestFinished(() => harness.close());
    const code = [
      'import json, os',
      'found = [os.path.join(folder, name) for folder, _, names in os.walk("/etc") for name in names]',
      'own = {name: open(f"/etc/{name}").read() for name in ("passwd", "group", "hosts", "nsswitch.conf")}',
      'print(json.dumps([sorted(found), own]))',
    ].join('\n');
    const { stdout } = await harness.run(code);
    const [found, own] = JSON.parse(stdout.head) as [string[], Record<string, string>];
    const named = Object.keys(SHOWN_IN_ETC).map((name) => `/etc/${name}`);
    const files = found.filter((path) => !named.some((one) => path === one || path.startsWith(`${one}/`)));
    expect(files).toEqual(['/etc/group', '/etc/hosts', '/etc/nsswitch.conf', '/etc/passwd']);
    expect(own).toMatchObject({
      passwd: 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/workspace:/bin/sh\n',
      group: 'root:x:0:\nnogroup:x:65534:\n',
    });
    expect(own['hosts']).not.toContain(hostname());
  });

  // Debian's matplotlib could not be imported, getpass.getuser() raised KeyError, and mimetypes knew half of the types.
  it('has what Python packages read in /etc', async () => {
    const harness = await createHarness({ engine: detect(folderWith(TOOLS), 'bubblewrap') });
    onTestFinished(() => harness.close());
    const facts = [
      'import json, mimetypes, os, re, socket',
      'def port(name):',
      '    try:',
      '        return socket.getservbyname(name)',
      '    except OSError:',
      '        return None',
      `shown = {name: os.path.exists(f"/etc/{name}") for name in ${JSON.stringify(Object.keys(SHOWN_IN_ETC))}}`,
      'types = [mimetypes.guess_type(f"x.{end}")[0] for end in ("docx", "webp", "parquet", "csv", "tex")]',
      'print(json.dumps([shown, types, port("postgresql"), os.path.getsize("/etc/localtime")]))',
    ].join('\n');
    const here = JSON.parse(execFileSync('/usr/bin/python3', ['-I', '-c', facts], { encoding: 'utf8' })) as unknown;
    const { stdout } = await harness.run(facts);
    expect(JSON.parse(stdout.head)).toEqual(here);
    const names = await harness.run(
      [
        'import getpass, grp, os, pwd, socket, subprocess',
        'user = pwd.getpwuid(os.getuid())',
        'address = socket.getaddrinfo("localhost", 80)[0][4][0]',
        'program = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()',
        'getpass.getuser(), user.pw_name, user.pw_dir, grp.getgrgid(os.getgid()).gr_name, program, address',
      ].join('\n'),
    );
    expect(names.value).toMatch(/^\('nobody', 'nobody', '\/workspace', 'nogroup', 'nobody', '(127\.0\.0\.1|::1)'\)$/);
  });

  it('names any user', async () => {
    const harness = await createHarness({ engine: detect(folderWith(TOOLS), 'bubblewrap', '1234:5678') });
    onTestFinished(() => harness.close());
    const { value } = await harness.run(
      'import getpass, grp, os; getpass.getuser(), grp.getgrgid(os.getgid()).gr_name',
    );
    expect(value).toBe("('sandbox', 'sandbox')");
  });

  it('does not pass on descriptors that the bridge inherited', async () => {
    const loader = join(ROOT, 'scripts', 'typescript-loader.mjs');
    const script = join(ROOT, 'test', 'fixtures', 'engines', 'inheriting.ts');
    // Node uses the low numbers itself.
    const child = spawn('bash', ['-c', 'exec "$@" 40</', 'bash', process.execPath, '--import', loader, script], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.setEncoding('utf8');
    const [reported] = (await once(child.stdout, 'data')) as [string];
    expect(reported).toBe('[]');
    await once(child, 'exit');
  });

  it('ends all processes if the bridge is killed', async () => {
    const owner = await startOwner(bubblewrap ?? expect.fail());
    const processes = clientsOf(owner.sandboxId).flatMap((pid) => [pid, ...descendantsOf(pid)]);
    expect(processes.length).toBeGreaterThanOrEqual(2);
    await owner.kill();
    await expect.poll(() => processes.filter(isAlive)).toEqual([]);
  });

  it('ends all processes if the bwrap command is killed', async () => {
    const engine = detect(folderWith(TOOLS), 'bubblewrap');
    const sandbox = await startPython(engine, 'import time\nprint("ready")\ntime.sleep(600)');
    await firstOutput(sandbox);
    const [client = 0] = clientsOf(sandbox.id);
    const inside = descendantsOf(client);
    expect(inside.length).toBeGreaterThanOrEqual(1);
    process.kill(client, 'SIGKILL');
    await sandbox.exited;
    await expect.poll(() => inside.filter(isAlive)).toEqual([]);
  });

  it.runIf(isRoot)('works for an ordinary user', async () => {
    const path = (name: string) => findExecutable(name, processEnvironment()) ?? name;
    const command = buildBubblewrapCommand({
      tools: { bwrap: path('bwrap'), choom: path('choom'), prlimit: path('prlimit') },
      name: 'mcp-bridge-normal-1',
      limits: TEST_LIMITS,
      user: '65534:65534',
      interpreter: { path: '/usr/bin/python3' },
      folders: ['bin', 'lib', 'lib64'].map((name) => ({ path: `/${name}`, linkTarget: `usr/${name}` })),
      command: ['python3', '-I', '-c', 'import os; print(os.getpid(), os.getuid(), os.path.exists("/home"))'],
    });
    const [executable = '', ...words] = [...becomeUser(ORDINARY_USER_ID), ...command];
    const { stderr, stdout } = await runEngineCommand({ executable, env: {} }, words);
    expect({ stderr, stdout }).toEqual({ stderr: '', stdout: '1 65534 False' });
  });
});
