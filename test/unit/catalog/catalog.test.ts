import { expect, test } from 'vitest';
import { type Catalog, createCatalog } from '../../../src/core/catalog/catalog.ts';

const SERVERS = [{ name: 'Files' }, { name: 'git-hub', description: 'Issues and code' }];
const TOOLS = {
  tools: [{ name: 'read-file', description: 'Reads a file', inputSchema: { type: 'object' } }],
  notices: [],
};

function filled() {
  const catalog = createCatalog();
  catalog.setServers(SERVERS);
  const [files] = catalog.servers();
  if (files === undefined) {
    throw new Error('no server');
  }
  return { catalog, files };
}

async function names(catalog: Catalog, query: string): Promise<string[]> {
  const { found } = await catalog.search(query, 5);
  return found.map(({ tool }) => tool.name);
}

test('finds servers by name or alias, in any case', () => {
  const { catalog } = filled();
  expect(catalog.servers().map((server) => server.alias)).toEqual(['files', 'git_hub']);
  expect(catalog.findServer('GIT_HUB')?.description).toBe('Issues and code');
  expect(catalog.findServer('nope')).toBeUndefined();
});

test('knows and finds tools once they are set', async () => {
  const { catalog, files } = filled();
  expect(catalog.tools(files)).toBeUndefined();
  expect(await names(catalog, 'file')).toEqual([]);
  catalog.setMetadata(files, TOOLS);
  expect(catalog.tools(files)?.map((tool) => tool.alias)).toEqual(['read_file']);
  expect(await names(catalog, 'read')).toEqual(['read-file']);
});

test('setting the same metadata again changes nothing; new metadata replaces the tools, also in the search; undefined forgets them', async () => {
  const { catalog, files } = filled();
  catalog.setMetadata(files, TOOLS);
  const before = catalog.tools(files);
  catalog.setMetadata(files, TOOLS);
  expect(catalog.tools(files)).toBe(before);
  catalog.setMetadata(files, { tools: [{ name: 'write', description: '', inputSchema: {} }], notices: ['cut'] });
  expect(catalog.metadata(files)?.notices).toEqual(['cut']);
  expect(await names(catalog, 'read')).toEqual([]);
  expect(await names(catalog, 'write')).toEqual(['write']);
  catalog.setMetadata(files, undefined);
  expect([catalog.metadata(files), await names(catalog, 'write')]).toEqual([undefined, []]);
});

test('a removed server loses its tools; setting an equal list changes nothing', async () => {
  const { catalog, files } = filled();
  catalog.setMetadata(files, TOOLS);
  catalog.setServers([{ name: 'Files' }, { name: 'git-hub', description: 'Issues and code' }]);
  expect(catalog.tools(files)).toHaveLength(1);
  catalog.setServers([{ name: 'git-hub' }]);
  expect(await names(catalog, 'read')).toEqual([]);
  catalog.setServers(SERVERS);
  expect(catalog.tools(files)).toBeUndefined();
});

test('searches can run concurrently; a new description of a server is searched too', async () => {
  const { catalog, files } = filled();
  catalog.setMetadata(files, TOOLS);
  const first = names(catalog, 'read');
  const second = names(catalog, 'read');
  expect(await Promise.all([first, second])).toEqual([['read-file'], ['read-file']]);
  catalog.setServers([{ name: 'Files', description: 'Papers' }]);
  expect(await names(catalog, 'papers')).toEqual(['read-file']);
});

test('a result has its server, its tool and a score', async () => {
  const { catalog, files } = filled();
  catalog.setMetadata(files, TOOLS);
  const { found, unmatched } = await catalog.search('read teleport quasar', 5);
  expect(found).toMatchObject([{ server: { alias: 'files' }, tool: { alias: 'read_file' } }]);
  expect(found[0]?.score).toBeGreaterThan(0);
  expect(unmatched.map(({ word }) => word)).toEqual(['teleport', 'quasar']);
});

test('searches the names of parameters; a schema without properties has none', async () => {
  const { catalog, files } = filled();
  const properties = { from: {}, 'issue-number': {} };
  const schemas = [{ type: 'object', properties }, { properties: null }];
  const tools = schemas.map((inputSchema, index) => ({ name: `tool_${index}`, description: '', inputSchema }));
  catalog.setMetadata(files, { tools, notices: [] });
  expect(await names(catalog, 'issue number')).toEqual(['tool_0']);
});
