import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../../src/core/base/log.ts';
import { createLoginStore, type LoginRecord } from '../../../../src/edges/upstream/oauth/login-store.ts';

const KEY = { name: 'tracker', url: 'https://tracker.example/mcp' };

test.each<[string, Partial<LoginRecord['tokens']>, string]>([
  ['without an end', {}, 'usable'],
  ['that ends later', { expires_in: 7_200 }, 'usable'],
  ['that has ended', { expires_in: 1_800 }, 'expired'],
  ['that has ended and can be renewed', { expires_in: 1_800, refresh_token: 'r' }, 'usable'],
])('a login of an hour ago %s', async (_, tokens, standing) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'bridge-login-store-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const store = createLoginStore(stateDir, silentLogger);
  expect(await store.standing(KEY)).toBe('none');
  await store.save(KEY, {
    url: KEY.url,
    tokens: { access_token: 'a', token_type: 'Bearer', ...tokens },
    client: { client_id: 'c' },
    authorizationServer: 'https://login.example',
    redirectUrl: 'http://127.0.0.1/callback',
  });
  const anHourAgo = new Date(Date.now() - 3_600_000);
  for (const name of readdirSync(join(stateDir, '.logins'))) {
    utimesSync(join(stateDir, '.logins', name), anHourAgo, anHourAgo);
  }
  expect(await store.standing(KEY)).toBe(standing);
  expect(await store.standing({ ...KEY, url: 'https://other.example/mcp' })).toBe('none');
});
