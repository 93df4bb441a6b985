/**
 * Code as models write it, against real servers: the kernel in the local Python, the pool, the host calls, and
 * server-filesystem, server-memory and server-everything from npm.
 */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { createHostCalls } from '../../../src/core/calls/host-calls.ts';
import { assignServerAliases } from '../../../src/core/catalog/names.ts';
import { createServerDirectory } from '../../../src/core/directory/server-directory.ts';
import { createMetadataSource } from '../../../src/core/directory/server-metadata.ts';
import { createUpstreamPool, type ProcessDefinition, type UpstreamPool } from '../../../src/edges/upstream/pool.ts';
import { artifactMethods } from '../../../src/features/artifacts/calls.ts';
import { createArtifacts } from '../../../src/features/artifacts/index.ts';
import { createSavedTools, savedToolMethods } from '../../../src/features/saved-tools/index.ts';
import { createLocalPythonEngine, hasLocalPython } from '../../support/local-python.ts';
import { createHarness, errorText, type Harness, textOf } from '../../support/session-harness.ts';

const PACKAGES = join(import.meta.dirname, '../../../node_modules/@modelcontextprotocol');

function definition(name: string, packageName: string, args: readonly string[], env = {}): ProcessDefinition {
  const script = join(PACKAGES, packageName, 'dist/index.js');
  return {
    name,
    command: process.execPath,
    args: [script, ...args],
    env,
    cwd: undefined,
    timeoutMs: undefined,
    definitionHash: name,
    file: 'test',
  };
}

describe.skipIf(!hasLocalPython())('code on real servers', () => {
  let folder: string;
  let data: string;
  let pool: UpstreamPool;
  let harness: Harness;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bridge-real-servers-'));
    data = join(folder, 'data');
    await mkdir(join(data, 'sub'), { recursive: true });
    await writeFile(join(data, 'notes.txt'), 'a line\nTODO: a task\n');
    await writeFile(join(data, 'config.json'), '{"debug": true}');
    await writeFile(join(data, 'picture.png'), Buffer.from('89504e47', 'hex'));
    const definitions = [
      definition('file-system', 'server-filesystem', [data]),
      definition('Memory', 'server-memory', [], { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') }),
      definition('everything', 'server-everything', []),
      { ...definition('broken', 'server-memory', []), command: join(folder, 'no-such-program') },
    ];
    const servers = new Map(definitions.map((server) => [server.name, server]));
    pool = createUpstreamPool({ logger: silentLogger });
    pool.update(servers);
    const names = [...servers.keys()];
    const aliases = assignServerAliases(names);
    harness = await createHarness({
      engine: createLocalPythonEngine(),
      handleCall: createHostCalls({
        pool,
        directory: createServerDirectory(createMetadataSource(pool, undefined), () => servers, silentLogger),
        methods: [
          ...artifactMethods(createArtifacts(folder)),
          ...savedToolMethods(createSavedTools({ stateDir: folder, logger: silentLogger, mode: 'on' })),
        ],
        logger: silentLogger,
      }),
      servers: names.map((name, index) => ({ name, alias: aliases[index] ?? name })),
    });
  });

  afterAll(async () => {
    await harness.close();
    await pool.close();
    await rm(folder, { recursive: true });
  });

  /** The output of a cell with the three working servers loaded. The cell must succeed. */
  async function printed(code: string, servers = ['file-system', 'Memory', 'everything']): Promise<string> {
    const answer = await harness.run(`folder = ${JSON.stringify(data)}\n${code}`, { servers, timeoutMs: 25_000 });
    expect(answer.error).toBeUndefined();
    return textOf(answer.stdout);
  }

  /** The traceback of a cell that must fail. */
  async function failure(code: string, servers = ['file-system', 'Memory', 'everything']): Promise<string> {
    const answer = await harness.run(code, { servers, timeoutMs: 25_000 });
    expect(answer.status).toBe('error');
    return errorText(answer);
  }

  it('finds a word in a file, slices a text, returns a JSON file as text', async () => {
    const out = await printed(`
content = await mcp_file_system.read_text_file(path=folder + '/notes.txt')
if 'TODO' in content: print(content[:6])
print(type(await mcp_file_system.read_text_file(path=folder + '/config.json')).__name__)`);
    expect(out).toBe('a line\nTextResult\n');
  });

  it('iterates a directory listing', async () => {
    const out = await printed(`
files = await mcp_file_system.list_directory(path=folder)
for line in files.lines(): print(line)`);
    expect(out).toBe('[FILE] config.json\n[FILE] notes.txt\n[FILE] picture.png\n[DIR] sub\n');
  });

  it('reads structured results by attribute and by key', async () => {
    const out = await printed(`
await mcp_memory.create_entities(entities=[{'name': 'Ada', 'entityType': 'person', 'observations': ['writes']}])
graph = await mcp_memory.read_graph()
for entity in graph.entities: print(entity.name, entity['entityType'], entity.observations[0].upper())
weather = await mcp_everything.get_structured_content(location='New York')
print(sorted(weather.keys()))`);
    expect(out).toBe("Ada person WRITES\n['conditions', 'humidity', 'temperature']\n");
  });

  it('gets images and resources as objects', async () => {
    const out = await printed(`
picture = await mcp_file_system.read_media_file(path=folder + '/picture.png')
print(picture, picture.data)
caption, image, *_ = await mcp_everything.get_tiny_image()
print(type(caption).__name__, image.mime_type)
_, resource, _ = await mcp_everything.get_resource_reference()
print(resource.uri)`);
    expect(out).toMatch(
      /^<ImageContent image\/png, 4 bytes: .data, .save\(path\)> b'\\x89PNG'\nTextResult image\/png\ndemo:\/\/resource\/dynamic\/text\/1\n$/,
    );
  });

  it('loops over two servers, calls in parallel, and calls without await', async () => {
    const out = await printed(`
import asyncio
for name in ('file-system', 'memory'): print(name, len(await runtime.list_tools(name)) > 5, name in mcp_servers)
sums = await asyncio.gather(*(mcp_everything['get-sum'](a=n, b=1) for n in range(3)))
print(sums[2], mcp_everything.echo.sync(message='hi'), sep='; ')
from mcp.servers.everything import *
print(await echo('positional'))`);
    expect(out).toBe('file-system True True\nmemory True True\nThe sum of 2 and 1 is 3.; Echo: hi\nEcho: positional\n');
  });

  it('raises an error that a tool reports, with its text', async () => {
    expect(await failure(`await mcp_file_system.read_text_file(path='/etc/passwd')`)).toMatch(
      /^mcp\.runtime\.ToolError: TOOL_FAILED: file-system\.read_text_file: Access denied/m,
    );
    expect(await failure(`await mcp_file_system.read_text_fil(path='x')`)).toContain("Did you mean 'read_text_file'");
  });

  it('explains how to load a server that is not loaded', async () => {
    const fresh = { servers: [], session: 'fresh' };
    const answer = await harness.run('await mcp_memory.read_graph()', fresh);
    expect(errorText(answer)).toContain(
      "SERVER_NOT_AVAILABLE: Server 'Memory' is not available: it is not loaded in this session\n    Hint: Call run_python again with servers=['Memory'].",
    );
    const names = await harness.run('LOADED_MCP_SERVERS, runtime.discovered_servers()', fresh);
    expect(names.value).toBe("((), ('file-system', 'Memory', 'everything', 'broken'))");
  });

  it('searches all servers, names those it could not ask, and documents one tool', async () => {
    const answer = await harness.run(`
found = await runtime.search_tool_docs('read text file', limit=3)
print(found[0].server, found[0].tool, found[0].loaded)
document = await runtime.query_tool_docs('memory', tool='READ_GRAPH', detail='full')
print(sorted(document))
print(runtime.describe_server('memory').tools[0].alias, runtime.list_loaded_server_metadata()[0]['cwd'])`);
    expect(textOf(answer.stdout)).toBe(
      'file-system read_text_file True\n' +
        "['description', 'inputSchema', 'loaded', 'server', 'serverAlias', 'signature', 'tool', 'toolAlias', 'types']\n" +
        'create_entities None\n',
    );
    expect(textOf(answer.stderr)).toMatch(/^not searched: broken \(.+\)\n$/);
  });

  it('warns about a call without await, with its line', async () => {
    const stopped = await harness.run('x = 1\nmcp_memory.read_graph()\nNone');
    expect(errorText(stopped)).toContain(
      "line 2: mcp_memory.read_graph()\n    mcp_memory.read_graph(...) without 'await'",
    );
    // What the check before the run cannot find is found during the run.
    const answer = await harness.run('x = 1\n[mcp_memory.read_graph()]\nNone');
    expect(textOf(answer.stderr)).toMatch(
      /:2: RuntimeWarning: mcp_memory\.read_graph\(\.\.\.\) was never awaited: write 'await mcp_memory\.read_graph/,
    );
  });

  it('saves a function', async () => {
    const out = await printed(`
def double(n):
    return n * 2
print(save_tool(double))`);
    expect(out).toBe("Saved 'double'. Later sessions define it under that name.\n");
    const stored = await createSavedTools({ stateDir: folder, logger: silentLogger, mode: 'on' }).list();
    expect(stored).toEqual([{ name: 'double', source: 'def double(n):\n    return n * 2\n' }]);
  });
});
