/** Logins sealed with a key of a real keyring: gnome-keyring on a session bus of its own. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createKeyring, type KeyringOptions } from '../../../src/secrets/keyring.ts';
import { createLoginStore } from '../../../src/upstream/oauth/login-store.ts';
import { failureOf } from '../../support/upstream.ts';

const PROGRAMS = ['dbus-daemon', 'gnome-keyring-daemon', 'secret-tool', 'gdbus'];
const lacking = PROGRAMS.filter((program) => spawnSync('which', [program]).status !== 0);
const prefix = lacking.length === 0 ? '' : `not covered: a keyring needs ${lacking.join(', ')}: `;

const KEY = { name: 'tracker', url: 'https://tracker.example/mcp' };
const LOGIN = {
  url: KEY.url,
  redirectUrl: 'http://127.0.0.1:1/callback',
  client: { client_id: 'c' },
  // Longer than what secret-tool would keep.
  tokens: { access_token: `access-${'x'.repeat(9_000)}`, refresh_token: 'refresh-1' },
};

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'keyring-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A session bus with an unlocked keyring that ends with the test; `lock` locks it. */
async function startKeyring() {
  const folder = makeFolder();
  mkdirSync(join(folder, 'run'), { mode: 0o700 });
  const address = `unix:path=${join(folder, 'bus')}`;
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    XDG_RUNTIME_DIR: join(folder, 'run'),
    DBUS_SESSION_BUS_ADDRESS: address,
  };
  const words = ['--session', '--nofork', '--nopidfile', '--print-address', `--address=${address}`];
  const bus = start('dbus-daemon', words, env);
  await once(bus.stdout ?? bus, 'data');
  const daemon = start('gnome-keyring-daemon', ['--foreground', '--unlock', '--components=secrets'], env);
  daemon.stdin?.end('password');
  await execa('gdbus', ['wait', '--session', '--timeout', '10', 'org.freedesktop.secrets'], { env });
  const lock = (): void => {
    const [path, method] = ['/org/freedesktop/secrets', 'org.freedesktop.Secret.Service.Lock'];
    const what = `['${path}/collection/login']`;
    execFileSync('gdbus', ['call', '--session', '-d', 'org.freedesktop.secrets', '-o', path, '-m', method, what], {
      env,
    });
  };
  return { env, lock };
}

function start(command: string, words: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(command, words, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const keyringOf = (env: KeyringOptions['env'], mode: 'auto' | 'off' = 'auto') =>
  createKeyring({ mode, platform: 'linux', env });
const fileIn = (stateDir: string): string => {
  const folder = join(stateDir, '.logins');
  return readFileSync(join(folder, readdirSync(folder)[0] ?? ''), 'utf8');
};

describe.skipIf(lacking.length > 0)(`${prefix}a keyring`, () => {
  it(`${prefix}seals logins with a key that all bridges find`, async () => {
    const { env } = await startKeyring();
    const stateDir = makeFolder();
    const store = createLoginStore<typeof LOGIN>(stateDir, keyringOf(env));
    expect(await store.seals()).toBe(true);
    await store.save(KEY, LOGIN);
    expect(fileIn(stateDir)).toMatch(/^\{"sealed":"[\w+/=]+"\}$/);
    const other = createLoginStore<typeof LOGIN>(stateDir, keyringOf(env));
    expect(await other.load(KEY)).toEqual(LOGIN);
    // What is sealed is read whatever the setting; what is kept then follows it.
    const open = createLoginStore<typeof LOGIN>(stateDir, keyringOf(env, 'off'));
    expect(await open.load(KEY)).toEqual(LOGIN);
    await open.save(KEY, LOGIN);
    expect(fileIn(stateDir)).toContain('refresh-1');
  });

  it(`${prefix}holds one key in the end when bridges start at once`, async () => {
    const { env } = await startKeyring();
    const keys = await Promise.all(Array.from({ length: 3 }, async () => keyringOf(env).keyForSaving()));
    const later = await keyringOf(env).keyForReading();
    expect(later).toHaveLength(32);
    expect(keys.some((key) => key?.equals(later ?? Buffer.of()) === true)).toBe(true);
  });

  it(`${prefix}that is locked says so, and what to do`, async () => {
    const { env, lock } = await startKeyring();
    const stateDir = makeFolder();
    await createLoginStore<typeof LOGIN>(stateDir, keyringOf(env)).save(KEY, LOGIN);
    lock();
    expect(await failureOf(createLoginStore<typeof LOGIN>(stateDir, keyringOf(env)).load(KEY))).toMatchObject({
      code: 'LOGIN_REQUIRED',
      message: expect.stringContaining('the keyring of the system does not give its key'),
      hint: expect.stringContaining('MCP_BRIDGE_KEYRING=off mcp-server-code-execution-mode servers login tracker'),
    });
    // A new login is kept all the same, in a file for the owner.
    const fresh = createLoginStore<typeof LOGIN>(stateDir, keyringOf(env));
    await fresh.save(KEY, LOGIN);
    expect(fileIn(stateDir)).toContain('refresh-1');
  });

  it(`${prefix}on a bus that never answers holds up a login for a moment, once`, async () => {
    const folder = makeFolder();
    const silent = createServer(() => undefined).listen(join(folder, 'bus'));
    onTestFinished(() => void silent.close());
    let asked = 0;
    silent.on('connection', () => (asked += 1));
    const env = { PATH: process.env['PATH'], DBUS_SESSION_BUS_ADDRESS: `unix:path=${join(folder, 'bus')}` };
    const keyring = createKeyring({ mode: 'auto', platform: 'linux', env, timeLimitMs: 300 });
    expect(await keyring.keyForReading()).toBeUndefined();
    expect(await keyring.keyForReading()).toBeUndefined();
    expect(asked).toBe(1);
  });
});
