// Tags: anywhere
/** `serve --http` with tokens of an OAuth issuer: the built command, a real issuer on loopback, and real sandboxes. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it, onTestFinished } from 'vitest';
import { principalFolder } from '../../src/core/state/principals.ts';
import { SecretFile } from '../../src/features/secrets/index.ts';
import { CLI, fixtureServer } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { startHttpBridge } from '../support/http-bridge.ts';
import { startMini } from '../support/http-servers.ts';
import { AUDIENCE, startTokenIssuer } from '../support/token-issuer.ts';

// No engine knows whose its cells are, so one is enough.
for (const engine of (await coverEngines()).slice(0, 1)) {
  it(`serves whoever a token of the issuer stands for, and passes the token to no one, on ${engine.label}`, async () => {
    const issuer = await startTokenIssuer();
    const seen: string[] = [];
    const remote = await startMini({
      before({ request }) {
        seen.push(JSON.stringify(request.headers));
        return false;
      },
    });
    const own = fixtureServer('of-one-person.mjs');
    const servers = {
      echo: fixtureServer('echo.mjs'),
      remote: { url: remote.url },
      own: { ...own, env: { ...own.env, KEY: '${secret:KEY}' }, per: 'user' },
    };
    const env = {
      MCP_BRIDGE_HTTP_OAUTH_ISSUER: issuer.issuer,
      MCP_BRIDGE_HTTP_OAUTH_AUDIENCE: AUDIENCE,
      MCP_BRIDGE_HTTP_OAUTH_SCOPES: 'mcp',
      MCP_BRIDGE_LOG_LEVEL: 'DEBUG',
    };
    const bridge = await startHttpBridge({ engine, servers, env });
    onTestFinished(() => bridge.remove());
    const [token, bobs] = [await issuer.token(), await issuer.token({ sub: 'bob' })];
    const principal = `${issuer.issuer}#alice`;
    await new SecretFile(principalFolder(bridge.folder, principal)).set('KEY', 'alice-5ecret-key');
    expect(await bridge.command('secrets', 'list', '--for', principal)).toMatch(/^KEY/);

    const alice = await bridge.connect({ era: '2026-07-28', token });
    const bob = await bridge.connect({ era: '2025-11-25', token: bobs });
    onTestFinished(async () => void (await Promise.all([alice.close(), bob.close()])));
    const code = `
kept = 41
print(await mcp_own.fingerprint())
print(await mcp_echo.process(), await mcp_echo.request())
print(await mcp_remote.act())`;
    const text = await alice.run(code, { servers: ['own', 'echo', 'remote'], session: 'work' });
    expect(text).toContain('done');
    expect(text).toContain(createHash('sha256').update('alice-5ecret-key').digest('hex'));
    expect(await bob.run('print("kept" in globals())', { servers: ['echo'], session: 'work' })).toContain('False');
    expect(await bob.run('await mcp_own.fingerprint()', { servers: ['own'] })).toContain(
      `there is no secret 'KEY' of ${issuer.issuer}#bob`,
    );

    // With a new token of the same person, the session goes on.
    const again = await bridge.connect({ era: '2026-07-28', token: await issuer.token({ exp: 4_000_000_000 }) });
    expect(await again.run('print(kept + 1)', { session: 'work' })).toContain('42');
    await again.close();

    const parts = token.split('.').slice(1);
    const everything = [text, bridge.log(), ...seen, ...filesIn(bridge.folder)].join('\n');
    expect(parts.filter((part) => everything.includes(part))).toEqual([]);
    expect(seen.length).toBeGreaterThan(0);
    expect(await bridge.command('audit', 'show', '--json').catch(String)).not.toContain(parts[0]);
  });
}

/** The text of every file below. One that is being replaced may be gone when it is read. */
function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.flatMap((entry) => {
    try {
      return [readFileSync(join(entry.parentPath, entry.name), 'latin1')];
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOENT' });
      return [];
    }
  });
}

it.each([
  [{ MCP_BRIDGE_HTTP_OAUTH_ISSUER: 'https://auth.example' }, /MCP_BRIDGE_HTTP_OAUTH_AUDIENCE/],
  [{ MCP_BRIDGE_HTTP_OAUTH_ISSUER: 'http://auth.example' }, /must begin with https:/],
  [{ MCP_BRIDGE_HTTP_OAUTH_ISSUER: 'https://auth.example/?x=1' }, /no query/],
  [{ MCP_BRIDGE_HTTP_OAUTH_SCOPES: 'a"b' }, /no quotes/],
])('does not start with %j', async (env, reason) => {
  const { exitCode, stderr } = await execa(process.execPath, [CLI, 'serve', '--http', '127.0.0.1:0'], {
    env,
    reject: false,
  });
  expect([exitCode, stderr]).toEqual([78, expect.stringMatching(reason)]);
});
