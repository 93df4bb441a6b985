/** Logging in at a server from the page: the page opens the address, and the login goes on without it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ConfiguredServerSchema, LoginSchema } from '../../../src/record/ui/schema.ts';
import { browse } from '../../support/logins.ts';
import { startOAuth } from '../../support/oauth-provider.ts';
import { newStateDir, startUi } from '../../support/ui-server.ts';

it('answers with the address, and stores the login when the person has used it', async () => {
  const provider = await startOAuth();
  const stateDir = newStateDir();
  const file = join(stateDir, 'mcp-servers.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { remote: { url: provider.url } } }));
  const ui = await startUi({ stateDir, env: { MCP_SERVERS_CONFIG: file } });
  const state = async () => ConfiguredServerSchema.array().parse((await ui.ask('GET', '/api/servers')).json)[0];
  expect(await state()).toMatchObject({ can_log_in: true, logged_in: false });
  const { json, status } = await ui.ask('POST', '/api/servers/remote/login');
  expect([status, json]).toEqual([200, { ok: true, url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/) }]);
  await browse(new URL(LoginSchema.parse(json).url ?? ''));
  await expect.poll(async () => (await state())?.logged_in, { timeout: 5_000 }).toBe(true);
  expect(provider.log).toContain('token:authorization_code');
});
