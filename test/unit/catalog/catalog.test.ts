import { expect, test } from 'vitest';
import { createCatalog } from '../../../src/catalog/catalog.ts';

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

test('servers have aliases and are found by either name in any case', () => {
  const { catalog } = filled();
  expect(catalog.servers().map((server) => server.alias)).toEqual(['files', 'git_hub']);
  expect(catalog.findServer('GIT_HUB')?.description).toBe('Issues and code');
  expect(catalog.findServer('nope')).toBeUndefined();
});

test('tools are unknown until they are set, and then searched', () => {
  const { catalog, files } = filled();
  expect(catalog.tools(files)).toBeUndefined();
  expect(catalog.search('file', 5)).toEqual([]);
  catalog.setMetadata(files, TOOLS);
  expect(catalog.tools(files)?.map((tool) => tool.alias)).toEqual(['read_file']);
  expect(catalog.search('read', 5).map((hit) => hit.tool.name)).toEqual(['read-file']);
});

test('the same metadata again keep the same tools; others replace them in the search too, and none forget them', () => {
  const { catalog, files } = filled();
  catalog.setMetadata(files, TOOLS);
  const before = catalog.tools(files);
  catalog.setMetadata(files, TOOLS);
  expect(catalog.tools(files)).toBe(before);
  catalog.setMetadata(files, { tools: [{ name: 'write', description: '', inputSchema: {} }], notices: ['cut'] });
  expect(catalog.metadata(files)?.notices).toEqual(['cut']);
  expect(catalog.search('read', 5)).toEqual([]);
  expect(catalog.search('write', 5)).toHaveLength(1);
  catalog.setMetadata(files, undefined);
  expect([catalog.metadata(files), catalog.search('write', 5)]).toEqual([undefined, []]);
});

test('a server that is not configured any more takes its tools along; an equal list changes nothing', () => {
  const { catalog, files } = filled();
  catalog.setMetadata(files, TOOLS);
  catalog.setServers([{ name: 'Files' }, { name: 'git-hub', description: 'Issues and code' }]);
  expect(catalog.tools(files)).toHaveLength(1);
  catalog.setServers([{ name: 'git-hub' }]);
  expect(catalog.search('read', 5)).toEqual([]);
  catalog.setServers(SERVERS);
  expect(catalog.tools(files)).toBeUndefined();
});
