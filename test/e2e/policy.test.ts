// Tags: anywhere
/** Policies with the built command, a real client and a real server that records its calls. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type BridgeClient, CLI, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { pause } from '../support/pause.ts';

// No engine knows of policies, so one is enough.
const engines = (await coverEngines()).slice(0, 1);

/** The longest time for the bridge to notice a change of the file. */
const SEEN_AFTER_MS = 300;

for (const engine of engines) {
  describe(`policies on ${engine.label}`, () => {
    let bridge: BridgeClient;
    let log = '';
    const file = () => join(bridge.folder, 'policy.json');
    const ledger = () => join(bridge.folder, 'ledger');
    /** Names of the tools that the server was actually called for. */
    const called = (): string[] =>
      existsSync(ledger())
        ? readFileSync(ledger(), 'utf8')
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => (JSON.parse(line) as { tool: string }).tool)
        : [];
    const run = (code: string, more = {}) => bridge.runPython(code, { servers: ['notes'], ...more });

    async function setPolicy(policy: unknown): Promise<void> {
      writeFileSync(file(), typeof policy === 'string' ? policy : JSON.stringify(policy));
      await pause(SEEN_AFTER_MS, 'nothing shows that the bridge has seen the new file');
    }

    beforeAll(async () => {
      bridge = await startBridge({
        engine,
        servers: (folder) => {
          const notes = fixtureServer('guarded.mjs');
          const env = { FIXTURE_LEDGER: join(folder, 'ledger'), FIXTURE_NAME: 'notes' };
          return {
            notes: { ...notes, env },
            'Read Only': { ...notes, env, policy: { preset: 'read-only' } },
            broken: { ...notes, env, policy: { rule: [] } },
          };
        },
        env: { MCP_BRIDGE_MAX_TIMEOUT: '300' },
        onLog: (text) => {
          log += text;
        },
      });
    });
    afterAll(() => bridge.close());
    beforeEach(() => rmSync(ledger(), { force: true }));

    it('a denied tool is hidden everywhere', async () => {
      await setPolicy({ rules: [{ effect: 'deny', tool: ['delete_note', 'write_*'] }] });
      const { structured } = await run(`import json
out = {
  "search": [hit.tool for hit in await runtime.search_tool_docs("delete note", limit=20) if hit.server == "notes"],
  "list": [tool.name for tool in await runtime.list_tools("notes")],
  "docs": [doc.tool for doc in await runtime.query_tool_docs("notes")],
  "counts": [server.tool_count for server in await runtime.find_servers() if server.server == "notes"],
  "describe": [tool["name"] for tool in (await runtime._host.call("describe_server", {"server": "notes"}))["tools"]],
  "stubs": "delete" in await runtime._host.call("stubs", {"server": "notes"}),
  "dir": sorted(dir(mcp_notes)),
}
json.dumps(out)`);
      const out = JSON.parse(String(structured['result']).slice(1, -1)) as Record<string, unknown>;
      const left = ['read_note', 'add_note', 'wait', 'big'];
      expect(out['search']).not.toContain('delete-note');
      expect(out).toMatchObject({
        list: left,
        docs: left,
        counts: [4],
        describe: left,
        stubs: false,
        dir: left.toSorted(),
      });
    });

    it('a cell that is certain to call it is stopped before it has any effect', async () => {
      const { text } = await run('await mcp_notes.add_note()\nawait mcp_notes.delete_note()');
      expect(text).toContain('CHECK_FAILED: the cell did not run and had no effect');
      expect(text).toContain('POLICY_DENIED: notes.delete-note was not called: rules[0] of ');
      expect(text).toContain('policy.json denies it');
      expect(called()).toEqual([]);
    });

    it('no spelling of its name bypasses the host', async () => {
      const { structured } = await run(`import json
from mcp.runtime import PolicyError as Imported
host = runtime._host
async def proxy(): return await getattr(mcp_notes, "delete_note")()
async def item(): return await mcp_notes["delete-note"]()
async def other_case(): return await mcp_notes["DELETE_NOTE"]()
async def sync(): return mcp_notes["delete_note"].sync()
async def raw(): return await runtime.call_tool("notes", "delete-note", {})
async def rawest(): return await runtime.call_tool_raw("NOTES", "Delete-Note")
async def frame(): return await host.call("call_tool", {"server": "notes", "tool": "delete-note", "arguments": {}})
async def frame_alias(): return await host.call("call_tool", {"server": "notes", "tool": "delete_note", "progress": True})
async def docs(): return await runtime.query_tool_docs("notes", "delete_note")
async def stub(): return await host.call("stubs", {"server": "notes", "tools": ["delete-note"]})
async def spaced(): return await host.call("call_tool", {"server": "notes", "tool": " delete-note"})
async def hidden(): return await host.call("call_tool", {"server": "notes", "tool": "delete-note\\u200b"})
async def extra(): return await host.call("call_tool", {"server": "notes", "tool": "delete-note", "approved": True})
seen = {}
for way in (proxy, item, other_case, sync, raw, rawest, frame, frame_alias, docs, stub, spaced, hidden, extra):
    try:
        seen[way.__name__] = ["came through", await way()]
    except MCPError as error:
        seen[way.__name__] = [error.code, type(error).__name__, isinstance(error, PolicyError) and PolicyError is Imported]
json.dumps(seen)`);
      const seen = JSON.parse(String(structured['result']).slice(1, -1)) as Record<string, unknown>;
      const refused = ['POLICY_DENIED', 'PolicyError', true];
      expect(seen).toEqual({
        proxy: refused,
        item: refused,
        other_case: refused,
        sync: refused,
        raw: refused,
        rawest: refused,
        frame: refused,
        frame_alias: refused,
        docs: refused,
        stub: refused,
        spaced: ['TOOL_UNKNOWN', 'MCPError', false],
        hidden: ['TOOL_UNKNOWN', 'MCPError', false],
        extra: ['CALL_REFUSED', 'MCPError', false],
      });
      expect(called()).toEqual([]);
    });

    it('a change takes effect during a cell', async () => {
      await setPolicy({});
      const cell = run(`import asyncio
done = 0
try:
    while True:
        await mcp_notes.add_note()
        done += 1
        await asyncio.sleep(0.02)
except PolicyError as error:
    out = (done > 0, error.code, str(error))
out`);
      await expect.poll(called).not.toEqual([]);
      await setPolicy({ default: 'deny' });
      const { structured } = await cell;
      expect(structured['result']).toContain("(True, 'POLICY_DENIED'");
      expect(structured['result']).toContain('"default" of ');
    });

    it('a broken file refuses everything, with the location of the error, until it is fixed', async () => {
      await setPolicy('{"rules": [{"effect": "deny", "tools": "x"}]}');
      const { text } =
        await run(`for way in (runtime.search_tool_docs("note"), runtime.list_tools("notes"), runtime.call_tool("notes", "read_note")):
    try:
        print(await way)
    except PolicyError as error:
        print(error.message.replace("\\n", " "))`);
      const reason = `${file()}: rules[0]: Unrecognized key: "tools"`;
      expect(text.split(reason)).toHaveLength(4);
      expect(called()).toEqual([]);
      await setPolicy({});
      expect((await run('await mcp_notes.read_note(path="/a")')).structured['result']).toBe("'read /a'");
    });

    it('conditions apply to the arguments that the server would get', async () => {
      const arguments_ = { path: { under: '/data' } };
      await setPolicy({
        rules: [
          { effect: 'allow', tool: 'read_note', arguments: arguments_ },
          { effect: 'deny', tool: 'read_note', reason: 'only below /data' },
        ],
      });
      const { structured } = await run(`import json
seen = []
for path in ("/data/a", ["/data/a", "/data/b"], "/data/../etc/passwd", "/etc/passwd", ["/data/a", "/etc/passwd"], "/DATA/a", [], "data/a"):
    try:
        seen.append(await mcp_notes.read_note(path=path))
    except PolicyError as error:
        seen.append(error.code)
try:
    seen.append(await mcp_notes.read_note())
except PolicyError as error:
    seen.append(error.message.partition("(")[2])
json.dumps(seen)`);
      const seen = JSON.parse(String(structured['result']).slice(1, -1)) as string[];
      const no = 'POLICY_DENIED';
      expect(seen).toEqual(['read /data/a', 'read /data/a,/data/b', no, no, no, no, no, no, 'only below /data)']);
      expect(called()).toEqual(['read_note', 'read_note']);
    });

    it('limits apply to all kinds of calls, across cells and sessions', async () => {
      await setPolicy({
        limits: [
          { tool: 'add_note', callsPerCell: 2 },
          { tool: 'read_note', callsPerMinute: 3 },
        ],
      });
      const count = (tool: string) => `done = 0
try:
    for _ in range(9):
        await runtime.call_tool("notes", "${tool}", {})
        done += 1
except PolicyError as error:
    code = error.code
(done, code)`;
      expect((await run(count('add_note'))).structured['result']).toBe("(2, 'POLICY_LIMIT')");
      expect((await run(count('add_note'))).structured['result']).toBe("(2, 'POLICY_LIMIT')");
      expect((await run(count('read_note'))).structured['result']).toBe("(3, 'POLICY_LIMIT')");
      const other = await run(count('read_note'), { session: 'other' });
      expect(other.structured['result']).toBe("(0, 'POLICY_LIMIT')");
    });

    it('gathered calls run concurrently up to the limit', async () => {
      await setPolicy({ limits: [{ tool: 'wait', callsInFlight: 2 }] });
      const { structured } = await run(`import asyncio, time
begin = time.monotonic()
await asyncio.gather(*[mcp_notes.wait(seconds=0.2) for _ in range(6)])
time.monotonic() - begin`);
      // Two at a time take three rounds; all at once would take one. The lower bound holds even on a slow machine.
      expect(Number(structured['result'])).toBeGreaterThan(0.59);
    });

    it('a deadline and a limit on results report the fate of the call', async () => {
      await setPolicy({
        limits: [
          { tool: 'wait', deadline: '100ms' },
          { tool: 'big', resultBytes: '1k' },
        ],
      });
      const { structured } = await run(`said = [len(await mcp_notes.big(chars=100))]
for call in (mcp_notes.wait(seconds=60), mcp_notes.big(chars=5000)):
    try:
        await call
    except PolicyError as error:
        said.append(error.message.partition(",")[0])
said`);
      expect(structured['result']).toBe("[100, 'the call was cancelled after 0.1 s', 'the call was made']");
    });

    it('if the client cannot ask, a call that needs approval is refused, with how the user can allow it', async () => {
      await setPolicy({ preset: 'ask-destructive' });
      const { structured } = await run(`said = [await mcp_notes.add_note()]
try:
    await mcp_notes.write_note()
except PolicyError as error:
    said.append((error.code, 'preset "ask-destructive"' in error.message, "policy.json" in str(error.hint)))
said`);
      expect(structured['result']).toBe("['added', ('APPROVAL_UNAVAILABLE', True, True)]");
      expect(called()).toEqual(['add_note']);
    });

    it('a denied server is not started, and its resources and prompts are refused too', async () => {
      await setPolicy({ rules: [{ effect: 'deny', server: 'read_only' }] });
      const { structured } = await run(
        `codes = []
server = getattr(mcp_servers, "__getitem__")("Read Only")
for way in (lambda: server.read_note(path="/a"), lambda: server.list_resources(), lambda: server.server.read_resource("note:///one"),
            lambda: server.list_prompts(), lambda: server.get_prompt("ask"), lambda: runtime.list_tools("Read Only")):
    try:
        codes.append(await way())
    except PolicyError as error:
        codes.append(error.code)
codes`,
        { servers: ['Read Only'] },
      );
      expect(structured['result']).toBe(`[${Array.from({ length: 6 }, () => "'POLICY_DENIED'").join(', ')}]`);
      expect(called()).toEqual([]);
    });

    it('the entry of a server can forbid more, and a broken one refuses only that server', async () => {
      await setPolicy({ rules: [{ effect: 'allow', server: 'Read Only' }] });
      const { structured } = await run(
        `said = []
for call in (mcp_read_only.read_note(path="/a"), mcp_read_only.read_resource("note:///one"), runtime.call_tool("Read Only", "write_note"),
             runtime.call_tool("broken", "read_note"), runtime.call_tool("notes", "write_note")):
    try:
        said.append(str(await call))
    except PolicyError as error:
        said.append(error.message)
said`,
        { servers: ['Read Only', 'broken', 'notes'] },
      );
      const result = String(structured['result']);
      expect(result).toContain(
        "['read /a', 'the note', 'Read Only.write_note was not called: preset \"read-only\" of ",
      );
      expect(result).toContain('(mcpServers.Read Only.policy) denies it');
      expect(result).toContain('mcpServers.broken.policy: Unrecognized key: "rule"');
      expect(result).toContain("'written']");
      expect(log).toContain('mcpServers.broken.policy');
    });
  });
}

for (const engine of engines) {
  it(`MCP_BRIDGE_PROFILE leaves only its servers and tools, on ${engine.label}`, async () => {
    const bridge = await startBridge({
      engine,
      servers: (folder) => {
        const notes = fixtureServer('guarded.mjs');
        const env = { FIXTURE_LEDGER: join(folder, 'ledger'), FIXTURE_NAME: 'notes' };
        return { notes: { ...notes, env }, other: { ...notes, env } };
      },
      env: { MCP_BRIDGE_PROFILE: 'reading', MCP_BRIDGE_AUTOLOAD: '1' },
    });
    onTestFinished(() => bridge.close());
    const code = `import json
async def said(call):
    try:
        return str(await call).replace("write_note", "X").replace("no_such", "X").replace("other", "Y").replace("missing", "Y")
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("write_note", "X").replace("no_such", "X").replace("other", "Y").replace("missing", "Y")
host = runtime._host
print("OUT", json.dumps({
  "read": await said(mcp_notes.read_note(path="/a")),
  "tools": [await said(runtime.call_tool("notes", tool)) for tool in ("write_note", "no_such")],
  "raw": [await said(host.call("describe_server", {"server": server})) for server in ("other", "missing")],
  "servers": [await said(runtime.call_tool(server, "read_note", path="/a")) for server in ("other", "missing")],
  "found": sorted({(hit.server, hit.tool) for hit in await runtime.search_tool_docs("note", limit=20)}),
  "resource": await said(mcp_notes.read_resource("note:///one")),
  "docs": [doc.tool for doc in await runtime.query_tool_docs("notes")],
}))`;
    const unknown = await bridge.runPython('1', { servers: ['notes'] });
    expect(unknown.text).toMatch(/CONFIG_INVALID: .*policy\.json defines no profile 'reading'[^]*Hint: /);
    writeFileSync(
      join(bridge.folder, 'policy.json'),
      JSON.stringify({ profiles: { reading: { servers: 'notes', tools: 'read_*' } } }),
    );
    const { text } = await bridge.runPython(code, { servers: ['notes'] });
    expect(text).not.toContain('status: error');
    const out = JSON.parse(/^OUT (.*)$/m.exec(text)?.[1] ?? '') as Record<string, string & string[]>;
    expect(out['read']).toBe('read /a');
    for (const pair of [out['tools'], out['raw'], out['servers']]) {
      expect(pair?.[0]).toMatch(/Error/);
      // Hints name similar tools, which depend on the name.
      expect(pair?.[0]?.split('\n')[0]).toBe(pair?.[1]?.split('\n')[0]);
    }
    expect(out['found']).toEqual([['notes', 'read_note']]);
    expect(out['docs']).toEqual(['read_note']);
    expect(out['resource']).toMatch(/offers no resources/);
    const ledger = readFileSync(join(bridge.folder, 'ledger'), 'utf8');
    expect(ledger.match(/"tool":"[a-z_]+"/g)).toEqual(['"tool":"read_note"']);
  });
}

describe('policy show', () => {
  // It used to print the fault twice and to exit with 0, so a script took the broken policy for a good one.
  it('prints a fault of the policy once, and exits with 78', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bridge-policy-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'policy.json'), '{"rules": [{"effect": "forbid"}]}');
    const env = { ...process.env, MCP_BRIDGE_STATE_DIR: folder };
    const { exitCode, all } = await execa(process.execPath, [CLI, 'policy', 'show'], { env, all: true, reject: false });
    expect(all.match(/rules\[0\]/g)).toHaveLength(1);
    expect(exitCode).toBe(78);
  });
});
