/** The mask for text that belongs to no single server: it hides the secrets of all entries. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createConfiguredServers } from '../../../src/app/bridge/build-servers.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import { createSecretMask } from '../../../src/features/secrets/known-secrets.ts';

async function configure(env: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'known-secrets-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const write = (entry: object) =>
    writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: { notes: { command: 'x', ...entry } } }));
  write({ env });
  writeFileSync(join(folder, 'key'), 'file-5ecret-1');
  const servers = await createConfiguredServers(loadSettings({ MCP_BRIDGE_STATE_DIR: folder }), silentLogger);
  onTestFinished(() => servers.pool.close());
  servers.refresh();
  return { servers, write, mask: createSecretMask(servers.secrets) };
}

it('masks strings, and every string in other values', async () => {
  const { mask } = await configure({ API_KEY: 'entry-5ecret-2' });
  expect(mask('a entry-5ecret-2 b')).toBe('a *** b');
  expect(mask({ given: { text: ['entry-5ecret-2'] }, tool: 'echo' })).toEqual({
    given: { text: ['***'] },
    tool: 'echo',
  });
});

it('masks the value from a file once the server was started with it', async () => {
  const { servers, mask } = await configure({ API_KEY: '${file:key}' });
  const [notes] = servers.definitions().values();
  expect(mask('file-5ecret-1')).toBe('file-5ecret-1');
  expect((await servers.prepare(notes ?? expect.fail('no server'))).env).toEqual({ API_KEY: 'file-5ecret-1' });
  expect(mask('file-5ecret-1')).toBe('***');
});

it('follows changes of the entries, and keeps the resolved values', async () => {
  const { servers, write, mask } = await configure({ API_KEY: '${file:key}', OTHER_KEY: 'entry-5ecret-2' });
  const [notes] = servers.definitions().values();
  await servers.prepare(notes ?? expect.fail('no server'));
  write({ env: { API_KEY: '${file:key}', OTHER_KEY: 'another-5ecret' } });
  servers.refresh();
  expect(mask('entry-5ecret-2 another-5ecret file-5ecret-1')).toBe('*** *** ***');
  expect(servers.secrets()).toBe(servers.secrets());
});
