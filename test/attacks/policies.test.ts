/** Policies that read as if they forbid a call, and code that tries the call in every form. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, CLI, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const POLICY = {
  rules: [
    { effect: 'deny', tool: 'notes.delete-note' },
    { effect: 'deny', tool: ['NOTES.write_*', 'notes.resources/*'] },
    { effect: 'deny', tool: 'nots.*', reason: 'a misspelled name' },
    { effect: 'deny', server: 'notes', tool: 'read_note', arguments: { path: { under: '/etc' } } },
    { effect: 'deny', server: 'notes', tool: 'wait', arguments: { seconds: { missing: false } } },
  ],
};

for (const engine of await coverEngines()) {
  describe(`attacks on policies on ${engine.label}`, () => {
    let bridge: BridgeClient;
    beforeAll(async () => {
      bridge = await startBridge({
        engine,
        servers: (folder) => {
          const env = { FIXTURE_LEDGER: join(folder, 'ledger'), FIXTURE_NAME: 'notes' };
          return { notes: { ...fixtureServer('guarded.mjs'), env } };
        },
      });
      writeFileSync(join(bridge.folder, 'policy.json'), JSON.stringify(POLICY));
    });
    afterAll(() => bridge.close());

    /** Names and arguments of the tools that the server was really called for. */
    const ledger = (): string[] => {
      const file = join(bridge.folder, 'ledger');
      return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
    };

    it('no denied call reaches the server, however it is written', async () => {
      const { structured } = await bridge.runPython(
        `import json
call = runtime._host.call
tries = [
    ("delete-note", {}), ("DELETE_NOTE", {}), ("notes.delete-note", {}), ("write_note", {}),
    *[("read_note", {"path": path}) for path in (
        "/proc/self/root/etc/shadow", "/proc/1/cwd/shadow", "/proc/thread-self/root/etc/shadow", "/proc", "/dev/fd/3",
        "/dev/stdin", "/proc/self/task/1/root/etc", ["/proc/self/root/etc/shadow"], "", None, [], {})],
    ("read_note", {"path": "/tmp/x", "Path": "/etc/shadow"}), ("read_note", {"path": ["/é" * 400] * 1_000}),
    *[("wait", {"seconds": seconds}) for seconds in (None, "", " ", [], [None], {}, 0)],
]
codes = []
for tool, given in tries:
    try:
        codes.append([tool, given, await call("call_tool", {"server": "notes", "tool": tool, "arguments": given})])
    except MCPError as error:
        codes.append(error.code)
try:
    codes.append(await call("read_resource", {"server": "notes", "uri": "note:///one"}))
except MCPError as error:
    codes.append(error.code)
json.dumps(codes)`,
        { servers: ['notes'] },
      );
      const codes = JSON.parse(String(structured['result']).slice(1, -1)) as unknown[];
      expect(codes).toHaveLength(26);
      expect(codes.filter((code) => code !== 'POLICY_DENIED' && code !== 'TOOL_UNKNOWN')).toEqual([]);
      expect(ledger()).toEqual([]);
    });

    it('calls that no rule forbids are made', async () => {
      const code = 'print(await mcp_notes.read_note(path="/home/x")); print(await mcp_notes.add_note())';
      const { text } = await bridge.runPython(code, { servers: ['notes'] });
      expect(text).toContain('read /home/x\nadded');
    });

    it.each(['policy show', 'policy explain notes.add_note', 'doctor'])(
      '%s reports the rule that matches nothing',
      async (words) => {
        const said = await command(bridge.folder, engine.env, words.split(' '));
        expect(said).toMatch(/rules\[2\].*: no known tool matches 'nots\.\*'/);
        expect(said.match(/no known tool matches/g)).toHaveLength(1);
      },
    );
  });
}

function command(
  folder: string,
  engineEnv: Readonly<Record<string, string>>,
  argv: readonly string[],
): Promise<string> {
  const env = { ...engineEnv, MCP_BRIDGE_STATE_DIR: folder, MCP_BRIDGE_LOG_LEVEL: 'WARNING' };
  return new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...argv], { env }, (_, stdout) => resolve(stdout));
  });
}
