import { describe, expect, it } from 'vitest';
import { parseServerFile, type ServerDefinition } from '../../../src/edges/servers/server-file.ts';

function read(entries: object | string) {
  const text = typeof entries === 'string' ? entries : JSON.stringify({ mcpServers: entries });
  const { servers, issues } = parseServerFile('/state/servers.json', text, { home: '/home', env: {} });
  const byName: Record<string, ServerDefinition> = Object.fromEntries(servers.map((one) => [one.name, one]));
  return { byName, issues };
}

const WORK = {
  command: 'run',
  args: ['--fast'],
  env: { KEY: '${secret:WORK}', MODE: 'fast' },
  timeout: 30,
  pin: 'strict',
  per: 'user',
  policy: { default: 'deny' },
};

it('has the keys of the other entry, and its own instead of those', () => {
  const { byName, issues } = read({ work: WORK, home: { extends: 'work', args: [], env: { KEY: '${secret:HOME}' } } });
  expect(issues).toEqual([]);
  expect(byName['home']).toMatchObject({
    name: 'home',
    command: 'run',
    args: [],
    env: { KEY: '${secret:HOME}', MODE: 'fast' },
    timeoutMs: 30_000,
    pin: 'strict',
    isPerUser: true,
    policy: { value: { default: 'deny' } },
    extends: 'work',
  });
  expect(byName['work']?.extends).toBeUndefined();
});

it('is another server than an account with the same address', () => {
  const { byName } = read({ work: { url: 'https://h/mcp' }, home: { extends: 'work' }, third: { extends: 'home' } });
  expect(new Set(Object.values(byName).map(({ definitionHash }) => definitionHash)).size).toBe(3);
  expect(byName['third']).toMatchObject({ url: 'https://h/mcp', extends: 'home' });
});

it('is there if the other entry is disabled, which is then only a pattern', () => {
  const { byName } = read({ base: { command: 'run', disabled: true }, one: { extends: 'base' } });
  expect([byName['base']?.disabled, byName['one']?.disabled]).toEqual([true, false]);
});

it('may come before the entry that it extends, and merge headers over several', () => {
  const { byName } = read({
    c: { extends: 'b', headers: { C: '3' } },
    b: { extends: 'a', headers: { B: '2', A: '0' } },
    a: { url: 'https://h/mcp', headers: { A: '1' } },
  });
  expect(byName['c']?.headers).toEqual({ A: '0', B: '2', C: '3' });
});

it('does not take what looks like an inherited property for an entry', () => {
  const { byName, issues } = read('{"mcpServers":{"x":{"extends":"toString"},"y":{"extends":"__proto__"}}}');
  expect(byName).toEqual({});
  expect(issues).toHaveLength(2);
});

describe('what cannot be', () => {
  const URL_ENTRY = { url: 'https://h/mcp', headers: { Authorization: 'Bearer x' } };
  it.each([
    ['an unknown name', { x: { extends: 'y' } }, "names 'y', which this file does not have"],
    ['no name', { x: { extends: 3 } }, 'must name one other entry'],
    ['something else than an entry', { x: { extends: 'y' }, y: [] }, "names 'y', which is not an object"],
    ['itself', { x: { extends: 'x' } }, "goes in a circle: 'x' extends 'x'"],
    ['a circle', { x: { extends: 'y' }, y: { extends: 'x' } }, "goes in a circle: 'x' extends 'y' extends 'x'"],
    [
      'another kind',
      { x: { extends: 'y', command: 'run' }, y: URL_ENTRY },
      'which has a "url", but this entry has a "command"',
    ],
    [
      'another kind',
      { x: { extends: 'y', url: 'https://h/' }, y: WORK },
      'which has a "command", but this entry has a "url"',
    ],
    ['headers for another address', { x: { extends: 'y', url: 'https://evil/mcp' }, y: URL_ENTRY }, 'another "url"'],
    [
      'one of the headers for another address',
      { x: { extends: 'y', url: 'https://evil/mcp', headers: { Other: '1' } }, y: URL_ENTRY },
      'another "url"',
    ],
    [
      'a client secret for another address',
      { x: { extends: 'y', url: 'https://evil/mcp' }, y: { url: 'https://h/', oauth: { clientId: 'a' } } },
      'another "url"',
    ],
  ])('%s', (_, entries, text) => {
    const { byName, issues } = read(entries);
    expect(byName['x']).toBeUndefined();
    const issue = issues.find(({ server }) => server === 'x');
    expect(issue).toMatchObject({ level: 'error', path: 'mcpServers.x.extends', hint: expect.any(String) });
    expect(issue?.message).toContain(text);
  });

  it('is allowed with another address if nothing secret is inherited', () => {
    const entries = { x: { extends: 'y', url: 'https://other/', headers: { Authorization: 'mine' } }, y: URL_ENTRY };
    expect(read(entries).byName['x']).toMatchObject({ url: 'https://other/', headers: { Authorization: 'mine' } });
  });
});
