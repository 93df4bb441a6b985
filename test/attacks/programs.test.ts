// Tags: full, bubblewrap
/** Programs that send the bridge what is expensive to read: it grows by a fixed budget, and other sessions are served meanwhile. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { slowestBeside } from '../support/beside.ts';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { peakBytes, resetPeak, residentBytes } from '../support/faults/probe.ts';
import { PATIENCE } from '../support/patience.ts';

const MIB = 1024 * 1024;
const MAX_GROWTH_MIB = 300;
const MAX_ANSWER_MS = 1_000 * PATIENCE;

/** Ends its own output with the marker of the runner, and adds an archive whose only file has a name of 62 MiB. */
const LONG_NAME = `
import glob, re, sys
marker = next(
    found.group() for path in sorted(glob.glob("/proc/[0-9]*/cmdline"))
    if (found := re.search(rb"bridge-[0-9a-f]{32}", open(path, "rb").read()))
)
size = 62 << 20
header = bytearray(512)
header[0:13], header[124:136], header[156:157] = b"././@LongLink", b"%011o\\0" % size, b"L"
out = sys.stdout.buffer
out.write(b"\\n" + marker + b" 0\\n" + header)
for _ in range(62):
    out.write(b"n" * (1 << 20))`;

/** Says what it can open of its runner, which has the same user, and writes as the runner if it can. */
const AS_RUNNER = `
import fs from 'node:fs';
const opened = ['fd/0', 'fd/1', 'fd/2', 'task/1/fd/1', 'mem'].filter((name) => {
  try {
    return fs.openSync('/proc/1/' + name, 'r+') > 0;
  } catch {
    return false;
  }
});
console.log('opened:', opened.join(' ') || 'nothing');
if (opened.includes('fd/1')) fs.writeFileSync('/proc/1/fd/1', '{"type":"exit","exit_code":99}\\n');`;

/** Arguments and results that take long to parse. */
const CALLS = `
const list = Array.from({ length: 500_000 }, () => ({}));
let deep = [];
for (let level = 0; level < 7_000; level += 1) deep = [deep];
for (const given of [{ list }, { deep }]) {
  await mcp.flooded.takes(given).then(() => console.log('taken'), (error) => console.log(error.code));
}`;
const RESULT = `
const value = await mcp.flooded.gives_json({ mib: 57 });
console.log(value.length);`;

const engines = await coverEngines();

describe.each(engines)('programs on $label', (engine) => {
  let bridge: BridgeClient;
  let before = 0;
  beforeAll(async () => {
    bridge = await startBridge({ engine, servers: () => ({ flooded: fixtureServer('flooded.mjs') }) });
    await bridge.runPython('1', { session: 'beside' });
    await run('first', 'javascript', 'await mcp.flooded.takes({})');
    before = residentBytes(bridge.pid);
  });
  afterAll(() => bridge.close());

  async function run(session: string, language: string, source: string): Promise<string> {
    const code = `ran = await runtime.run(${JSON.stringify(language)}, ${JSON.stringify(source)}, wants_files=True, timeout=20)
print(ran.stdout[-2000:], ran.stderr[-2000:], ran.exit_code)`;
    return (await bridge.runPython(code, { session, servers: ['flooded'], timeout: 100 }, { timeout: 110_000 })).text;
  }

  async function attack(work: () => Promise<string[]>): Promise<string[]> {
    resetPeak(bridge.pid);
    const working = work();
    expect(await slowestBeside(bridge, working)).toBeLessThan(MAX_ANSWER_MS);
    expect((peakBytes(bridge.pid) - before) / MIB).toBeLessThan(MAX_GROWTH_MIB);
    return working;
  }

  it.skipIf(engine.label === 'embedded')('that leave a file with a name of 62 MiB, four at once', async () => {
    const sessions = ['one', 'one', 'two', 'two'];
    const texts = await attack(() => Promise.all(sessions.map((session) => run(session, 'python', LONG_NAME))));
    expect(texts.filter((text) => !text.includes('not returned'))).toEqual([]);
  });

  it('that speak as their runner', async () => {
    const [text = ''] = await attack(async () => [await run('one', 'javascript', AS_RUNNER)]);
    expect(text).toMatch(/^opened: nothing\n\s*0$/);
  });

  it('that make calls with too many members, and too deep ones', async () => {
    const [text = ''] = await attack(async () => [await run('one', 'javascript', CALLS)]);
    expect(text).toContain('the program was ended: its runner sent a line that is not valid');
  });

  it('that get a result of 57 MiB of JSON', async () => {
    const [text = ''] = await attack(async () => [await run('one', 'javascript', RESULT)]);
    // The program has it, or its sandbox has no time or no room for so many objects.
    expect(text).toMatch(/19922945|None|\b13[47]\b|memory/);
  });
});
