// Tags: anywhere, full
/**
 * One session floods the bridge with requests of every kind, each at its largest size, past the proxies. The memory of the
 * bridge grows by at most 300 MiB, and another session gets its answers within a second throughout.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CALL_METHODS, SandboxFrameSchema } from '../../src/core/protocol/frames.ts';
import { amount, enginesForBridge, isLongRun, isQuickRun } from '../support/attacks.ts';
import { slowestBeside } from '../support/beside.ts';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import type { TestEngine } from '../support/engines.ts';
import { peakBytes, resetPeak, residentBytes } from '../support/faults/probe.ts';
import { codeOf, createFloods, FLOODED_SERVER, type Flood, STUCK_SERVER, storeForFloods } from '../support/floods.ts';
import { PATIENCE } from '../support/patience.ts';

const MIB = 1024 * 1024;
const MAX_GROWTH_BYTES = 300 * MIB;
const MAX_ANSWER_MS = 1_000 * PATIENCE;
/** A long flood has no end within its deadline. What it takes is there within seconds; 46 floods on five engines take two hours. */
const FLOOD_SECONDS = isLongRun ? 30 : 100;
const FLOOD_ENDS = ['Success', ...(isLongRun ? [`Timeout after ${FLOOD_SECONDS} s`] : [])];
const FLOODS = createFloods(amount);
const RUN_HERE = isQuickRun ? FLOODS.filter((_, index) => index % 6 === 0) : FLOODS;

it('covers every method and every frame of a sandbox', () => {
  const frames = SandboxFrameSchema.options.map(({ shape }) => shape.type.value).filter((type) => type !== 'call');
  const covered = new Set<string>(FLOODS.flatMap(({ kinds }) => kinds));
  expect([...CALL_METHODS, ...frames].filter((kind) => !covered.has(kind))).toEqual([]);
});

for (const engine of await enginesForBridge()) {
  describe(`floods on ${engine.label}`, () => {
    attack(engine);
  });
}

function attack(engine: TestEngine): void {
  let bridge: BridgeClient;
  let before = 0;

  beforeAll(async () => {
    const server = fixtureServer('flooded.mjs');
    bridge = await startBridge({
      engine,
      servers: () => ({ [FLOODED_SERVER]: server, [STUCK_SERVER]: server }),
      // A flood writes to the pipe past the lock of the kernel, whose own frames it would cut between two cells.
      env: { MCP_BRIDGE_CHECKPOINT: 'idle' },
    });
    storeForFloods(bridge.folder);
    await answerOf(bridge, 'beside', '1');
    await answerOf(bridge, 'attacker', `await mcp_${FLOODED_SERVER}.takes(); await mcp_${STUCK_SERVER}.takes()`);
    before = residentBytes(bridge.pid);
  });
  afterAll(() => bridge.close());

  it.each(RUN_HERE)('$title', { retry: 1 }, async (flood) => {
    const { growthMib, slowestMs, answer } = await runFlood(bridge, flood, before);
    expect(FLOOD_ENDS).toContain(answer['summary']);
    expect(growthMib).toBeLessThan(MAX_GROWTH_BYTES / MIB);
    expect(slowestMs).toBeLessThan(MAX_ANSWER_MS);
  });
}

async function runFlood(bridge: BridgeClient, flood: Flood, before: number) {
  resetPeak(bridge.pid);
  const flooding = answerOf(bridge, 'attacker', codeOf(flood));
  const slowestMs = await slowestBeside(bridge, flooding);
  const { structured } = await flooding;
  return { growthMib: (peakBytes(bridge.pid) - before) / MIB, slowestMs, answer: structured };
}

function answerOf(bridge: BridgeClient, session: string, code: string) {
  const options = {
    session,
    servers: session === 'attacker' ? [FLOODED_SERVER, STUCK_SERVER] : [],
    timeout: FLOOD_SECONDS,
  };
  const onprogress = session === 'attacker' ? { onprogress: () => undefined } : {};
  return bridge.runPython(code, options, { timeout: (FLOOD_SECONDS + 60) * 1_000, ...onprogress });
}
