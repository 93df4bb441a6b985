// Tags: anywhere, full
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
      expect(answer.text).toContain("Server 'memory' is not available: it is not loaded in this session");
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

    describe('of other tools', () => {
      it.each([
        ['discovered_servers()', "('filesystem', 'memory', 'everything')"],
        ['mcp.runtime.discovered_servers()', "('filesystem', 'memory', 'everything')"],
        ['(await search_tool_docs("read the knowledge graph", limit=1))[0].tool', "'read_graph'"],
        ['await call_tool("everything", "echo", {"message": "hi"})', "'Echo: hi'"],
        ['await call_tool("everything", "echo", message="hi")', "'Echo: hi'"],
        ['await call_tool("everything.echo", {"message": "hi"})', "'Echo: hi'"],
        ['await runtime.call_tool("mcp__everything__echo", message="hi")', "'Echo: hi'"],
        ['await runtime.call_tool("everything", "echo", \'{"message": "hi"}\')', "'Echo: hi'"],
        ['await mcp__everything__echo(message="hi")', "'Echo: hi'"],
        ['await mcp_everything_echo(message="hi")', "'Echo: hi'"],
        ['await everything.echo(message="hi")', "'Echo: hi'"],
        ['await mcp.everything.echo(message="hi")', "'Echo: hi'"],
        ['await mcp_everything.call_tool("echo", {"message": "hi"})', "'Echo: hi'"],
        ['await mcp_everything.call_tool("echo", arguments={"message": "hi"})', "'Echo: hi'"],
        ['import mcp_everything\nawait mcp_everything.echo(message="hi")', "'Echo: hi'"],
        ['"read_graph" in [tool.name for tool in await mcp_memory.list_tools()]', 'True'],
        ['async def main():\n    return await mcp__everything__echo(message="hi")\nreturn await main()', "'Echo: hi'"],
        ['```python\n1 + 1\n```', '2'],
        ['\uFEFF1 + 1', '2'],
        ['%matplotlib inline\n1 + 1', '2'],
        ['found = await everything.echo(message="hi")\nif found:\n    return found\n0', "'Echo: hi'"],
      ])('%j works', async (code, result) => {
        const answer = await run(code);
        expect(answer.text).toBe(result);
      });

      it.each([
        ['alias', ['MCP_Memory'], "('memory',)"],
        ['python', "['memory']", "('memory',)"],
        ['commas', 'Memory, everything', "('memory', 'everything')"],
      ])('servers may be given as %s: %j', async (session, given, loaded) => {
        const answer = await bridge.runPython('LOADED_MCP_SERVERS', { servers: given, session, timeout: '20' });
        expect(answer.text).toBe(loaded);
      });

      it.each([
        ['%pip install pyyaml', /CALL_REFUSED: packages cannot be installed, because MCP_BRIDGE_PACKAGES is off/],
        ['import no_such_package', /No module named 'no_such_package': packages cannot be installed, because/],
        [
          'name = "x"\ntry:\n    await runtime.install(name)\nexcept Exception:\n    __import__("other_package")',
          /'other_package': it cannot be installed now \(packages cannot be installed, because MCP_BRIDGE_PACKAGES is off\)/,
        ],
        [
          'try:\n    import another_package\nexcept ImportError as error:\n    raise ValueError(str(error))',
          /'another_package': it cannot be installed now \(.*MCP_BRIDGE_PACKAGES is off\)/,
        ],
        ['input("Name? ")', /no one can type here. Ask the user in your answer/],
        [
          'runtime.load_artifact("none.txt")',
          /ARTIFACT_UNKNOWN: session 'default' has saved no artifact 'none.txt'\nHint: runtime.list_artifacts/,
        ],
        ['with open("/dev/null"):\n    return 1', /here, in 'with' or 'try', put the code into a function/],
        ['await call_tool("read_graph")', /write await runtime.call_tool\('SERVER', 'read_graph', \{...\}\)/],
        [
          'await mcp__nowhere__tool()',
          /no server 'nowhere' is configured\n +Hint: Configured: filesystem, memory, everything/,
        ],
        [
          'from mcp import ClientSession',
          /this is not the MCP SDK.* call a tool with 'await mcp_<server>.<tool>\(...\)'/,
        ],
      ])('%j gets a next step', async (code, hint) => {
        const answer = await run(code);
        expect(answer.isError).toBe(true);
        expect(answer.text).toMatch(hint);
      });

      it('a question mark shows the documentation of a tool', async () => {
        expect((await run('mcp_everything.echo?')).text).toContain('echo(message: str)');
      });

      it('a module that a cell writes can be imported, also in the same cell', async () => {
        await run('open("/workspace/helpers.py", "w").write("def twice(n):\\n    return 2 * n\\n")');
        expect((await run('from helpers import twice\ntwice(21)')).text).toBe('42');
        const code = 'open("/workspace/later.py", "w").write("x = 7")\nimport later\nlater.x';
        expect((await run(code)).text).toBe('7');
      });
    });

    it('a saved function is available in another session', async () => {
      await run('def double(n):\n    """Twice n."""\n    return 2 * n\nruntime.save_tool(double)');
      const answer = await bridge.runPython('double(21)', { session: 'later' });
      expect(answer.structured['result']).toBe('42');
    });
  });
}
