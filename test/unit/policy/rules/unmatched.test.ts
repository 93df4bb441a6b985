import { expect, it } from 'vitest';
import { readPolicy } from '../../../../src/features/policy/rules/schema.ts';
import { type KnownServer, unmatchedIn } from '../../../../src/features/policy/rules/unmatched.ts';

const tool = (name: string, annotations = {}) => ({ name, alias: name, inputSchema: {}, annotations });
const METHOD = { ...tool('resources/read', { readOnlyHint: true }), isMethod: true };
const GITHUB: KnownServer = {
  server: { name: 'github', alias: 'github' },
  tools: [tool('create_issue'), tool('get_issue', { readOnlyHint: true }), METHOD],
};
const NEW: KnownServer = { server: { name: 'My Files', alias: 'my_files' }, tools: undefined };

const found = (policy: object, servers: readonly KnownServer[] = [GITHUB], keys: string[] = []) =>
  unmatchedIn(readPolicy(policy, '/p.json', keys), servers).map(({ place, text }) => `${place}: ${text}`);
const foundIn = (rule: object, servers?: readonly KnownServer[]) =>
  found({ rules: [{ effect: 'deny', ...rule }] }, servers);

it.each<[object, string[]]>([
  [{ tool: 'github.*' }, []],
  [{ tool: ['create_*', 'GITHUB.get_issue'] }, []],
  [{ server: 'git*', tool: 'resources/read' }, []],
  [{ tool: 'github.resources/*' }, []],
  [{ annotations: { readOnlyHint: true } }, []],
  [{}, []],
  [{ tool: 'githb.*' }, ["no known tool matches 'githb.*'"]],
  [{ tool: ['create_*', 'delete_*'] }, ["no known tool matches 'delete_*'"]],
  [{ tool: 'resources/delete' }, ["no known tool matches 'resources/delete'"]],
  [{ server: 'githb', tool: 'create_issue' }, ["no configured server matches 'githb'"]],
  [{ server: ['github', 'githb'] }, ["no configured server matches 'githb'"]],
  [{ server: 'github.create_issue' }, ["no configured server matches 'github.create_issue'"]],
  [{ server: 'github', tool: 'gitlab.create_issue' }, ["no known tool matches 'gitlab.create_issue'"]],
  [
    { tool: 'create_*', annotations: { readOnlyHint: true } },
    ['no known tool matches both its names and its annotations'],
  ],
])('%j: %j', (rule, expected) => {
  expect(foundIn(rule)).toEqual(expected.map((text) => `rules[0]: ${text}`));
});

it('says nothing about tools that are not known yet', () => {
  const servers = [GITHUB, NEW];
  expect(foundIn({ tool: 'delete_*' }, servers)).toEqual([]);
  expect(foundIn({ tool: 'my_files.delete' }, servers)).toEqual([]);
  expect(foundIn({ tool: 'my*.delete' }, servers)).toEqual([]);
  expect(foundIn({ server: 'My Files', annotations: { readOnlyHint: false } }, servers)).toEqual([]);
  expect(foundIn({ tool: 'githb.delete' }, servers)).toEqual(["rules[0]: no known tool matches 'githb.delete'"]);
  expect(foundIn({ server: 'github', tool: 'delete' }, servers)).toEqual(["rules[0]: no known tool matches 'delete'"]);
});

it('covers limits and the policies of entries', () => {
  expect(found({ limits: [{ callsPerCell: 1 }, { tool: 'x', callsPerCell: 1 }] })).toEqual([
    "limits[1]: no known tool matches 'x'",
  ]);
  const keys = ['mcpServers', 'github', 'policy'];
  expect(found({ rules: [{ effect: 'deny', tool: 'other.create_issue' }] }, [GITHUB], keys)).toEqual([
    "rules[0]: no known tool matches 'other.create_issue'",
  ]);
  expect(found({ rules: 1 })).toEqual([]);
});

// A rule that denies calls with a misspelled argument denied none.
it('names arguments that no tool of the rule has', () => {
  const inputSchema = { type: 'object', properties: { path: {}, 'issue-number': {} }, additionalProperties: false };
  const files: KnownServer = {
    server: { name: 'files', alias: 'files' },
    tools: [{ ...tool('read'), inputSchema }, METHOD],
  };
  const about = (key: string, more: object = {}) =>
    foundIn({ arguments: { [key]: { missing: false } }, ...more }, [files]);
  expect([about('path'), about('issue_number'), about('/path/0'), about('uri')]).toEqual([[], [], [], []]);
  expect(about('pth')).toEqual(["rules[0]: no known tool of the rule has an argument 'pth'"]);
  expect(about('uri', { tool: 'read' })).toEqual(["rules[0]: no known tool of the rule has an argument 'uri'"]);
  expect(foundIn({ arguments: { pth: { missing: false } } }, [files, NEW])).toEqual([]);
});

it('names what matches nothing in profiles', () => {
  const profiles = {
    right: { servers: ['git*'], tools: ['create_issue', 'github.get_*', 'resources/read'] },
    wrong: { servers: ['github', 'githb'], tools: ['delete_*', 'files.read'] },
  };
  expect(found({ profiles })).toEqual([
    "profiles.wrong: no configured server matches 'githb'",
    "profiles.wrong: no known tool matches 'delete_*'",
    "profiles.wrong: no known tool matches 'files.read'",
  ]);
});
