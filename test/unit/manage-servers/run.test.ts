import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createConfiguredServers } from '../../../src/app/bridge/build-servers.ts';
import type { ServersCommand } from '../../../src/app/manage-servers/command.ts';
import { concernedBy } from '../../../src/app/manage-servers/run.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';

/** The warnings about server files that a command logs first. */
async function warnings(action: ServersCommand['action'], fields: object = {}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'concerned-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const entries = { 'git-hub': { command: 'x', env: { TOKEN: '${NOT_SET}' } }, memory: { command: 'x' } };
  writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: entries }));
  const said: string[] = [];
  const logger = { ...silentLogger, warning: (message: string) => void said.push(message) };
  const concerns = concernedBy({ command: 'servers', action, isJson: false, ...fields } as ServersCommand);
  const servers = await createConfiguredServers(loadSettings({ MCP_BRIDGE_STATE_DIR: folder }), logger, { concerns });
  onTestFinished(() => servers.pool.close());
  servers.refresh();
  return said.join('\n');
}

it('warns only about entries of the servers that are named', async () => {
  expect(await warnings('test', { names: ['memory'] })).toBe('');
  expect(await warnings('call', { server: 'memory', tool: 'git-hub' })).toBe('');
  const warning = /the variable NOT_SET is not set → Set NOT_SET in the environment of the bridge/;
  expect(await warnings('test', { names: ['memory', 'Git_Hub'] })).toMatch(warning);
  expect(await warnings('test', { names: [] })).toMatch(warning);
  expect(await warnings('list')).toMatch(warning);
  expect(await warnings('search', { words: ['memory'] })).toMatch(warning);
});
