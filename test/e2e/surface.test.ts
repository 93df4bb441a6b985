// Tags: full, docker-release, user
/** Resources, prompts, progress and the check before running, with real servers, the built command and a real client. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, fixtureServer, packageServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { pause } from '../support/pause.ts';

const engines = await coverEngines();

for (const engine of engines) {
  describe(`features of servers on ${engine.label}`, () => {
    let bridge: BridgeClient;
    const run = (code: string) => bridge.runPython(code, { servers: ['everything', 'memory'] });

    beforeAll(async () => {
      bridge = await startBridge({
        engine,
        servers: (folder) => ({
          everything: packageServer('@modelcontextprotocol/server-everything'),
          memory: packageServer('@modelcontextprotocol/server-memory', [], {
            MEMORY_FILE_PATH: `${folder}/memory.json`,
          }),
        }),
      });
    });
    afterAll(() => bridge.close());

    it('resources are listed, and read as text and bytes', async () => {
      const code = `found = await mcp_everything.list_resources()
templates = await mcp_everything.list_resource_templates()
text = await mcp_everything.read_resource("demo://resource/dynamic/text/1")
blob = await mcp_everything.server.read_resource("demo://resource/dynamic/blob/1")
(len(found) > 0, [t.uriTemplate for t in templates][:1], isinstance(text, str), text.mime_type, isinstance(blob, bytes), blob.uri)`;
      expect((await run(code)).structured['result']).toBe(
        "(True, ['demo://resource/dynamic/text/{resourceId}'], True, 'text/plain', True, 'demo://resource/dynamic/blob/1')",
      );
    });

    it('prompts are listed and filled in', async () => {
      const code = `names = [p.name for p in await mcp_everything.list_prompts()]
prompt = await mcp_everything.get_prompt("args-prompt", city="Bern")
("args-prompt" in names, prompt.messages[0].role, "Bern" in prompt.messages[0].content)`;
      expect((await run(code)).structured['result']).toBe("(True, 'user', True)");
    });

    it('a server without them is named, with what it offers', async () => {
      const { text } = await run('await mcp_memory.list_prompts()');
      expect(text).toContain("CAPABILITY_MISSING: server 'memory' offers no prompts");
      expect(text).toContain('It offers resources, tools.');
    });

    it('a resource that does not exist is an error of the call', async () => {
      const { text } = await run('await mcp_everything.read_resource("demo://nowhere")');
      expect(text).toContain("TOOL_FAILED: server 'everything' refused 'resources/read'");
    });

    it('a value is converted to TOON, even if it is answered in parts', async () => {
      const code = `print(runtime.to_toon([{"id": 1, "name": "a"}, {"id": 2**60, "name": "b"}]))
len(runtime.to_toon([{"id": id, "text": "x" * 80} for id in range(20_000)]))`;
      const { structured } = await run(code);
      expect(structured['stdout']).toEqual(['[2]{id,name}:', '  1,a', '  "1152921504606846976",b']);
      expect(Number(structured['result'])).toBeGreaterThan(1_600_000);
    });

    it('progress reaches a callback, awaited and blocking', async () => {
      const code = `seen = []
slow = mcp_everything.trigger_long_running_operation.with_options(on_progress=lambda *r: seen.append(r), timeout=20)
await slow(duration=1, steps=3)
first, seen = seen, []
slow.sync(duration=1, steps=3)
(first[0][:2], first[-1][:2], seen[-1][:2])`;
      expect((await run(code)).structured['result']).toBe('((1, 3), (3, 3), (3, 3))');
    });

    it('a timeout of a call ends only that call', async () => {
      const code = `slow = mcp_everything.trigger_long_running_operation.with_options(timeout=0.3)
try:
    await slow(duration=10, steps=2)
except MCPError as e:
    print(e.code)`;
      expect((await run(code)).text).toBe('CALL_TIMEOUT');
    });

    it('a cell that is certain to fail is stopped before it has any effect', async () => {
      const code = 'effect = 1\nawait mcp_memory.create_entities(entities=[])\nawait mcp_memory.read_grap()';
      const { text, structured } = await run(code);
      expect(structured['status']).toBe('error');
      expect(text).toContain('CHECK_FAILED: the cell did not run');
      expect(text).toContain(
        "line 3: await mcp_memory.read_grap()\n    mcp_memory has no tool 'read_grap'. Did you mean 'read_graph'",
      );
      expect((await run('"effect" in globals()')).structured['result']).toBe('False');
    });

    it('a probable mistake is a warning, and the cell runs', async () => {
      const { text, structured } = await run('rows = []\nfor row in rows:\n    mcp_memory.read_graph()\n7');
      expect(structured['result']).toBe('7');
      expect(text).toContain("mcp_memory.read_graph(...) without 'await' is never sent");
    });
  });

  describe(`loading on first use on ${engine.label}`, () => {
    let bridge: BridgeClient;

    beforeAll(async () => {
      bridge = await startBridge({
        engine,
        env: { MCP_BRIDGE_AUTOLOAD: '1' },
        servers: () => ({ everything: packageServer('@modelcontextprotocol/server-everything') }),
      });
    });
    afterAll(() => bridge.close());

    it('loads servers that code calls, and the answer says so', async () => {
      expect((await bridge.runPython('1')).structured['servers']).toBeUndefined();
      const { text, structured } = await bridge.runPython("await mcp_everything.echo(message='hi')");
      expect(structured).toMatchObject({ result: "'Echo: hi'", servers: ['everything'] });
      expect(text).toContain('Servers loaded by the code: everything.');
      const again = await bridge.runPython('LOADED_MCP_SERVERS');
      expect(again.structured['result']).toBe("('everything',)");
      expect(again.text).not.toContain('loaded by the code');
    });

    // It ended with its cell: its result, and its exception, were lost.
    it('a step of a task goes on in the next cell', async () => {
      const begin = `import asyncio
async def one(text):
    await mcp_everything.echo(message=text)
    await asyncio.sleep(0.3)
    return 1 / len(text)
late = [asyncio.ensure_future(runtime.step(one, text)) for text in ("x", "")]
await asyncio.sleep(0.1)`;
      expect((await bridge.runPython(begin)).text).not.toContain('Error');
      const { structured } = await bridge.runPython('await asyncio.gather(*late, return_exceptions=True)');
      expect(structured['result']).toBe("[1.0, ZeroDivisionError('division by zero')]");
    });
  });

  describe(`shapes of results on ${engine.label}`, () => {
    // Each run made a call to see what it returns.
    it('are known to the next bridge in the folder', async () => {
      const servers = (folder: string) => ({ booking: fixtureServer('booking.mjs', join(folder, 'ledger')) });
      const first = await startBridge({ engine, servers });
      try {
        const ask = { servers: ['booking'], timeout: 60 };
        expect((await first.runPython('await mcp_booking.seats()', ask)).isError).toBe(false);
        await pause(1_000, 'a shape is written half a second after it was seen');
        const second = await startBridge({ engine, env: { MCP_BRIDGE_STATE_DIR: first.folder } });
        try {
          const { structured } = await second.runPython("print(runtime.stubs('booking', 'seats'))", { timeout: 60 });
          expect([structured['stdout']].flat().at(-1)).toBe(
            "async def seats(**kwargs) -> list[SeatsResult]: 'The tool seats.'  # result as observed so far",
          );
        } finally {
          await second.close();
        }
      } finally {
        await first.close();
      }
    });
  });
}
