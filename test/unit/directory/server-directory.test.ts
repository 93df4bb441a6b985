import { describe, expect, test } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import type { ServerMetadata } from '../../../src/core/catalog/known.ts';
import type { MetadataCache } from '../../../src/core/directory/metadata-cache.ts';
import { type CallableServer, createServerDirectory } from '../../../src/core/directory/server-directory.ts';
import { createMetadataSource, type Listing } from '../../../src/core/directory/server-metadata.ts';

const never = new AbortController().signal;

const metadataOf = (...names: string[]): ServerMetadata => ({
  tools: names.map((name) => ({ name, description: `The tool ${name}.`, inputSchema: {} })),
  notices: [],
});

/** A directory of `files` and `git`; an earlier bridge kept the tools of `files`. */
function setUp() {
  const described: string[] = [];
  const listings = new Map<string, Listing | BridgeError>();
  const kept = new Map([['hash of files', metadataOf('kept_tool')]]);
  const configuration = {
    servers: new Map<string, CallableServer>([
      ['files', { name: 'files', definitionHash: 'hash of files', secrets: ['s3cret'] }],
      ['git', { name: 'git', definitionHash: 'hash of git' }],
    ]),
  };
  const cache: MetadataCache = {
    load: async (hash) => kept.get(hash),
    save: async (hash, metadata) => void kept.set(hash, metadata),
    remove: async (hash) => void kept.delete(hash),
  };
  const list = (server: string, ...names: string[]): void => {
    listings.set(server, { info: {}, tools: names.map((name) => ({ name })), notices: [] });
  };
  list('files', 'new_tool');
  list('git', 'commit');
  const source = createMetadataSource(
    {
      async describe(server) {
        described.push(server);
        const listing = listings.get(server);
        if (listing === undefined || listing instanceof BridgeError) {
          throw listing ?? new Error(server);
        }
        return listing;
      },
    },
    cache,
  );
  const directory = createServerDirectory(source, () => configuration.servers, silentLogger);
  const toolsOf = async (server: string) =>
    (await directory.tools(await directory.find(server), never)).map((tool) => tool.name);
  return { directory, configuration, described, listings, list, kept, toolsOf };
}

describe('kept metadata', () => {
  test('is used without starting the server', async () => {
    const { directory, toolsOf, described } = setUp();
    await directory.ready();
    expect((await directory.search('kept', 5)).found).toHaveLength(1);
    expect(await toolsOf('files')).toEqual(['kept_tool']);
    expect(described).toEqual([]);
  });

  test('is updated in the background when the server is used, and kept again', async () => {
    const { directory, toolsOf, kept } = setUp();
    directory.noteUse(await directory.find('files'));
    await expect.poll(() => toolsOf('files')).toEqual(['new_tool']);
    await directory.close();
    expect(kept.get('hash of files')?.tools.map(({ name }) => name)).toEqual(['new_tool']);
  });

  test('does not decide that a tool is missing: the server is asked', async () => {
    const { directory, described } = setUp();
    const server = await directory.find('files');
    expect((await directory.findTool(server, 'kept_tool', never)).name).toBe('kept_tool');
    expect(described).toEqual([]);
    expect((await directory.findTool(server, 'new_tool', never)).name).toBe('new_tool');
    await expect(directory.findTool(server, 'no_tool', never)).rejects.toThrow("server 'files' has no tool 'no_tool'");
  });

  test('belongs to the definition: another definition starts with nothing', async () => {
    const { configuration, directory, toolsOf, described } = setUp();
    await directory.ready();
    configuration.servers = new Map([['files', { name: 'files', definitionHash: 'another hash' }]]);
    await directory.ready();
    expect((await directory.search('kept', 5)).found).toEqual([]);
    expect(await toolsOf('files')).toEqual(['new_tool']);
    expect(described).toEqual(['files']);
  });

  test('outlives a change of the description', async () => {
    const { configuration, directory, described } = setUp();
    await directory.ready();
    configuration.servers = new Map([
      ['files', { name: 'files', definitionHash: 'hash of files', description: 'All files' }],
    ]);
    await directory.ready();
    expect((await directory.search('kept', 5)).found[0]?.server.description).toBe('All files');
    expect(described).toEqual([]);
  });
});

describe('a running server', () => {
  test('that was never asked is asked once', async () => {
    const { toolsOf, described, kept } = setUp();
    expect(await toolsOf('git')).toEqual(['commit']);
    expect(await toolsOf('git')).toEqual(['commit']);
    expect(described).toEqual(['git']);
    expect([...kept.keys()]).toEqual(['hash of files', 'hash of git']);
  });

  test('that announces a change is asked again: by a search in the background, by a call at once', async () => {
    const { directory, toolsOf, list } = setUp();
    await toolsOf('git');
    list('git', 'push');
    directory.noteChange('git');
    await expect.poll(async () => (await directory.search('push', 5)).found).toHaveLength(1);
    list('git', 'pull');
    directory.noteChange('git');
    expect(await toolsOf('git')).toEqual(['pull']);
    directory.noteChange('gone');
  });

  test('that fails keeps its metadata, with the reason', async () => {
    const { directory, toolsOf, listings, list } = setUp();
    listings.set('files', new BridgeError('SERVER_START_FAILED', 'no such \u001b program'));
    const server = await directory.find('files');
    directory.noteUse(server);
    await expect.poll(() => directory.lastError(server)).toBe('no such <U+001B> program');
    expect(await toolsOf('files')).toEqual(['kept_tool']);
    list('files', 'back');
    await directory.refresh(server, never);
    expect(directory.lastError(server)).toBeUndefined();
  });

  test('that was not waited for has not failed', async () => {
    const { directory, listings } = setUp();
    const cancelled = new BridgeError('CALL_CANCELLED', 'the call was cancelled');
    listings.set('git', cancelled);
    const server = await directory.find('git');
    await expect(directory.refresh(server, never)).rejects.toBe(cancelled);
    expect(directory.lastError(server)).toBeUndefined();
  });
});
