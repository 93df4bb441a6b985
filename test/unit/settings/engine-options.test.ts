import { join } from 'node:path';
import { expect, it } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { principalFolder, profileFolder } from '../../../src/core/state/principals.ts';
import { engineOptions } from '../../../src/edges/settings/engine-options.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';

it('each principal and profile has a store of packages of its own, whose name does not have that of its token', () => {
  const storeOf = (stateDir: string, folder?: string) => {
    const settings = loadSettings({ HOME: '/home/ada', MCP_BRIDGE_STATE_DIR: stateDir });
    return engineOptions(settings, silentLogger, folder).packages;
  };
  const own = storeOf('/srv/one');
  expect(own).toEqual({ volume: 'mcp-bridge-packages', folder: '/srv/one/.cache/packages', network: 'default' });
  const longName = `https://issuer.example#${'x'.repeat(1_000)}`;
  const folders = ['alice', 'bob', longName].map((name) => principalFolder('/srv/one', name));
  const profile = profileFolder(folders[0] ?? '', 'work');
  const stores = [
    ...[...folders, profile, profileFolder('/srv/one', 'work')].map((folder) => storeOf('/srv/one', folder)),
    storeOf('/srv/two', principalFolder('/srv/two', 'alice')),
  ];
  expect(new Set(stores.map((store) => store?.volume)).size).toBe(6);
  expect(new Set(stores.map((store) => store?.folder)).size).toBe(6);
  for (const store of stores) {
    expect(store?.volume).toMatch(/^mcp-bridge-packages-[0-9a-f]{16}$/);
  }
  expect(stores[0]?.operators).toEqual({ volume: own?.volume, folder: join('/srv/one/.cache/packages') });
});
