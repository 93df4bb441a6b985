/**
 * One session floods the bridge with requests, each at its largest size, past the proxies. The memory of the bridge grows by at
 * most 300 MiB, and another session gets its answers within a second throughout.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PAST_THE_PROXIES } from '../faults/cases/hostile-python.ts';
import { amount } from '../support/attacks.ts';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';
import { peakBytes, resetPeak, residentBytes } from '../support/faults/probe.ts';

const MIB = 1024 * 1024;
const MAX_GROWTH_BYTES = 300 * MIB;
const MAX_ANSWER_MS = 1_000;
const FLOOD_SECONDS = 100;

/** Sends calls without awaiting any, then waits until each has its answer. Prints how many ended in which way. */
const FLOOD = `${PAST_THE_PROXIES}
ended = {}
class Counted:
    report = None
    def __init__(self): self.parts = []
    def deliver(self, value, error):
        key = "ok" if error is None else error.code
        ended[key] = ended.get(key, 0) + 1
async def flood(count, method, params, first=1_000_000):
    body = json.dumps({"method": method, "params": params}).encode()[1:]
    for number in range(first, first + count):
        KERNEL._pending[number] = Counted()
        write(b'{"type":"call","call":%d,' % number + body + b"\\n")
    while sum(ended.values()) < count: await asyncio.sleep(0.05)
    print(json.dumps(ended, sort_keys=True))
MIB = 1 << 20
`;

interface Flood {
  readonly title: string;
  readonly code: string;
}

const FLOODS: readonly Flood[] = [
  {
    title: 'pieces of artifacts of 64 MiB, and of as much as is allowed',
    code: `
await flood(${amount(60, 160)}, "load_artifact", {"name": "large.bin", "session": "stored", "offset": 0, "length": 64 * MIB})
ended.clear()
await flood(${amount(100, 1_000)}, "load_artifact", {"name": "large.bin", "session": "stored", "offset": 0, "length": MIB}, 2_000_000)`,
  },
  {
    title: 'lists of 1,000 artifacts',
    code: `await flood(${amount(300, 2_000)}, "list_artifacts", {})`,
  },
];

for (const engine of await coverEngines()) {
  describe(`floods on ${engine.label}`, () => {
    attack(engine);
  });
}

function attack(engine: TestEngine): void {
  let bridge: BridgeClient;

  beforeAll(async () => {
    bridge = await startBridge({
      engine,
      servers: () => ({ echo: fixtureServer('echo.mjs'), huge: fixtureServer('huge-output.mjs') }),
    });
    storeArtifacts(bridge.folder);
    await answerOf(bridge, 'beside', '1');
    await answerOf(bridge, 'attacker', 'await mcp_echo.echo(text="x")', ['echo', 'huge']);
  });
  afterAll(() => bridge.close());

  it.each(FLOODS)('$title', async ({ code }) => {
    resetPeak(bridge.pid);
    const before = residentBytes(bridge.pid);
    let isOver = false;
    const flood = answerOf(bridge, 'attacker', FLOOD + code, ['echo', 'huge']).finally(() => {
      isOver = true;
    });
    let slowest = 0;
    while (!isOver) {
      const startedAt = performance.now();
      const { structured } = await answerOf(bridge, 'beside', '1');
      expect(structured).toMatchObject({ result: '1' });
      slowest = Math.max(slowest, performance.now() - startedAt);
    }
    const growth = (peakBytes(bridge.pid) - before) / MIB;
    const { structured } = await flood;
    expect(structured).toMatchObject({ summary: 'Success' });
    expect(growth).toBeLessThan(MAX_GROWTH_BYTES / MIB);
    expect(slowest).toBeLessThan(MAX_ANSWER_MS);
  });
}

function answerOf(bridge: BridgeClient, session: string, code: string, servers: readonly string[] = []) {
  const options = { session, servers, timeout: FLOOD_SECONDS };
  return bridge.runPython(code, options, { timeout: (FLOOD_SECONDS + 10) * 1_000 });
}

/** What another session has stored. */
function storeArtifacts(folder: string): void {
  const stored = join(folder, 'artifacts', 'stored');
  mkdirSync(stored, { recursive: true, mode: 0o700 });
  writeFileSync(join(stored, 'large.bin'), Buffer.alloc(64 * MIB, 7));
  for (let number = 0; number < 999; number += 1) {
    writeFileSync(join(stored, `artifact-${number}.txt`), 'x');
  }
}
