// Tags: full, bubblewrap
/**
 * Attacks on the packages of others: of another principal, and of another session of the same one. What Alice, Bob and the operator
 * have installed is in three stores, and code opens only the sets that its session was given.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { coverEngines, coverPackageEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';
import { type HttpClient, startHttpBridge } from '../support/http-bridge.ts';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { makeWheel } from '../support/wheels.ts';

/** Several builders on a busy machine. */
const INSTALL_MS = 300_000;
const ROOT_STORES = '/var/lib/mcp-server-code-execution-mode';

for (const engine of await coverPackageEngines(await coverEngines())) {
  describe(`packages of principals on ${engine.label}`, () => {
    attack(engine);
  });
}

function attack(engine: TestEngine): void {
  const store = `bridge-test-owned-${randomUUID().slice(0, 8)}`;
  let index: PackageIndex;
  let bridge: Awaited<ReturnType<typeof startHttpBridge>>;
  let alice: HttpClient;
  let bob: HttpClient;
  const run = (client: HttpClient, code: string, session = 'work') =>
    client.run(code, { session, timeout: 40 }).then((text) => text.trim());
  /** The same for code that installs something: an installation goes on when its cell has ended. */
  const install = async (client: HttpClient, code: string, session?: string): Promise<string> => {
    let text = '';
    for (let attempt = 0; attempt < 5 && !/^[\w-]+$/.test(text); attempt += 1) {
      // biome-ignore lint/performance/noAwaitInLoops: one cell after the other.
      text = await run(client, code, session);
    }
    return text;
  };
  /** Where a session sees its set. */
  const pathOf = async (client: HttpClient, session?: string) => {
    const text = await run(
      client,
      'import sys\nprint([p for p in sys.path if p.startswith("/packages/")][0])',
      session,
    );
    return text.replace(/\/lib$/, '');
  };
  /** What code can do with a path that it was not given. */
  const touch = (path: string): string => `
import os, sys, fcntl
found = []
for what in (${JSON.stringify(path)}, ${JSON.stringify(`${path}/lib`)}, ${JSON.stringify(`${path}/lock`)}):
    try:
        fcntl.flock(os.open(what, os.O_RDONLY), fcntl.LOCK_SH | fcntl.LOCK_NB)
        found.append(what)
    except OSError:
        pass
for folder in ("/packages/sets", "/packages/wheels", "/packages/tmp", "/packages/tools", "/packages-of-operator"):
    try:
        found += [f"{folder}/{name}" for name in os.listdir(folder)]
    except OSError:
        pass
print(found)`;

  beforeAll(async () => {
    index = await startPackageIndex();
    index.add(makeWheel({ name: 'honest' }), makeWheel({ name: 'added' }), makeWheel({ name: 'private-thing' }));
    bridge = await startHttpBridge({
      engine,
      tokens: ['alice', 'bob'],
      policy: { packages: [{ effect: 'deny', package: 'denied' }] },
      env: {
        MCP_BRIDGE_PACKAGES: 'common',
        MCP_BRIDGE_PACKAGES_STORE: store,
        MCP_BRIDGE_PACKAGES_NETWORK: 'host',
        MCP_BRIDGE_TIMEOUT: '120',
        PIP_INDEX_URL: index.url,
        PIP_CONFIG_FILE: '/dev/null',
        UV_NO_CONFIG: '1',
      },
    });
    const [forAlice = '', forBob = ''] = bridge.tokens;
    const person = () => ({ action: 'accept', content: { install: true } }) as const;
    alice = await bridge.connect({ era: '2026-07-28', token: forAlice, person });
    bob = await bridge.connect({ era: '2026-07-28', token: forBob });
    expect(await install(alice, 'import private_thing\nprint(private_thing.name)')).toBe('private-thing');
  }, INSTALL_MS);
  afterAll(async () => {
    await Promise.all([alice?.close(), bob?.close()]);
    await bridge?.remove();
    await index.close();
    if (engine.isContainer) {
      const { stdout } = await engine.run('volume', 'ls', '--quiet', '--filter', `name=${store}`);
      for (const volume of stdout.split('\n').filter((name) => name.startsWith(store))) {
        await engine.run('volume', 'rm', '--force', volume);
      }
    } else {
      const folders = readdirSync(ROOT_STORES).filter((name) => name.startsWith(store));
      folders.forEach((name) => rmSync(join(ROOT_STORES, name), { recursive: true, force: true }));
    }
  });

  it('what one principal has installed neither exists for another, nor can be locked by it', {
    timeout: INSTALL_MS,
  }, async () => {
    const path = await pathOf(alice);
    expect(path).toMatch(/^\/packages\/sets\/[0-9a-f]{64}$/);
    expect(await run(bob, touch(path))).toBe('[]');
    expect(await run(bob, `import sys\nsys.path.insert(0, "${path}/lib")\nimport private_thing`)).toMatch(
      /APPROVAL_UNAVAILABLE|No module named/,
    );
    // Nor is the consent of Alice that of Bob.
    expect(await run(bob, 'await runtime.install("private-thing")')).toContain('APPROVAL_UNAVAILABLE');
    expect(await run(alice, 'print(private_thing.name)')).toBe('private-thing');
  });

  it('a session opens no set that it was not given, by its name, its hash or a list', {
    timeout: INSTALL_MS,
  }, async () => {
    const path = await pathOf(alice);
    const wheel = makeWheel({ name: 'private-thing' });
    const look = `
import hashlib, os, sys
python = f"{sys.implementation.cache_tag} {sys.platform} {os.uname().machine}"
guess = hashlib.sha256("\\n".join([python, "${wheel.sha256}"]).encode()).hexdigest()
print([each for each in (f"/packages/sets/{guess}", "/packages/wheels/${wheel.sha256}") if os.path.exists(each)])`;
    expect(await run(alice, look, 'other')).toBe('[]');
    // On bubblewrap as an ordinary user, sessions own the files of their principal; these tests run it as root.
    const listed = await run(alice, touch('/packages/sets/none'), 'other');
    expect(listed).toBe('[]');
    expect(await run(alice, touch(path))).toContain(path);
  });

  it('what the operator adds is had by all, from their own stores, without an index', {
    timeout: INSTALL_MS,
  }, async () => {
    await bridge.command('packages', 'add', 'added');
    const locks = () => readdirSync(join(bridge.folder, 'packages')).map((name) => [name, readLock(name)]);
    const readLock = (name: string) => readFileSync(join(bridge.folder, 'packages', name), 'utf8');
    const before = locks();
    const asked = index.requests.length;
    const paths: string[] = [];
    for (const client of [alice, bob]) {
      expect(await install(client, 'import added\nprint(added.name)', 'adds')).toBe('added');
      paths.push(await pathOf(client, 'adds'));
    }
    expect(index.requests.slice(asked)).toEqual([]);
    expect(new Set(paths).size).toBe(2);
    expect(await run(bob, touch(paths[0] ?? ''), 'looks')).toBe('[]');
    expect(locks()).toEqual(before);
    expect(await bridge.command('packages', 'list')).toMatch(/Tokens have stores of their own: of-alice .*of-bob /);
  });

  it('a denied package is refused, whoever has it', { timeout: INSTALL_MS }, async () => {
    index.add(makeWheel({ name: 'denied' }));
    const path = await pathOf(alice);
    for (const client of [alice, bob]) {
      expect(await run(client, 'await runtime.install("denied")', 'denied')).toContain('POLICY_DENIED');
    }
    const claims = `
import gc
for each in [one for one in gc.get_objects() if type(one).__name__ == "Packages"]:
    frame = {"modules": [], "requirements": ["private-thing"], "is_gone": False, "set": "${path.slice(-64)}"}
    try:
        print(await each._host.call("install_packages", frame))
    except Exception as error:
        print(str(error))`;
    expect(await run(bob, claims, 'claims')).toContain('private-thing was not installed');
  });

  it('the operator removes the packages of principals, too', { timeout: INSTALL_MS }, async () => {
    await Promise.all([alice, bob].map((client) => run(client, 'runtime.reset()', 'adds')));
    expect(
      await bridge
        .command('packages', 'remove', 'added')
        .catch((error: unknown) => String((error as { stdout?: unknown }).stdout)),
    ).toMatch(/removed {2}added 1\.0/);
  });
}
