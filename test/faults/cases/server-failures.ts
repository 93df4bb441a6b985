/** Servers that fail, hang, flood or do not end. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CLI, fixtureServer, type ServerEntry } from '../../support/bridge-client.ts';
import { startArena } from '../../support/faults/arena.ts';
import type { FaultCase } from '../../support/faults/fault-case.ts';
import { poll } from '../../support/faults/wait.ts';
import { isAlive } from '../../support/processes.ts';

/** The time within which a bridge promises to end. */
const END_MS = 5_000;

/** The servers of these cases; `folder` is the state directory. */
export function failingServers(folder: string): Record<string, ServerEntry> {
  const wrapper = join(folder, 'wrapper.sh');
  writeFileSync(wrapper, '#!/bin/sh\nexec npx -y mcp-server-code-execution-mode "$@"\n');
  chmodSync(wrapper, 0o755);
  return {
    gone: { command: 'no-such-command' },
    at_start: fixtureServer('crashing.mjs', 'at-start'),
    crashing: fixtureServer('crashing.mjs'),
    silent: fixtureServer('never-answers.mjs', 'initialize'),
    hanging: { ...fixtureServer('never-answers.mjs'), timeout: 1 },
    slow: fixtureServer('slow.mjs'),
    huge: fixtureServer('huge-output.mjs'),
    chatty: fixtureServer('chatty.mjs'),
    direct: { command: 'npx', args: ['-y', 'mcp-server-code-execution-mode@latest'] },
    wrapped: { command: wrapper },
    ring: { command: '/bin/sh', args: ['-c', `exec "$0" "${CLI}"`, process.execPath] },
  };
}

/** Python that prints the outcome of each of `calls`, one line each. */
function tried(...calls: readonly string[]): string {
  return calls.map((call) => `try: print(${call})\nexcept Exception as error: print(error)`).join('\n');
}

export const SERVER_FAILURE_CASES: readonly FaultCase[] = [
  {
    id: 'S01',
    title: 'a server that does not exist, or ends at its start, in a call, or while idle',
    expected: 'the error names the server and how it ended; the next use restarts it; after two failures it pauses',
    quick: true,
    async run({ run, allow }) {
      allow('crashing.crash', 'crashing.crash_soon', 'crashing.echo', 'crashing.echo');
      const start = await run(tried('await mcp_gone.x()', 'await mcp_at_start.x()'), {
        servers: ['gone', 'at_start'],
        timeout: 20,
      });
      expect(start.stdout).toContain(
        "SERVER_START_FAILED: server 'gone' could not be started: command 'no-such-command'",
      );
      expect(start.stdout).toContain("server 'at_start' exited while it was starting (exit code 3)");
      // The first failure stands for a second.
      const again = await run(
        `import asyncio\nawait asyncio.sleep(1.1)\n${tried('await mcp_at_start.x()', 'await mcp_at_start.x()')}`,
        { servers: ['at_start'] },
      );
      expect(again.stdout).toMatch(/failed \d times in a row and can be started again in \d s/);
      const call = await run(
        `import asyncio\n${tried('await mcp_crashing.crash(code=3)', 'await mcp_crashing.echo(text="back")')}`,
        { servers: ['crashing'] },
      );
      expect(call.stdout).toContain("SERVER_EXITED: server 'crashing' exited before it answered (exit code 3)");
      expect(call.stdout).toContain('back');
      const idle = await run(
        'import asyncio\nprint(await mcp_crashing.crash_soon(after_ms=1))\nawait asyncio.sleep(0.5)\nprint(await mcp_crashing.echo(text="again"))',
        { servers: ['crashing'] },
      );
      expect(idle.stdout).toBe('soon\nagain');
    },
  },
  {
    id: 'S02',
    title: 'a server that never answers `initialize`, never a call, or only after the deadline',
    expected: 'each call ends at its deadline and names the server, which is told to stop; the late answer is dropped',
    async run({ run, allow }) {
      allow('hanging.hang', 'hanging.echo', 'slow.sleep', 'slow.cancelled', 'slow.sleep_on', 'slow.sleep_on');
      const silent = await run('await mcp_silent.x()', { servers: ['silent'], timeout: 4 });
      expect(silent.error).toMatch(/^CELL_DEADLINE: /);
      const hanging = await run(tried('await mcp_hanging.hang()', 'await mcp_hanging.echo(text="alive")'), {
        servers: ['hanging'],
      });
      expect(hanging.stdout).toContain("CALL_TIMEOUT: server 'hanging' did not answer 'hang' after 1 s");
      expect(hanging.stdout).toContain('alive');
      const late = await run('await mcp_slow.sleep(seconds=30)', { servers: ['slow'], timeout: 1 });
      expect(late.status).toBe('timeout');
      const code = [
        'import asyncio',
        'print(await mcp_slow.cancelled())',
        'try: await asyncio.wait_for(mcp_slow.sleep_on(seconds=0.4), 0.1)',
        'except TimeoutError: print("gave up")',
        'print(await mcp_slow.sleep_on(seconds=0.6))',
      ];
      expect((await run(code.join('\n'), { servers: ['slow'] })).stdout).toBe('1\ngave up\nslept on for 0.6 s');
    },
  },
  {
    id: 'S03',
    title: 'a result of 12 MB in one line, and one of 161 MiB while another call waits',
    expected: 'the first arrives whole; only the second fails, with `LIMIT_RESULT`; the connection stays',
    growth: { mib: 384, keptMib: 192, why: 'a line may be a result of up to 160 MiB, so that much of it is read' },
    async run({ run, allow }) {
      allow('huge.text', 'huge.after_line', 'huge.line', 'huge.line', 'huge.echo');
      const code = [
        'import asyncio',
        'print(len(await mcp_huge.text(mib=12)))',
        'other = asyncio.ensure_future(mcp_huge.after_line())',
        tried('await mcp_huge.line(mib=161, id_first=True)', 'await other'),
        tried('await mcp_huge.line(mib=161, id_first=False)', 'await mcp_huge.echo(text="alive")'),
      ];
      const { stdout } = await run(code.join('\n'), { servers: ['huge'], timeout: 30 });
      expect(stdout.split('\n')[0]).toBe('12582912');
      expect(stdout).toContain("LIMIT_RESULT: server 'huge' answered 'line' with a message of 1688");
      expect(stdout).toMatch(/\nafter the line\nLIMIT_RESULT: [^]*\nalive$/);
    },
  },
  {
    id: 'S04',
    title: 'noise on stdout before, between and on the line of answers; 100 MiB on stderr',
    expected: 'answers are found; one broken by noise fails its call at once; stderr is read and not kept',
    async run({ run, allow }) {
      allow('chatty.echo', 'chatty.no_newline', 'chatty.broken', 'chatty.flood_stderr', 'chatty.echo');
      const calls = [
        'await mcp_chatty.echo(text="one")',
        'await mcp_chatty.no_newline()',
        'await mcp_chatty.broken()',
        'await mcp_chatty.flood_stderr(mib=100)',
        'await mcp_chatty.echo(text="two")',
      ];
      const { stdout } = await run(tried(...calls), { servers: ['chatty'], timeout: 30 });
      expect(stdout.split('\n')).toEqual([
        'one',
        'after the dots',
        "SERVER_PROTOCOL: server 'chatty' gave no usable answer to 'broken': it is not valid JSON",
        'flooded',
        'two',
      ]);
    },
  },
  {
    id: 'S05',
    title: '100 MiB on stdout without a newline, then an answer',
    expected: 'the call fails and names the server; nothing of the flood is kept; the next call works',
    async run({ run, allow }) {
      allow('chatty.flood_stdout', 'chatty.echo');
      const calls = ['await mcp_chatty.flood_stdout(mib=100)', 'await mcp_chatty.echo(text="next")'];
      const { stdout } = await run(tried(...calls), { servers: ['chatty'], timeout: 20 });
      expect(stdout).toMatch(
        /^SERVER_PROTOCOL: server 'chatty' gave no usable answer to 'flood_stdout': 104,85\d,\d+ bytes/,
      );
      expect(stdout).toMatch(/\nnext$/);
    },
  },
  {
    id: 'S06',
    title: 'JSON that is not JSON-RPC: unknown and repeated ids, batches, wrong shapes',
    expected: 'ignored; each call gets its own answer',
    quick: true,
    async run({ run, allow }) {
      allow('chatty.wrong_shapes', 'chatty.text_id', 'chatty.twice', 'chatty.echo');
      const calls = [
        'await mcp_chatty.wrong_shapes()',
        'await mcp_chatty.text_id()',
        'await mcp_chatty.twice()',
        'await mcp_chatty.echo(text="own")',
      ];
      const { stdout } = await run(tried(...calls), { servers: ['chatty'] });
      expect(stdout.split('\n')).toEqual(['still here', 'id as a text', 'first', 'own']);
    },
  },
  {
    id: 'S07',
    title: 'a result nested 100,000 deep',
    expected: 'fails that call only',
    async run({ run, allow }) {
      allow('huge.deep', 'huge.echo');
      const calls = ['await mcp_huge.deep(levels=100_000)', 'await mcp_huge.echo(text="alive")'];
      const { stdout } = await run(tried(...calls), { servers: ['huge'] });
      expect(stdout).toContain("SERVER_PROTOCOL: server 'huge' gave no usable answer to 'deep': nested deeper");
      expect(stdout).toMatch(/\nalive$/);
    },
  },
  {
    id: 'S16',
    title: 'servers that ignore the end of stdin and SIGTERM, or leave a process that holds their stdout',
    expected: 'all are gone 5 s after their bridge was closed',
    async run({ arena }) {
      const own = await startArena({
        engine: arena.engine,
        servers: () => ({
          stubborn: fixtureServer('ignores-eof.mjs'),
          parent: fixtureServer('grandchild.mjs'),
        }),
      });
      const answer = await own.bridge.runPython('print(await mcp_stubborn.pid(), await mcp_parent.grandchild_pid())', {
        servers: ['stubborn', 'parent'],
        timeout: 60,
      });
      const pids = answer.text.split(' ').map(Number);
      expect(pids.map(isAlive)).toEqual([true, true]);
      const left = own.close();
      const alive = await poll(
        async () => pids.filter(isAlive),
        (found) => found.length === 0,
        END_MS,
      );
      expect(alive).toEqual([]);
      expect(await left).toEqual([]);
    },
  },
  {
    id: 'S17',
    title: 'the bridge among its own servers: by name, in a script, and by an unrecognizable path',
    expected: 'the first two are left out, and the log says why; the third refuses to start below another bridge',
    async run({ run, arena }) {
      const listed = await run('print([s for s in runtime.discovered_servers() if s in ("direct", "wrapped")])');
      expect(listed.stdout).toBe('[]');
      await expect
        .poll(() => arena.log())
        .toContain('mcpServers.direct was skipped, because its arguments start this bridge');
      await expect
        .poll(() => arena.log())
        .toMatch(/mcpServers\.wrapped was skipped, because the script .*wrapper\.sh starts this bridge/);
      const ring = await run(tried('await mcp_ring.run_python(code="1")'), { servers: ['ring'], timeout: 20 });
      expect(ring.stdout).toContain('this bridge was started by another bridge (depth 1)');
    },
  },
];
