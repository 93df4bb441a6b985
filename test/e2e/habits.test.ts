/** Features that users of code mode rely on, with real servers from npm, the built command and a real client. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, packageServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const engines = await coverEngines();

for (const engine of engines) {
  describe(`habits on ${engine.label}`, () => {
    let bridge: BridgeClient;
    let files: string;
    const servers = ['filesystem', 'memory', 'everything'];
    const run = (code: string) => bridge.runPython(code, { servers });

    beforeAll(async () => {
      bridge = await startBridge({
        engine,
        servers(folder) {
          files = join(folder, 'files');
          mkdirSync(files);
          writeFileSync(join(files, 'notes.txt'), 'First line\nTODO: water the plants\n');
          writeFileSync(join(files, 'data.json'), '{"plants": ["fern", "moss"]}');
          return {
            filesystem: packageServer('@modelcontextprotocol/server-filesystem', [files]),
            memory: packageServer('@modelcontextprotocol/server-memory', [], {
              MEMORY_FILE_PATH: join(folder, 'memory.json'),
            }),
            everything: packageServer('@modelcontextprotocol/server-everything'),
          };
        },
      });
    });
    afterAll(() => bridge.close());

    it('text is a str: `in`, slices, methods', async () => {
      const code = `content = await mcp_filesystem.read_text_file(path=${JSON.stringify(join(files, 'notes.txt'))})
'TODO' in content, content[:10], content.lower().count('line')`;
      expect((await run(code)).structured['result']).toBe("(True, 'First line', 1)");
    });

    it('a listing can be read line by line', async () => {
      const code = `listing = await mcp_filesystem.list_directory(path=${JSON.stringify(files)})
sorted(line for line in listing.splitlines())`;
      expect((await run(code)).structured['result']).toBe("['[FILE] data.json', '[FILE] notes.txt']");
    });

    it('structured results have attributes and keys', async () => {
      const code = `await mcp_memory.create_entities(entities=[
    {"name": n, "entityType": "plant", "observations": [f"{n} is green"]} for n in ("fern", "moss")])
graph = await mcp_memory.read_graph()
[entity.name for entity in graph.entities], graph["entities"][0].observations[0], graph.relations`;
      expect((await run(code)).structured['result']).toBe("(['fern', 'moss'], 'fern is green', [])");
    });

    it('a loop calls two servers, and the next cell has the state', async () => {
      await run(`found = {}
for name, tool in (("filesystem", "list_allowed_directories"), ("memory", "read_graph")):
    found[name] = await mcp_servers[name][tool]()`);
      expect((await run("sorted(found), len(found['memory'].entities)")).structured['result']).toBe(
        "(['filesystem', 'memory'], 2)",
      );
    });

    it('imports from mcp.servers, helpers of runtime, and the names they return', async () => {
      const code = `from mcp.servers.filesystem import *
from mcp import runtime as r
text = await read_text_file(path=${JSON.stringify(join(files, 'data.json'))})
import json
json.loads(text)["plants"][1] if isinstance(text, str) else text.plants[1], LOADED_MCP_SERVERS, r.list_servers_sync(), "read_text_file" in TOOL_MAP`;
      expect((await run(code)).structured['result']).toBe(
        "('moss', ('filesystem', 'memory', 'everything'), ('filesystem', 'memory', 'everything'), True)",
      );
    });

    it('documentation is found before anything is loaded', async () => {
      const code = `docs = await runtime.search_tool_docs("read text file", limit=3)
doc = await runtime.query_tool_docs("filesystem", "read_text_file", detail="full")
[d["tool"] for d in docs][0] in ("read_text_file", "read_file"), "path" in doc["inputSchema"]["properties"], len(runtime.discovered_servers(detailed=True))`;
      const answer = await bridge.runPython(code, { session: 'discovery' });
      expect(answer.structured['result']).toBe('(True, True, 3)');
    });

    it('a server that is not loaded explains how to load it', async () => {
      const answer = await bridge.runPython('await mcp_memory.read_graph()', { session: 'unloaded' });
      expect(answer.isError).toBe(true);
      expect(answer.text).toContain("server 'memory' is not loaded in this session");
      expect(answer.text).toMatch(/servers=\[["']memory["']\]/);
    });

    it('a failing tool raises an error with its text', async () => {
      const code = `try:
    await mcp_filesystem.read_text_file(path="/etc/shadow")
except runtime.ToolError as error:
    print(error.server, error.tool, "denied" in str(error).lower())`;
      expect((await run(code)).structured['stdout']).toEqual(['filesystem read_text_file True']);
    });

    it('images become objects', async () => {
      const code = `blocks = await mcp_everything.get_tiny_image()
image = next(b for b in blocks if hasattr(b, "mime_type"))
image.mime_type, image.data[:4]`;
      expect((await run(code)).structured['result']).toBe(String.raw`('image/png', b'\x89PNG')`);
    });

    it('a saved tool is available in another session', async () => {
      await run('def double(n):\n    """Twice n."""\n    return 2 * n\nruntime.save_tool(double)');
      const answer = await bridge.runPython('double(21)', { session: 'later' });
      expect(answer.structured['result']).toBe('42');
    });
  });
}
