import { expect, test } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { findServersMethod } from '../../../src/core/calls/find-servers.ts';
import { checkParams, createFindCallable } from '../../../src/core/calls/method.ts';
import type { ServerMetadata } from '../../../src/core/catalog/known.ts';
import { createServerDirectory } from '../../../src/core/directory/server-directory.ts';

const LISTS: Record<string, { name: string; description: string }[]> = {
  github: [{ name: 'create_issue', description: 'Opens an issue in a repository.' }],
  files: [
    { name: 'read_file', description: 'Reads a file.' },
    { name: 'write_file', description: 'Writes a file.' },
  ],
  mail: [],
};

function setUp(autoload = false) {
  const servers = new Map(
    [
      { name: 'github', description: 'Repositories and pull requests' },
      { name: 'files', description: 'The project folder' },
      { name: 'mail', description: 'Letters' },
    ].map((server) => [server.name, server]),
  );
  const metadataOf = (name: string) => ({
    tools: (LISTS[name] ?? []).map((tool) => ({ ...tool, inputSchema: {} })),
    notices: [],
  });
  const source = {
    kept: async ({ name }: { readonly name: string }) => metadataOf(name),
    current: async ({ name }: { readonly name: string }) => metadataOf(name),
    review: async (_: unknown, given: ServerMetadata) => given,
    flush: async () => undefined,
  };
  const directory = createServerDirectory(source, () => servers, silentLogger);
  const loadedByCode: string[] = [];
  const context = {
    session: 'default',
    generation: 1,
    cell: 1,
    call: 1,
    loaded: new Set(['files']),
    load: (name: string) => void loadedByCode.push(name),
    signal: new AbortController().signal,
    onProgress: () => undefined,
  };
  const [, find] = findServersMethod(directory, autoload);
  return {
    find: async (params: Record<string, unknown>) =>
      (await find.run(checkParams(find, params), context)) as Record<string, unknown>[],
    findCallable: async (wanted: string) => createFindCallable(directory, autoload)(wanted, context),
    loadedByCode,
  };
}

test('a server is found by its tools, with instructions to load it', async () => {
  expect((await setUp().find({ query: 'open an issue' }))[0]).toEqual({
    server: 'github',
    serverAlias: 'github',
    name: 'github',
    alias: 'github',
    description: 'Repositories and pull requests',
    loaded: false,
    tool_count: 1,
    matching_tools: ['create_issue'],
    load: "call run_python again with servers=['github']",
  });
});

test('a server is found by its name and by its description', async () => {
  const { find } = setUp();
  expect((await find({ query: 'mail' }))[0]).toMatchObject({ server: 'mail', tool_count: 0 });
  expect((await find({ query: 'project folder' }))[0]).toMatchObject({ server: 'files', loaded: true });
});

test('an empty query gives all servers in their order, up to the limit', async () => {
  const { find } = setUp();
  expect((await find({})).map(({ server }) => server)).toEqual(['github', 'files', 'mail']);
  expect(await find({ query: '', limit: 1 })).toHaveLength(1);
  expect(await find({ query: 'xyzzy' })).toEqual([]);
});

test('a server that is not loaded is refused, or loaded if the operator allows it', async () => {
  const closed = setUp();
  await expect(closed.findCallable('github')).rejects.toMatchObject({ code: 'SERVER_NOT_AVAILABLE' });
  expect(closed.loadedByCode).toEqual([]);
  const open = setUp(true);
  expect(await open.findCallable('github')).toMatchObject({ name: 'github' });
  expect(open.loadedByCode).toEqual(['github']);
  await expect(open.findCallable('nowhere')).rejects.toMatchObject({ code: 'SERVER_UNKNOWN' });
  expect((await open.find({ query: 'issue' }))[0]).toMatchObject({
    load: 'call one of its tools; the first call loads it',
  });
});
