// Tags: full, docker
/** Sandboxes started ahead: with a real client and every engine. */
import { describe, expect, it } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';
import { PATIENCE } from '../support/patience.ts';
import { pause } from '../support/pause.ts';
import { descendantsOf, isAlive } from '../support/processes.ts';
import { sandboxesOfBridge } from '../support/sandbox.ts';

/** Limits a hang: a first start compiles the modules of the image. */
const READY = { timeout: 60_000 * PATIENCE, interval: 50 };
/** Longer than the bridge waits for a client that throws it away. */
const LONG_AFTER_MS = 4_000;

interface Opened {
  readonly bridge: BridgeClient;
  /** How many sandboxes the bridge has said that it started ahead. */
  readonly ahead: () => number;
  readonly log: () => string;
}

async function withBridge(engine: TestEngine, prewarm: string, use: (opened: Opened) => Promise<void>): Promise<void> {
  let log = '';
  const bridge = await startBridge({
    engine,
    env: { MCP_BRIDGE_PREWARM: prewarm, MCP_BRIDGE_LOG_LEVEL: 'DEBUG' },
    onLog: (text) => {
      log += text;
    },
  });
  try {
    await use({ bridge, log: () => log, ahead: () => log.split(' was started ahead').length - 1 });
  } finally {
    const below = descendantsOf(bridge.pid);
    await bridge.close();
    await expect.poll(() => [bridge.pid, ...below].filter(isAlive), READY).toEqual([]);
    expect(await sandboxesOfBridge(engine, bridge.pid)).toEqual([]);
  }
}

for (const engine of await coverEngines()) {
  describe(`a sandbox started ahead on ${engine.label}`, () => {
    it('serves the first cell of a session, and another one the next', async () => {
      await withBridge(engine, '1', async ({ bridge, ahead, log }) => {
        await bridge.client.listTools();
        await expect.poll(ahead, READY).toBe(1);
        const [id] = /sandbox (\S+) on \S+ was started ahead/.exec(log())?.slice(1) ?? [];
        const answer = await bridge.runPython('x = 1\nprint("here")', { session: 'first' });
        expect(answer.text).toContain('here');
        expect(log()).toContain(`session first: sandbox ${id} on`);
        await expect.poll(ahead, READY).toBe(2);
        expect((await bridge.runPython('x', { session: 'second' })).text).toContain('NameError');
        expect((await bridge.runPython('x', { session: 'first' })).text).toContain('1');
      });
    });

    it('dies unnoticed, and the session starts another', async () => {
      await withBridge(engine, '1', async ({ bridge, ahead }) => {
        await bridge.client.listTools();
        await expect.poll(ahead, READY).toBe(1);
        descendantsOf(bridge.pid).forEach((pid) => process.kill(pid, 'SIGKILL'));
        expect((await bridge.runPython('6 * 7')).text).toContain('42');
      });
    });

    it('is not started for a client that lists nothing, nor with MCP_BRIDGE_PREWARM=0', async () => {
      await withBridge(engine, '1', async ({ bridge }) => {
        await pause(LONG_AFTER_MS, 'what must not happen cannot be awaited');
        expect(descendantsOf(bridge.pid)).toEqual([]);
      });
      await withBridge(engine, '0', async ({ bridge }) => {
        await bridge.client.listTools();
        await pause(LONG_AFTER_MS, 'what must not happen cannot be awaited');
        expect(descendantsOf(bridge.pid)).toEqual([]);
        expect(await sandboxesOfBridge(engine, bridge.pid)).toEqual([]);
      });
    });

    it('leaves nothing behind when its bridge is killed', async () => {
      await withBridge(engine, '2', async ({ bridge, ahead }) => {
        await bridge.client.listTools();
        await expect.poll(ahead, READY).toBe(2);
        const below = descendantsOf(bridge.pid);
        expect(below).not.toEqual([]);
        process.kill(bridge.pid, 'SIGKILL');
        await expect.poll(() => below.filter(isAlive), READY).toEqual([]);
        await expect.poll(() => sandboxesOfBridge(engine, bridge.pid), READY).toEqual([]);
      });
    });
  });
}
