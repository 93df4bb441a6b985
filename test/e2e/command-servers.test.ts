// Tags: anywhere, full
/** A program that is no MCP server, as a server of the built command: python3 runs once for each call. */
import { expect, it, onTestFinished } from 'vitest';
import { startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const [engine] = await coverEngines();
const SCRIPT = `
import json, sys
if sys.argv[1] == "fail":
    sys.exit("no such thing")
print(json.dumps({"words": sys.argv[1:], "input": sys.stdin.read()}))`;

const server = {
  command: 'python3',
  args: ['-c', SCRIPT],
  subcommands: {
    show: {
      description: 'Shows what it was given.',
      args: ['show', '--limit={limit}', ['--label', '{label}'], { flag: '--draft', if: 'draft' }, '{name}'],
      parameters: {
        name: { type: 'string' },
        limit: { type: 'integer', default: 30 },
        label: { type: 'array', items: { type: 'string' } },
        draft: { type: 'boolean' },
        body: { type: 'string' },
      },
      stdin: 'body',
      readOnly: true,
    },
    fail: { args: ['fail'], readOnly: true },
  },
};

const CODE = `
print(await mcp_tool.show("a b", label=["x", "y"], draft=True, body="in"))
for call in (lambda: mcp_tool.fail(), lambda: mcp_tool.show("--all")):
    try:
        await call()
    except Exception as error:
        print(type(error).__name__, error)
`;

it.runIf(engine !== undefined)('subcommands of a program are tools', async () => {
  const bridge = await startBridge({ engine: engine ?? expect.fail(), servers: () => ({ tool: server }) });
  onTestFinished(() => bridge.close());
  const answer = await bridge.runPython(CODE, { servers: ['tool'] });
  expect(answer.text).toContain(
    "{'words': ['show', '--limit=30', '--label', 'x', '--label', 'y', '--draft', 'a b'], 'input': 'in'}",
  );
  expect(answer.text).toContain('exit 1: no such thing');
  expect(answer.text).toContain('"name" begins with "-", which the program would read as an option');
});
