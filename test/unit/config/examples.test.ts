/** Every file of servers.d can be copied to the state directory as it is. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { discoverServers } from '../../../src/config/discover.ts';

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'servers.d');

it('loads every example without a finding', () => {
  const { servers, issues } = discoverServers({ stateDir: FOLDER, env: {} });
  expect(issues).toEqual([]);
  expect([...servers.keys()].toSorted()).toEqual(['everything', 'fetch', 'filesystem', 'git', 'github', 'memory']);
  expect(new Set([...servers.values()].map((server) => server.file)).size).toBe(readdirSync(FOLDER).length);
  expect([...servers.values()].every((server) => server.description !== undefined)).toBe(true);
});
