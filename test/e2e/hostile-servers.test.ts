// Tags: anywhere, full
/** Servers with dangerous texts, as an agent meets them: the built command, a real client, a real sandbox. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { descendantsOf } from '../support/processes.ts';

/** Invisible characters, and those that control a terminal. */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\u{e0000}-\u{e0fff}]/u;
const KINDS = ['names', 'schemas', 'flood', 'heavy'];

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // It ended in the meantime.
  }
}

const [engine] = await coverEngines();

describe.skipIf(engine === undefined)('hostile servers', () => {
  let stateDir: string;
  let bridge: BridgeClient;
  const open = () => {
    if (engine === undefined) {
      throw new Error('no engine');
    }
    return startBridge({ engine, env: { MCP_BRIDGE_STATE_DIR: stateDir, MCP_BRIDGE_LOG_LEVEL: 'ERROR' } });
  };
  const run = (code: string) => bridge.runPython(code, { servers: KINDS });

  beforeAll(async () => {
    stateDir = mkdtempSync(join(tmpdir(), 'bridge-hostile-'));
    const mcpServers = Object.fromEntries(KINDS.map((kind) => [kind, fixtureServer('hostile-tools.mjs', kind)]));
    writeFileSync(join(stateDir, 'servers.json'), JSON.stringify({ mcpServers }));
    bridge = await open();
  });
  afterAll(async () => {
    await bridge.close();
    rmSync(stateDir, { recursive: true });
  });

  it('are found and described, with notices about omissions', async () => {
    const found = await run(`
import asyncio
hits = await runtime.search_tool_docs("hidden")
while any(server.tool_count is None for server in runtime.discovered_servers(detailed=True)): await asyncio.sleep(0.1)
hits = await runtime.search_tool_docs("hidden")
print(hits[0].tool, {s.name: (s.tool_count, s.loaded, s.last_error) for s in runtime.discovered_servers(detailed=True)})
print(runtime.describe_server("names").instructions)`);
    expect(found.text).toContain('hidden ');
    expect(found.text).toContain("'flood': (10000, True, None)");
    expect(found.text).toContain('Be<U+200B> kind.<U+001B>[2J');
    expect(found.text).toContain('server flood: only the first 10,000 tools were kept');
    expect(found.text).toContain(
      'server heavy: the list was cut at a part that is too large: more than 500,000 members',
    );
    expect(found.text).not.toMatch(HIDDEN);
  });

  it('have documentation without hidden characters, and tools that can be called by their Python names', async () => {
    const answer = await run(`
docs = [await runtime.query_tool_docs(name, detail="full") for name in ("names", "schemas")]
print(docs)
print(await mcp_names.hidden(**{"from<U+200B>": "b", "x_loc_lat": 1.5}))
print(await mcp_names.class_(), await mcp_names.__getattr__("constructor")(), await mcp_names["__proto__"]())
names = dir(mcp_names)
print(len(names) == len(set(names)) and all(name.isidentifier() for name in names))
print(await mcp_schemas.ref_bomb(value={}), await mcp_schemas.remote(value=1))`);
    expect(answer.isError).toBe(false);
    expect(answer.text).not.toMatch(HIDDEN);
    expect(answer.text).toMatch(/\nTrue\n/);
  });

  it('are known to the next bridge, which does not start them for a search', async () => {
    await bridge.close();
    bridge = await open();
    const { text } = await bridge.runPython(`
hits = await runtime.search_tool_docs("ref bomb")
print(hits[0].tool, [server.tool_count for server in runtime.discovered_servers(detailed=True)])`);
    expect(text).toContain('ref_bomb [25, 16, 10000, 1]');
    expect(text).toContain('server flood: only the first 10,000 tools were kept');
    expect(
      descendantsOf(bridge.pid)
        .map(commandOf)
        .filter((line) => line.includes('hostile-tools')),
    ).toEqual([]);
  });
});
