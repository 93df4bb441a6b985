// Tags: anywhere
/** Cells that take longer than the client waits: with a real client of each protocol era, and a real sandbox. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { PATIENCE } from '../support/patience.ts';

const TEST_MS = 120_000 * PATIENCE;
/** Longer than a cell needs that is not meant to be long. */
const WITHIN_S = 4 * PATIENCE;
const LONG = `import asyncio
print("begun")
await asyncio.sleep(${WITHIN_S + 1})
print("ended")
40 + 2`;

const [engine] = await coverEngines();
const ERAS = [undefined, '2026-07-28'] as const;

describe.runIf(engine !== undefined).each(ERAS)(
  'a client of %s that gives up',
  { timeout: TEST_MS },
  (protocolVersion) => {
    let bridge: BridgeClient;
    beforeAll(async () => {
      bridge = await startBridge({
        engine: engine as NonNullable<typeof engine>,
        env: { MCP_BRIDGE_ANSWER_WITHIN: `${WITHIN_S}s`, MCP_BRIDGE_MAX_TIMEOUT: '2h' },
        ...(protocolVersion && { protocolVersion }),
      });
      await bridge.runPython('1');
    });
    afterAll(() => bridge.close());

    it('has the end of a long cell after one further call', async () => {
      const { isError, structured, text } = await bridge.runPython(`# timeout: 1h\n${LONG}`);
      expect(text).toMatch(
        /^status: running\nbegun\nnotices:\nThe cell goes on, for at most 35\d\d s more\. To wait for it, run the code `# wait`; to end it, `# stop`\. Other sessions are free\.$/,
      );
      expect([isError, structured['status'], structured['timeoutSeconds']]).toEqual([false, 'running', 3600]);
      expect((await bridge.runPython('# wait')).text).toBe('ended\n42');
    });

    it('loses nothing if it does something else', async () => {
      await bridge.runPython(`# background, timeout: 60s\nrows = 0\n${LONG}`, { session: 'work' });
      expect((await bridge.runPython('1 + 1', { session: 'other' })).text).toBe('2');
      const next = await bridge.runPython('rows + 1', { session: 'work' });
      // The session runs one cell after the other, and the client may have given up on this one, too.
      const { text } =
        next.structured['status'] === 'running' ? await bridge.runPython('# wait', { session: 'work' }) : next;
      expect(text).toMatch(/(^|\n)(1|begun\nended\n42)(\n|$)/);
      expect(`${text}\n${(await bridge.runPython('# wait', { session: 'work' })).text}`).toMatch(/begun\nended\n42/);
    });

    it('is not taken for a person who cancels', async () => {
      const session = 'limit';
      await bridge.runPython('1', { session });
      const limited = bridge.runPython(LONG, { session, timeout: 60 }, { timeout: 2_500 });
      await expect(limited).rejects.toThrow(/timed out/i);
      expect((await bridge.runPython('# wait', { session })).text).toBe('begun\nended\n42');
    });

    it('can stop it, and its variables stay', async () => {
      await bridge.runPython('# background\nkept = 7\nwhile True: pass');
      const { structured, text } = await bridge.runPython('# stop');
      expect(structured['status']).toBe('cancelled');
      expect(text).toContain('`# stop` interrupted');
      expect((await bridge.runPython('kept')).text).toBe('7');
    });
  },
);
