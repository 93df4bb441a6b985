// Tags: full, fresh
/**
 * Code writes frames that are cheap to make and expensive to read, or asks for work that the host does itself. Another session
 * gets its answers within a second throughout, and what the bridge keeps and logs stays small.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PAST_THE_PROXIES } from '../faults/cases/hostile-python.ts';
import { amount, enginesForBridge } from '../support/attacks.ts';
import { slowestBeside } from '../support/beside.ts';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import type { TestEngine } from '../support/engines.ts';
import { PATIENCE } from '../support/patience.ts';

const MAX_ANSWER_MS = 1_000 * PATIENCE;
const SECONDS = amount(2, 10);
const SERVERS = ['many'];
/** Lines of the log that one session may cause. */
const MAX_LOG_LINES = 200;

const FLOOD = `${PAST_THE_PROXIES}
MIB = 1 << 20
def flood(line_of):
    """Writes lines, each for another call, until the time is up."""
    number, end = 1_000_000, time.monotonic() + ${SECONDS}
    while time.monotonic() < end:
        number += 1
        write(line_of(number))
def call(method, params):
    """Calls whose parameters are given as JSON."""
    head, body = b'{"type":"call","call":', b',"method":"%s","params":%s}\\n' % (method, params)
    return lambda number: head + b"%d" % number + body
`;

interface Flood {
  readonly title: string;
  readonly code: string;
}

const FLOODS: readonly Flood[] = [
  // Each digit is a number; 8,000,000 of them were looked at one by one, which took 1 s.
  { title: 'digits that are not JSON', code: `flood(call(b"call_tool", b'{"a":' + b"0" * (8 * MIB - 200) + b"}"))` },
  // Each wrong member made an issue of the schema: half a megabyte took 1 s.
  {
    title: 'lists of wrong names in results',
    code: `
names = b'{"variables":[' + b"1," * 249_000 + b'1],"functions":[],"imports":[],"omitted":0}'
line = b'{"type":"result","cell":%d,"outcome":"ok","names":%s}\\n' % (CELL, names)
flood(lambda _: line)`,
  },
  {
    title: 'lists of wrong names in requests',
    code: `flood(call(b"tool_specs", b'{"server":"many","tools":[' + b"1," * 249_000 + b"1]}"))`,
  },
  {
    title: 'prompts with wrong arguments',
    code: `
members = b",".join(b'"%d":1' % number for number in range(74_000))
flood(call(b"get_prompt", b'{"server":"many","name":"x","arguments":{' + members + b"}}"))`,
  },
  // A thousand calls compared their tool with every tool of the server, all in one turn of the event loop.
  {
    title: 'calls of tools that do not exist',
    code: `flood(call(b"call_tool", b'{"server":"many","tool":"tool_%s"}' % (b"number_" * 8)))`,
  },
  // One chunk of the pipe holds 65,536 empty lines; an exception for each took 5 s.
  { title: 'empty lines', code: 'flood(lambda _: b"\\n" * 65_536)' },
  { title: 'empty objects', code: 'flood(lambda _: b"{}\\n" * 4_000)' },
  {
    title: 'requests for stubs of tools that do not exist',
    code: `
tools = json.dumps([f"tool_number_{number}_of_many" for number in range(200)]).encode()
flood(call(b"stubs", b'{"server":"many","tools":' + tools + b"}"))`,
  },
];

/** Texts that redraw their line so often that joining the states one by one would take minutes. */
const REDRAWN: Readonly<Record<string, string>> = {
  output: 'print("x" * 250_000 + "\\ra" * 125_000)',
  'a forged value': `${PAST_THE_PROXIES}
write(frame(type="result", cell=CELL, outcome="ok", value="x" * 4_000_000 + "\\ra" * 1_000_000))
await asyncio.sleep(60)`,
};

for (const engine of await enginesForBridge()) {
  describe(`frames on ${engine.label}`, () => {
    attack(engine);
  });
}

function attack(engine: TestEngine): void {
  let bridge: BridgeClient;
  let log = '';

  beforeAll(async () => {
    bridge = await startBridge({
      engine,
      servers: () => ({ many: fixtureServer('many-tools.mjs', '1000', '1000') }),
      env: { MCP_BRIDGE_LOG_LEVEL: 'INFO' },
      onLog: (text) => {
        log += text;
      },
    });
    await answerOf(bridge, 'beside', '1');
    await answerOf(bridge, 'attacker', 'await mcp_many.tool_0()', SERVERS);
  });
  afterAll(() => bridge.close());

  it.each(FLOODS)('answers others during $title', async ({ code }) => {
    const slowest = await slowestBeside(bridge, answerOf(bridge, 'attacker', FLOOD + code, SERVERS));
    expect(slowest).toBeLessThan(MAX_ANSWER_MS);
  });

  it.each(Object.entries(REDRAWN))('answers others while it shows %s', async (_, code) => {
    const slowest = await slowestBeside(bridge, answerOf(bridge, 'redrawing', code));
    expect(slowest).toBeLessThan(MAX_ANSWER_MS);
  });

  it('answers others while several sessions write expensive lines', async () => {
    const code = `${FLOOD}
flood(call(b"no_such_method", b'{"a":[' + b"{}," * 100_000 + b"1" * (7 * MIB) + b"]}"))`;
    const sessions = ['flood-1', 'flood-2', 'flood-3', 'flood-4'];
    await Promise.all(sessions.map((session) => answerOf(bridge, session, '1')));
    const floods = Promise.all(sessions.map((session) => answerOf(bridge, session, code)));
    expect(await slowestBeside(bridge, floods)).toBeLessThan(MAX_ANSWER_MS);
  });

  // Whoever does not read the log would stop the bridge with it: writing to a full pipe blocks.
  it('logs few of the calls of a job', async () => {
    const before = log.length;
    const { structured } = await answerOf(
      bridge,
      'logging',
      `
async def work():
    for _ in range(20): await asyncio.gather(*[mcp_many.tool_0() for _ in range(100)])
import asyncio
job = runtime.background(work(), "noisy")
await job`,
      SERVERS,
    );
    expect(structured).toMatchObject({ summary: expect.stringMatching(/^Success/) });
    expect(log.slice(before).split('\n').length).toBeLessThan(MAX_LOG_LINES);
  });
}

function answerOf(bridge: BridgeClient, session: string, code: string, servers: readonly string[] = []) {
  return bridge.runPython(code, { session, servers, timeout: 60 }, { timeout: 70_000 });
}
