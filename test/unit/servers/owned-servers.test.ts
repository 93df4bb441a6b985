import { expect, it } from 'vitest';
import { ownServers } from '../../../src/edges/servers/owned-servers.ts';
import { parseServerFile } from '../../../src/edges/servers/server-file.ts';

const FILE = '/state/servers.json';
const read = (entries: object) => {
  const { servers, issues } = parseServerFile(FILE, JSON.stringify({ mcpServers: entries }), {
    home: '/home',
    env: {},
  });
  return { servers: new Map(servers.map((one) => [one.name, one])), issues };
};
const ENTRIES = {
  own: { command: 'run', env: { KEY: '${secret:KEY}' }, per: 'user' },
  shared: { command: 'run', env: { KEY: '${secret:KEY}' } },
  plain: { command: 'run' },
};
const alice = { name: 'alice', folder: '/state/of-alice' };
const bob = { name: 'bob', folder: '/state/of-bob' };

it('gives each principal another server by the same name, and shares the rest', () => {
  const found = read(ENTRIES);
  const of = (owner: typeof alice | undefined) =>
    ownServers(() => found, { owner, secretsVersion: () => '1' })().servers;
  const hashes = [undefined, alice, bob].map((owner) => of(owner).get('own')?.definitionHash);
  expect(new Set(hashes).size).toBe(3);
  expect(of(alice).get('own')?.owner).toEqual(alice);
  expect(of(undefined).get('own')?.owner).toBeUndefined();
  for (const name of ['shared', 'plain']) {
    expect(of(alice).get(name)?.definitionHash).toBe(of(bob).get(name)?.definitionHash);
    expect(of(alice).get(name)?.owner).toBeUndefined();
  }
  expect(of(alice).get('plain')).toBe(found.servers.get('plain'));
});

it('is the same object until the entries or a secret change', () => {
  let found = read(ENTRIES);
  const versions = new Map<string | undefined, string>([
    ['alice', '1'],
    [undefined, '1'],
  ]);
  const discover = ownServers(() => found, {
    owner: alice,
    secretsVersion: (owner) => versions.get(owner?.name) ?? '',
  });
  const first = discover();
  expect(discover()).toBe(first);
  versions.set('alice', '2');
  const second = discover();
  expect(second).not.toBe(first);
  expect(second.servers.get('own')?.secretsVersion).toBe('2');
  expect(second.servers.get('shared')?.secretsVersion).toBe('1');
  found = read({ plain: ENTRIES.plain });
  versions.set('alice', '3');
  const third = discover();
  expect([...third.servers.keys()]).toEqual(['plain']);
  expect(discover()).toBe(third);
});

it.each([{ per: 'users' }, { per: true }, { perUser: true }, { Per: 'user' }, { per_user: true }])(
  'never shares a server because of a misspelling: %j',
  (wrong) => {
    const { servers, issues } = read({ own: { command: 'run', ...wrong } });
    expect(servers.size).toBe(0);
    expect(issues).toMatchObject([{ level: 'error', server: 'own' }]);
  },
);
