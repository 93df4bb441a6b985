import { expect, test } from 'vitest';
import { createCatalog } from '../../../src/catalog/catalog.ts';

const SERVERS = [{ name: 'Files' }, { name: 'git-hub', description: 'Issues and code' }];
const TOOLS = [{ name: 'read-file', description: 'Reads a file', inputSchema: { type: 'object' } }];

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
  catalog.setTools(files, TOOLS);
  expect(catalog.tools(files)?.map((tool) => tool.alias)).toEqual(['read_file']);
  expect(catalog.search('read', 5).map((hit) => hit.tool.name)).toEqual(['read-file']);
});

test('the same list again gives the same tools; another list replaces them in the search too', () => {
  const { catalog, files } = filled();
  const before = catalog.setTools(files, TOOLS);
  expect(catalog.setTools(files, TOOLS)).toBe(before);
  catalog.setTools(files, [{ name: 'write', inputSchema: {} }]);
  expect(catalog.search('read', 5)).toEqual([]);
  expect(catalog.search('write', 5)).toHaveLength(1);
});

test('a server that is not configured any more takes its tools along; an equal list changes nothing', () => {
  const { catalog, files } = filled();
  catalog.setTools(files, TOOLS);
  catalog.setServers([{ name: 'Files' }, { name: 'git-hub', description: 'Issues and code' }]);
  expect(catalog.tools(files)).toHaveLength(1);
  catalog.setServers([{ name: 'git-hub' }]);
  expect(catalog.search('read', 5)).toEqual([]);
  catalog.setServers(SERVERS);
  expect(catalog.tools(files)).toBeUndefined();
});
