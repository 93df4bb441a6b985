// Tags: bubblewrap, user-release
/** Local servers of a bridge that runs in a Pod, beside its service-account token. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createConfiguredServers } from '../../../src/app/bridge/build-servers.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import { startMini } from '../../support/http-servers.ts';
import { failureOf, fixtureServer } from '../../support/upstream.ts';

const IN_POD = { MCP_BRIDGE_RUNTIME: 'kubernetes', MCP_BRIDGE_KUBERNETES_OWNER: 'sandboxes/bridge-0/1-2' };

async function serversWith(env: Readonly<Record<string, string>>) {
  const stateDir = mkdtempSync(join(tmpdir(), 'bridge-beside-'));
  const { url } = await startMini();
  const mcpServers = { local: fixtureServer('echo'), remote: { url } };
  writeFileSync(join(stateDir, 'servers.json'), JSON.stringify({ mcpServers }));
  const settings = loadSettings({ ...env, MCP_BRIDGE_STATE_DIR: stateDir });
  const servers = await createConfiguredServers(settings, silentLogger);
  servers.refresh();
  onTestFinished(async () => {
    await servers.pool.close();
    rmSync(stateDir, { recursive: true });
  });
  return servers;
}

it('are not started, and remote ones are used', async () => {
  const { pool } = await serversWith(IN_POD);
  expect(await failureOf(pool.describe('local'))).toMatchObject({
    code: 'SERVER_START_FAILED',
    message: expect.stringContaining("server 'local' is not started beside the bridge: it could read"),
    hint: expect.stringContaining('MCP_BRIDGE_KUBERNETES_LOCAL_SERVERS=on'),
  });
  expect((await pool.describe('remote')).tools).toHaveLength(1);
});

it.each([
  ['the operator allows it', { ...IN_POD, MCP_BRIDGE_KUBERNETES_LOCAL_SERVERS: '1' }],
  ['the bridge is not in a Pod', { MCP_BRIDGE_RUNTIME: 'kubernetes' }],
  ['sandboxes are not Pods', { ...IN_POD, MCP_BRIDGE_RUNTIME: 'podman' }],
])('are started if %s', async (_why, env) => {
  const { pool } = await serversWith(env);
  expect((await pool.describe('local')).tools.length).toBeGreaterThan(0);
});
