// Tags: docker-release
/** Progress of tools, from a server that reports very fast to a real client, through the built command. */
import type { JSONRPCMessage, RequestOptions } from '@modelcontextprotocol/client';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';

// Engines differ only in how frames get into Python, of which there are two ways.
const covered = await coverEngines();
const native = covered.filter(({ name }) => name !== 'embedded');
const engines = [
  ...[native.find(({ name }) => name === 'bubblewrap') ?? native[0] ?? []].flat(),
  ...covered.filter(({ name }) => name === 'embedded'),
];

interface Reported {
  readonly progress: number;
  readonly total?: number;
  readonly message: string;
}

/** A client that keeps all messages of the bridge, in order of arrival. */
async function connect(engine: TestEngine, version: '2026-07-28' | undefined) {
  const messages: JSONRPCMessage[] = [];
  const bridge = await startBridge({
    engine,
    servers: () => ({ demo: fixtureServer('bursting.mjs') }),
    onMessage: (message) => messages.push(message),
    ...(version === undefined ? {} : { protocolVersion: version }),
  });
  async function run(code: string, options: RequestOptions = { onprogress: () => undefined }) {
    messages.length = 0;
    const { text, structured } = await bridge.runPython(code, { servers: ['demo'] }, options);
    const isProgress = (message: JSONRPCMessage) => 'method' in message && message.method === 'notifications/progress';
    const isAnswer = (message: JSONRPCMessage) => !('method' in message);
    const end = messages.findIndex(isAnswer);
    const reports = messages.filter(isProgress).map((message) => (message as { params?: unknown }).params as Reported);
    return { text, result: structured['result'], reports, afterAnswer: messages.slice(end + 1).filter(isProgress) };
  }
  return { bridge, run };
}

const saying = (reports: readonly Reported[], text: string): number[] =>
  reports.flatMap(({ message }, index) => (message.includes(text) ? [index] : []));

/** Checks what the specification requires, whatever is reported. */
function expectProper({ reports, afterAnswer }: { reports: readonly Reported[]; afterAnswer: unknown[] }): void {
  expect(afterAnswer).toEqual([]);
  const values = reports.map(({ progress }) => progress);
  expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b));
  expect(reports.every(({ progress, total }) => total === undefined || progress <= total)).toBe(true);
}

for (const engine of engines) {
  describe.each([undefined, '2026-07-28'] as const)(`progress on ${engine.label}, protocol %s`, (version) => {
    let client: BridgeClient;
    let run: Awaited<ReturnType<typeof connect>>['run'];
    beforeAll(async () => {
      ({ bridge: client, run } = await connect(engine, version));
      return () => client.close();
    });
    let seen: Awaited<ReturnType<typeof run>>;
    afterEach(() => expectProper(seen));

    // Progress used to be sent twice a second, so a shorter call showed none.
    it('the first and the last report of a short call arrive, before the answer', async () => {
      seen = await run('print(await mcp_demo.burst(count=3, late=2))');
      expect(seen.text).toBe('reported 3');
      const [first] = saying(seen.reports, 'demo.burst 1/3 step 1 of 3');
      const [last] = saying(seen.reports, 'demo.burst 3/3 step 3 of 3');
      expect(first).toBeGreaterThanOrEqual(0);
      expect(last).toBeGreaterThan(first ?? 0);
    });

    it('concurrent calls each show their start and end', async () => {
      const names = ['red', 'green', 'blue'];
      const calls = names.map((name) => `mcp_demo.burst(count=50, name="${name}")`).join(', ');
      seen = await run(`import asyncio\nawait asyncio.gather(${calls})\nNone`);
      for (const name of names) {
        const [first] = saying(seen.reports, `demo.burst 1/50 ${name} 1 of 50`);
        const [last] = saying(seen.reports, `demo.burst 50/50 ${name} 50 of 50`);
        expect(last).toBeGreaterThan(first ?? Number.POSITIVE_INFINITY);
      }
    });

    it('a callback in code also gets the first and the last', async () => {
      seen = await run(`import asyncio
plain, slow = [], []
async def note(progress, total, message):
    await asyncio.sleep(0.01)
    slow.append(progress)
await mcp_demo.burst.with_options(on_progress=lambda *report: plain.append(report))(count=3)
await mcp_demo.burst.with_options(on_progress=note)(count=1_000)
plain[0], plain[-1], slow[0], slow[-1]`);
      expect(seen.result).toBe("((1, 3, 'step 1 of 3'), (3, 3, 'step 3 of 3'), 1, 1000)");
    });

    it('runtime.progress arrives with its first and last report', async () => {
      seen = await run('for step in range(1, 1_000): runtime.progress(step, message=f"page {step}")');
      expect(saying(seen.reports, '1 page 1')[0]).toBeGreaterThanOrEqual(0);
      expect(saying(seen.reports, '999 page 999')).toEqual([seen.reports.length - 1]);
    });

    it('100,000 reports are reduced to a few for the client', async () => {
      seen = await run('await mcp_demo.burst(count=100_000)');
      expect(saying(seen.reports, 'demo.burst 1/100000 ')).toHaveLength(1);
      expect(saying(seen.reports, 'demo.burst 100000/100000 ')[0]).toBeGreaterThan(0);
      expect(seen.reports.length).toBeLessThan(40);
    });

    it('a client that does not request progress gets none, and neither does the bridge from the server', async () => {
      seen = await run('print(await mcp_demo.burst(count=3))', {});
      expect(seen.text).toBe('nobody listens');
      expect(seen.reports).toEqual([]);
    });
  });
}
