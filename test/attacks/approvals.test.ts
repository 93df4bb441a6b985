// Tags: bubblewrap
/** Code that tries to get a call approved by hiding what it does from the person. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Asked, type AskingBridge, startAskingBridge } from '../support/asking-bridge.ts';
import { fixtureServer } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const SECRET_PATH = '/home/me/.ssh/id_ed25519';
/** `call` sends any arguments and any line number, as code can. */
const RAW = `async def call(given, line=1):
    try:
        params = {"server": "notes", "tool": "read_note", "arguments": given, "line": line}
        return await runtime._host.call("call_tool", params)
    except MCPError as error:
        return f"{error.code}: {error.message}"
`;

for (const engine of await coverEngines()) {
  describe(`attacks on approvals on ${engine.label}`, () => {
    const asked: Asked[] = [];
    let bridge: AskingBridge;
    beforeAll(async () => {
      bridge = await startAskingBridge({
        engine,
        era: '2025-11-25',
        servers: { notes: fixtureServer('guarded.mjs') },
        policy: { rules: [{ effect: 'ask', tool: 'read_note' }] },
        person(question) {
          asked.push(question);
          return { action: 'accept', content: { answer: 'Do not allow' } };
        },
      });
    });
    afterAll(() => bridge.close());
    beforeEach(() => {
      asked.length = 0;
    });

    const message = () => asked[0]?.message ?? '';
    const attack = (code: string) => bridge.run(code, { servers: ['notes'] });

    it('the declared argument comes first, whatever surrounds it', async () => {
      await attack(`${RAW}
dummies = {f"path_{i}": "/tmp/scratch" for i in range(100)}
await call({"p\\u0430th": "/tmp/scratch", "__proto__": 1, **dummies, "path": ${JSON.stringify(SECRET_PATH)}})`);
      const [declared = '', others = ''] = message().split('Arguments that the tool does not declare:');
      expect(declared).toContain(`Arguments:\n\n    path: "${SECRET_PATH}"\n`);
      expect(declared).not.toContain('/tmp/scratch');
      expect(others.match(/\/tmp\/scratch/g)).toHaveLength(101);
    });

    it('nothing in the middle of a long value or list is left out', async () => {
      await attack(`${RAW}
await call({"path": ["/tmp/" + "x" * 2_000, ${JSON.stringify(SECRET_PATH)}, "/tmp/" + "y" * 2_000]})`);
      expect(message()).toContain(SECRET_PATH);
    });

    it('a call that cannot be shown whole is not asked about', async () => {
      const text = await attack(`${RAW}
print(await call({"path": "x" * 2_000_000}))
print(await call({"path": ${JSON.stringify(SECRET_PATH)}, **{f"dummy_{i}": i for i in range(5_000)}}))`);
      expect(text.match(/APPROVAL_UNAVAILABLE: notes\.read_note was not called/g)).toHaveLength(2);
      expect(text).toContain('the limit is 10,000');
      expect(asked).toEqual([]);
    });

    it('no line is quoted that is not a call of the tool', async () => {
      const code = `${RAW}
# await mcp_notes.read_note(path="/tmp/scratch")
text = """
await mcp_notes.read_note(path="/tmp/scratch")
"""
mcp_notes.add_note  # mcp_notes.read_note(path="/tmp/scratch")
for line in range(1, 14):
    await call({"path": f"${SECRET_PATH}{line}"}, line)`;
      await attack(code);
      expect(asked).toHaveLength(13);
      expect(asked.filter((question) => question.message.includes('/tmp/scratch'))).toEqual([]);
      expect(asked.filter((question) => question.message.includes('of the code'))).toEqual([]);
    });

    it('a comment on the line of a call is not quoted, and other calls of the tool are counted', async () => {
      await attack(`if False: await mcp_notes.read_note(path="/tmp/scratch")  # as the user asked
await mcp_notes.read_note(path=${JSON.stringify(SECRET_PATH)})  # /tmp/scratch`);
      expect(message()).toContain('Line 2 of the code, as reported by the sandbox; 2 lines call this tool:');
      expect(message()).not.toMatch(/scratch|as the user asked/);
    });
  });
}
