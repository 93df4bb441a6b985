// Tags: anywhere, full
/**
 * Servers with `"per": "user"`: everyone has the same server by the same name, and Bob tries to see something of Alice's: her secret,
 * her tools, their texts, or that of an error.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { principalFolder } from '../../src/core/state/principals.ts';
import { SecretFile } from '../../src/features/secrets/index.ts';
import { enginesForBridge } from '../support/attacks.ts';
import { fixtureServer } from '../support/bridge-client.ts';
import { type HttpBridge, type HttpClient, startHttpBridge } from '../support/http-bridge.ts';

const KEYS = { alice: 'alice-5ecret-key', bob: 'bob-5ecret-key' };
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const entry = fixtureServer('of-one-person.mjs');
const SERVERS = {
  own: { ...entry, env: { ...entry.env, KEY: '${secret:KEY}' }, per: 'user' },
  shared: { ...entry, env: { ...entry.env, KEY: '${secret:KEY}' } },
};
const SEARCH = 'print(await runtime.search_tool_docs("notes"), [name for name in dir(mcp_own) if "notes" in name])';
const servers = ['own'];

for (const engine of await enginesForBridge()) {
  describe(`a server of each user on ${engine.label}`, () => {
    let bridge: HttpBridge & { readonly tokens: string[] };
    let clients: HttpClient[] = [];
    const store = (name: string, value: string) =>
      new SecretFile(name === '' ? bridge.folder : principalFolder(bridge.folder, name)).set('KEY', value);
    const connect = async (): Promise<HttpClient[]> => {
      const era = '2026-07-28';
      return Promise.all(bridge.tokens.map((token) => bridge.connect({ era, token })));
    };

    beforeAll(async () => {
      const tokens = ['alice', 'bob', 'carol'];
      bridge = await startHttpBridge({ engine, servers: SERVERS, tokens });
      await store('', 'everyone-5ecret-key');
      await store('alice', KEYS.alice);
      await store('bob', KEYS.bob);
      clients = await connect();
    });
    afterAll(async () => {
      await Promise.all(clients.map((client) => client.close()));
      await bridge.remove();
    });

    it('has the secret of whoever calls it, also at the same time', async () => {
      const code = 'print([await mcp_own.fingerprint() for _ in range(20)])';
      const [alice = '', bob = ''] = await Promise.all(
        clients.slice(0, 2).map((client) => client.run(code, { servers, session: 'work' })),
      );
      expect([alice.includes(hashOf(KEYS.alice)), alice.includes(hashOf(KEYS.bob))]).toEqual([true, false]);
      expect([bob.includes(hashOf(KEYS.bob)), bob.includes(hashOf(KEYS.alice))]).toEqual([true, false]);
    });

    it('shows no tool and no text of another, and no change of pins', async () => {
      const [alice, bob] = clients;
      expect(await alice?.run(SEARCH, { servers })).toContain('notes_of_alice');
      const text = (await bob?.run(SEARCH, { servers })) ?? '';
      expect(text).toContain('notes_of_bob');
      expect(text).not.toMatch(/alice|changed/);
      const fails = 'try:\n    await mcp_own.fails()\nexcept Exception as error:\n    print(error)';
      expect(await bob?.run(fails, { servers })).toContain('bob may not do this');
      expect(await bob?.run('await mcp_own.notes_of_alice()', { servers })).not.toContain('notes of alice');
    });

    it('is of no use without a secret: neither another person’s nor the operator’s is taken', async () => {
      const [, , carol] = clients;
      const code = 'print(await mcp_own.fingerprint())';
      const text = (await carol?.run(code, { servers })) ?? '';
      expect(text).toContain("there is no secret 'KEY' of carol");
      expect(text).toContain('secrets set KEY --for carol');
      expect(text).not.toMatch(/alice|bob|everyone/);
      await store('carol', 'carol-5ecret-key');
      expect(await carol?.run(code, { servers })).toContain(hashOf('carol-5ecret-key'));
      await store('carol', 'carol-other-key');
      expect(await carol?.run(code, { servers })).toContain(hashOf('carol-other-key'));
    });

    it('that is shared has the secret of the operator for all', async () => {
      const code = 'print(await mcp_shared.fingerprint())';
      for (const client of clients) {
        expect(await client.run(code, { servers: ['shared'] })).toContain(hashOf('everyone-5ecret-key'));
      }
    });

    it('says nothing of another person’s failed start', async () => {
      const [alice, bob] = clients;
      const code = 'print(await mcp_own.fingerprint())';
      await store('alice', 'alice-refused');
      expect(await alice?.run(code, { servers })).toContain('SERVER_START_FAILED');
      const text = (await bob?.run(`${code}\n${SEARCH}`, { servers })) ?? '';
      expect(text).toContain(hashOf(KEYS.bob));
      expect(text).not.toMatch(/alice|refused/);
      await store('alice', KEYS.alice);
    });

    it('shows nothing of another from what was kept, after a restart', async () => {
      const { folder, tokens } = bridge;
      await Promise.all(clients.map((client) => client.close()));
      await bridge.stop();
      bridge = { ...(await startHttpBridge({ engine, folder, servers: SERVERS })), tokens };
      clients = await connect();
      const [alice, bob] = clients;
      // Without `servers`, nothing is started for it: what is known comes from the catalog that was kept.
      const look = 'print(await runtime.search_tool_docs("notes"))';
      expect(await alice?.run(look)).toContain('notes_of_alice');
      const text = (await bob?.run(look)) ?? '';
      expect(text).toContain('notes_of_bob');
      expect(text).not.toMatch(/alice|carol/);
    });

    it('never has a secret in the log or the audit log', async () => {
      expect(bridge.log()).not.toMatch(/5ecret-key/);
      expect(await bridge.command('audit', 'show').catch(String)).not.toMatch(/5ecret-key/);
    });
  });
}
