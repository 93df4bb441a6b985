/** Clients that send invalid input, or do not read. */

import { once } from 'node:events';
import { expect } from 'vitest';
import type { FaultCase } from '../../support/faults/fault-case.ts';
import { startVictim, type Victim } from '../../support/faults/victim.ts';
import { poll } from '../../support/faults/wait.ts';
import { pause } from '../../support/pause.ts';
import { residentBytes } from '../../support/processes.ts';

const MIB = 1024 * 1024;
/** The limit of G2, for the victim. */
const MAX_GROWTH_BYTES = 64 * MIB;
const UNREAD_CALLS = 500;
const SETTLE_MS = 20_000;

/** The victim's largest memory growth during `work`. */
async function growthOf({ pid }: Victim, work: () => Promise<void>): Promise<number> {
  const before = residentBytes(pid);
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, residentBytes(pid));
  }, 20);
  await work();
  clearInterval(timer);
  return peak - before;
}

const call = (id: number, code: string) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'run_python', arguments: { code } },
});

export const CLIENT_CASES: readonly FaultCase[] = [
  {
    id: 'K04',
    title: 'code of 2 MB and of 100 MB; a timeout of -1, 1e12, "5s" or {}; 10,000 servers; invalid server names',
    expected: 'each refused in a sentence that says what is allowed; nothing runs',
    quick: true,
    async run({ arena, run, allow }) {
      const { client } = arena.bridge;
      const ask = async (given: Record<string, unknown>) => {
        const { content } = await client.callTool({ name: 'run_python', arguments: { code: '1', ...given } });
        return content[0]?.type === 'text' ? content[0].text : '';
      };
      for (const timeout of [-1, 0, 1.5, 1e12, '5s', '9'.repeat(400), [], {}, true]) {
        expect(await ask({ timeout })).toContain('it must be a whole number of seconds from 1 to');
      }
      const names = Array.from({ length: 10_000 }, (_, index) => `server-${index}`);
      for (const servers of [names, names.join(), [1], [null], [['echo']], { echo: true }]) {
        expect(await ask({ servers })).toMatch(/ARGUMENT_INVALID: `servers/);
      }
      expect(await ask({ code: 'x'.repeat(2_000_000) })).toContain('`code` has 2,000,000 bytes');
      await expect(ask({ code: 'x'.repeat(100_000_000) })).rejects.toThrow(/a message of 100,000,\d+ bytes; the limit/);
      allow('echo.echo');
      const twice = await run('print(await mcp_echo.echo(text="once"))', { servers: ['echo', 'echo', 'echo'] });
      expect(twice.stdout).toBe('once');
    },
  },
  {
    id: 'K10',
    title: `a client sends ${UNREAD_CALLS} calls with long answers, reads none, then goes away`,
    expected:
      'unread data is limited, because further cells wait; all are answered once it reads; the bridge ends with it',
    async run({ arena: { engine } }) {
      const victim = await startVictim(engine);
      const { client } = victim;
      await victim.run('print("x" * 100_000)');
      client.child.stdout.pause();
      const code = `print("y" * 39_000)`;
      const growth = await growthOf(victim, async () => {
        client.write(...Array.from({ length: UNREAD_CALLS }, (_, index) => call(1_000 + index, code)));
        // Waits until the size has not changed for a second.
        let last = 0;
        await poll(
          async () => {
            const [before, now] = [last, residentBytes(victim.pid)];
            last = now;
            await pause(1_000, 'growth is measured over a second');
            return Math.abs(now - before);
          },
          (change) => change < MIB,
          SETTLE_MS,
        );
      });
      expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
      client.child.stdout.resume();
      await client.answer(1_000 + UNREAD_CALLS - 1);
      expect(new Set(client.messages.map(({ id }) => id as number)).size).toBeGreaterThanOrEqual(UNREAD_CALLS);
      client.child.stdout.pause();
      client.write(...Array.from({ length: 50 }, (_, index) => call(5_000 + index, code)));
      victim.look();
      client.child.stdin.end();
      client.child.stdout.destroy();
      expect(await victim.left(SETTLE_MS)).toEqual([]);
      await victim.remove();
    },
  },
  {
    id: 'K11',
    title:
      'garbage, 200 MB without a newline, a 200 MB request, 10,000 requests at once, unknown and old protocol versions',
    expected: 'a JSON-RPC error or nothing; every request is answered; overlong input is not kept',
    async run({ arena: { engine } }) {
      const victim = await startVictim(engine);
      const { client } = victim;
      expect(await victim.run('print(1)')).toBe('1');
      const send = async (piece: string, times: number) => {
        for (let sent = 0; sent < times; sent += 1) {
          if (!client.child.stdin.write(piece)) {
            await once(client.child.stdin, 'drain');
          }
        }
      };
      const growth = await growthOf(victim, async () => {
        client.write('garbage', '{"half":', '[]', 'null', '"text"', '{"jsonrpc":"2.0"}', '\u0000\u2028');
        client.child.stdin.write(Buffer.from([0xff, 0xfe, 0xc3, 0x0a]));
        await send('x'.repeat(MIB), 200);
        client.write('');
        await send('{"jsonrpc":"2.0","id":9001,"method":"tools/call","params":{"name":"', 1);
        await send('x'.repeat(MIB), 200);
        client.write('"}}');
        expect((await client.answer(9_001)).error.code).toBe(-32_600);
      });
      expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
      const ids = Array.from({ length: 10_000 }, (_, index) => 10_000 + index);
      client.write(...ids.map((id) => ({ jsonrpc: '2.0', id, method: 'ping' })));
      await client.until(
        () => client.messages.filter(({ id }) => typeof id === 'number' && id >= 10_000).length === 10_000,
      );
      expect(await victim.run('print("alive")')).toBe('alive');
      await victim.remove();
      for (const version of ['2024-11-05', '2025-11-25', '1999-01-01', 'nonsense']) {
        const other = await startVictim(engine);
        const { result } = await other.client.initialize(version);
        expect(result.protocolVersion).toMatch(/^20\d\d-\d\d-\d\d$/);
        await other.remove();
      }
    },
  },
];
