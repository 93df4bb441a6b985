/** What is masked in texts of the bridge that belong to no server: the secrets of all entries, wherever they stand. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { createConfiguredServers } from '../../../src/bridge/build-servers.ts';
import { createSecretMask } from '../../../src/secrets/secret-mask.ts';
import { loadSettings } from '../../../src/settings/settings.ts';

async function configure(env: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'secret-mask-'));
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

it('masks texts, and every text of other values', async () => {
  const { mask } = await configure({ API_KEY: 'entry-5ecret-2' });
  expect(mask('a entry-5ecret-2 b')).toBe('a *** b');
  expect(mask({ given: { text: ['entry-5ecret-2'] }, tool: 'echo' })).toEqual({
    given: { text: ['***'] },
    tool: 'echo',
  });
});

it('masks what a file gave as soon as the server was started with it', async () => {
  const { servers, mask } = await configure({ API_KEY: '${file:key}' });
  const [notes] = servers.definitions().values();
  expect(mask('file-5ecret-1')).toBe('file-5ecret-1');
  expect((await servers.prepare(notes ?? expect.fail('no server'))).env).toEqual({ API_KEY: 'file-5ecret-1' });
  expect(mask('file-5ecret-1')).toBe('***');
});

it('follows the entries, and keeps what they were filled with', async () => {
  const { servers, write, mask } = await configure({ API_KEY: '${file:key}', OTHER_KEY: 'entry-5ecret-2' });
  const [notes] = servers.definitions().values();
  await servers.prepare(notes ?? expect.fail('no server'));
  write({ env: { API_KEY: '${file:key}', OTHER_KEY: 'another-5ecret' } });
  servers.refresh();
  expect(mask('entry-5ecret-2 another-5ecret file-5ecret-1')).toBe('*** *** ***');
  expect(servers.secrets()).toBe(servers.secrets());
});
