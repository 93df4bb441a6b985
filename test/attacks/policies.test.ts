// Tags: anywhere
/** Policies that read as if they forbid a call, and code that tries the call in every form. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type NotesBridge, runProgram, startNotes } from '../support/attacks.ts';
import { CLI } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const POLICY = {
  rules: [
    { effect: 'deny', tool: 'notes.delete-note' },
    { effect: 'deny', tool: ['NOTES.write_*', 'notes.resources/*'] },
    { effect: 'deny', tool: 'nots.*', reason: 'a misspelled name' },
    { effect: 'deny', server: 'notes', tool: 'read_note', arguments: { path: { under: '/etc' } } },
    { effect: 'deny', server: 'notes', tool: 'read_note', arguments: { path: { equals: 'secret' } } },
    { effect: 'deny', server: 'notes', tool: 'wait', arguments: { seconds: { missing: false } } },
  ],
};

for (const engine of await coverEngines()) {
  describe(`attacks on policies on ${engine.label}`, () => {
    let bridge: NotesBridge;
    beforeAll(async () => {
      bridge = await startNotes(POLICY, { engine });
    });
    afterAll(() => bridge.close());

    it('no denied call reaches the server, however it is written', async () => {
      const { structured } = await bridge.runPython(
        `import json
call = runtime._host.call
tries = [
    ("delete-note", {}), ("DELETE_NOTE", {}), ("notes.delete-note", {}), ("write_note", {}),
    *[("read_note", {"path": path}) for path in (
        "/proc/self/root/etc/shadow", "/proc/1/cwd/shadow", "/proc/thread-self/root/etc/shadow", "/proc", "/dev/fd/3",
        "/dev/stdin", "/proc/self/task/1/root/etc", ["/proc/self/root/etc/shadow"], "", None, [], {})],
    *[("read_note", {"path": path}) for path in ("secret", "Secret ", "sec\u200bret", "\ufeffsecret", "s\u00adecret", "\uff53ecret")],
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
      expect(codes).toHaveLength(32);
      // The name of the server is no part of a tool's name.
      expect(codes[2]).toBe('TOOL_UNKNOWN');
      expect(codes.toSpliced(2, 1).filter((code) => code !== 'POLICY_DENIED')).toEqual([]);
      expect(bridge.ledger()).toEqual([]);
    });

    it('calls that no rule forbids are made', async () => {
      const code = 'print(await mcp_notes.read_note(path="/home/x")); print(await mcp_notes.add_note())';
      const { text } = await bridge.runPython(code, { servers: ['notes'] });
      expect(text).toContain('read /home/x\nadded');
    });

    it.each(['policy show', 'policy explain notes.add_note', 'doctor'])(
      '%s reports the rule that matches nothing',
      async (words) => {
        const env = { ...engine.env, MCP_BRIDGE_STATE_DIR: bridge.folder, MCP_BRIDGE_LOG_LEVEL: 'WARNING' };
        const { shown } = await runProgram([process.execPath, CLI, ...words.split(' ')], { env });
        expect(shown).toMatch(/rules\[2\].*: no known tool matches 'nots\.\*'/);
        expect(shown.match(/no known tool matches/g)).toHaveLength(1);
      },
    );
  });
}
