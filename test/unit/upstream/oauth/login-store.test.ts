import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createLogger, silentLogger } from '../../../../src/base/log.ts';
import { createLoginStore } from '../../../../src/upstream/oauth/login-store.ts';

const KEY = { name: 'tracker', url: 'https://tracker.example/mcp' };
const LOGIN = {
  url: KEY.url,
  redirectUrl: 'http://127.0.0.1:1/callback',
  client: { client_id: 'c' },
  tokens: { access_token: 'access-1', token_type: 'Bearer' },
  authorizationServer: 'https://login.example',
};
/** A file written by a version that used the keyring. */
const SEALED = '{"sealed":"b2xkIGVuY3J5cHRlZCBsb2dpbg=="}';

/** Creates a state directory with one login; returns the path of its file too. */
async function keepLogin(): Promise<{ stateDir: string; file: string }> {
  const stateDir = mkdtempSync(join(tmpdir(), 'login-store-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  await createLoginStore(stateDir, silentLogger).save(KEY, LOGIN);
  const [name = ''] = readdirSync(join(stateDir, '.logins'));
  return { stateDir, file: join(stateDir, '.logins', name) };
}

it('a login is a file that only its owner can read, and is used only for its address', async () => {
  const { stateDir, file } = await keepLogin();
  if (process.platform !== 'win32') {
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }
  const store = createLoginStore(stateDir, silentLogger);
  expect(await store.load(KEY)).toEqual(LOGIN);
  expect(await store.load({ ...KEY, url: 'https://other.example/mcp' })).toBeUndefined();
});

it('an encrypted login of an earlier version is ignored, reported once, and kept until a new one is saved', async () => {
  const { stateDir, file } = await keepLogin();
  writeFileSync(file, SEALED);
  const lines: string[] = [];
  const store = createLoginStore(
    stateDir,
    createLogger('WARNING', (line) => lines.push(line)),
  );
  expect([await store.load(KEY), await store.load(KEY)]).toEqual([undefined, undefined]);
  expect(lines).toEqual([
    expect.stringMatching(
      /WARNING The login at server 'tracker' is encrypted .* run: mcp-server-code-execution-mode servers login tracker\n$/,
    ),
  ]);
  expect(readFileSync(file, 'utf8')).toBe(SEALED);
  await store.save(KEY, LOGIN);
  expect(await store.load(KEY)).toEqual(LOGIN);
});

it.each(['', 'null', '[]', '"text"', '{}', '{"url":1}'])('a file with %j in it is not a login', async (content) => {
  const { stateDir, file } = await keepLogin();
  writeFileSync(file, content);
  expect(await createLoginStore(stateDir, silentLogger).load(KEY)).toBeUndefined();
});
