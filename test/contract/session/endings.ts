/** How cells and sandboxes end, and what survives. */

import { describe, expect, it } from 'vitest';
import { awaitStart, reportingStart } from '../../support/begun.ts';
import { createHarness, errorText, textOf } from '../../support/session-harness.ts';
import type { Subject } from './subject.ts';

export function describeEndings({ run, engine, tools, isSupervised, itNeeds }: Subject): void {
  describe('an interrupt', () => {
    async function expectEndAtDeadline(code: string): Promise<void> {
      await run('kept = "yes"');
      const answer = await run(`print("partial")\n${code}`, { timeoutMs: 400 });
      expect(answer).toMatchObject({ status: 'timeout', exitCode: 124 });
      expect(errorText(answer)).toContain('CELL_DEADLINE: the cell was interrupted at its deadline of 0.4 s');
      expect(textOf(answer.stdout)).toBe('partial\n');
      expect(await run('kept')).toMatchObject({ value: "'yes'", notices: [] });
    }

    it.each([
      ['a plain loop', 'while True: pass'],
      ['a sleep', 'import time\ntime.sleep(60)'],
      ['an await', 'import asyncio\nawait asyncio.sleep(60)'],
      ['a gather', 'import asyncio\nawait asyncio.gather(*[asyncio.sleep(60) for _ in range(3)])'],
      ['a task that loops', 'import asyncio\nasync def spin():\n    while True: pass\nawait asyncio.gather(spin())'],
      ['asyncio.run', 'import asyncio\nasync def main(): await asyncio.sleep(60)\nasyncio.run(main())'],
      ['another loop', 'import asyncio\nasyncio.new_event_loop().run_until_complete(asyncio.sleep(60))'],
      [
        'a call in another loop',
        'import asyncio\nasync def main(): await mcp_fake.hang(name="in a loop")\nasyncio.run(main())',
      ],
      ['a blocking call', 'mcp_fake.hang.sync(name="blocking")'],
    ])('ends %s and keeps the variables and the output', (_, code) => expectEndAtDeadline(code));

    itNeeds('interrupts of loops in C')(
      'ends a loop in C that calls Python and keeps the variables and the output',
      () => expectEndAtDeadline('import itertools\nmax(map(lambda n: n % 7, itertools.count()))'),
    );

    itNeeds('child processes')('ends a child process and keeps the variables and the output', () =>
      expectEndAtDeadline('import subprocess\nsubprocess.run(["sleep", "60"])'),
    );

    it('cancels the calls of the cell at the server', async () => {
      const code = 'import asyncio\nawait asyncio.gather(*[mcp_fake.hang(name=f"cancelled {i}") for i in range(2)])';
      await run(code, { timeoutMs: 400 });
      await expect.poll(() => tools.aborted).toEqual(expect.arrayContaining(['cancelled 0', 'cancelled 1']));
    });

    it('by the client keeps the variables, too', async () => {
      await run('kept = 1');
      const controller = new AbortController();
      const start = awaitStart();
      const code = reportingStart('while True: pass');
      const running = run(code, { signal: controller.signal, onProgress: start.onProgress });
      await start.begun;
      controller.abort();
      expect(await running).toMatchObject({ status: 'cancelled' });
      expect((await run('kept')).value).toBe('1');
    });

    // The notice was in the answer of the cancelled cell, which no client gets.
    it('by the client does not swallow the notice of a loss', async () => {
      const session = 'cancelled after a loss';
      await run('kept = 1', { session });
      await run('import os; os._exit(1)', { session });
      const controller = new AbortController();
      const before = tools.calls.length;
      const running = run('await mcp_fake.hang(name="lost")', { session, signal: controller.signal });
      await expect.poll(() => tools.calls.length, { timeout: 20_000 }).toBeGreaterThan(before);
      controller.abort();
      expect(await running).toMatchObject({ status: 'cancelled' });
      expect((await run('1', { session })).notices.join()).toContain('State was lost');
    });

    it('by the client before the start runs nothing', async () => {
      const running = run('import time; time.sleep(0.5)');
      const controller = new AbortController();
      const queued = run('never = 1', { signal: controller.signal });
      controller.abort();
      await expect(queued).rejects.toThrow('cancelled the cell before it began');
      await running;
      expect((await run('"never" in globals()')).value).toBe('False');
    });

    it('cancels tasks that the cell left behind', async () => {
      await run('import asyncio\nt = asyncio.create_task(asyncio.sleep(60))\nwhile True: pass', { timeoutMs: 300 });
      expect((await run('await asyncio.sleep(0.05)\nt.cancelled()')).value).toBe('True');
    });

    it('costs the session if the code ignores it, and the answers say so', async () => {
      const session = 'stubborn';
      await run('precious = 1\ndef useful(): pass\nimport json', { session });
      const code = 'import signal\nprint("said")\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass';
      const answer = await run(code, { timeoutMs: 300, session });
      expect(answer.status).toBe('timeout');
      expect(errorText(answer)).toContain(
        'its session was ended, because the code did not react to the interrupt within 2 s',
      );
      expect(textOf(answer.stdout)).toBe('said\n');
      const next = await run('1', { session });
      expect(next.notices).toHaveLength(1);
      expect(next.notices[0]).toContain('variables precious; functions useful; imports json');
      expect((await run('2', { session })).notices).toEqual([]);
    });

    // From then on, frames of the host would be missing: calls without answers, cells that never begin.
    itNeeds('threads')('costs the session if code in it took frames of the host', async () => {
      const session = 'taken';
      await run('kept = 1', { session });
      const code = `
import gc, os, threading
gc.unfreeze()  # Otherwise what was there before the first cell is not listed.
channel = next(o for o in gc.get_objects() if type(o).__name__ == "Channel")
threading.Thread(target=os.read, args=(channel._read_descriptor, 1 << 16), daemon=True).start()
while True: await mcp_fake.echo(text="taken")`;
      const answer = await run(code, { timeoutMs: 500, session });
      expect(answer).toMatchObject({ status: 'timeout', exitCode: 124 });
      expect(errorText(answer)).toContain('its session was ended, because 1 frame that the host sent did not arrive');
      const next = await run('1', { session });
      expect(next.value).toBe('1');
      expect(next.notices[0]).toContain('Gone: variables kept');
    });
  });

  describe('loss', () => {
    it('of the process is reported at once, with the output', async () => {
      const session = 'exits';
      await run('y = 1', { session });
      const answer = await run('import os\nprint("last words", flush=True)\nos._exit(7)', { session });
      expect(answer.status).toBe('error');
      expect(errorText(answer)).toContain('SESSION_LOST');
      // Only a supervisor sees how Python ended and what it had not sent yet.
      expect(errorText(answer)).toContain(isSupervised ? 'Python ended itself with exit code 7' : 'ended from outside');
      expect(['last words\n', isSupervised ? 'last words\n' : '']).toContain(textOf(answer.stdout));
      const next = await run('z = 1', { session });
      expect(next).toMatchObject({ status: 'success' });
      expect(next.notices[0]).toContain('Gone: variables y');
    });

    itNeeds('ctypes')('by a crash names the signal', async () => {
      const answer = await run('import ctypes\nctypes.string_at(0)', { session: 'crashes' });
      expect(errorText(answer)).toContain(isSupervised ? 'signal 11 (SIGSEGV)' : 'ended from outside');
    });

    it('by runtime.reset() is intended, so it is not reported', async () => {
      const session = 'reset';
      await run('w = 1', { session });
      await run('runtime.reset()', { session });
      expect(await run('"w" in globals()', { session })).toMatchObject({ value: 'False', notices: [] });
    });

    it('by idleness is reported', async () => {
      const idle = await createHarness({ engine: engine(), idleTimeoutMs: 200 });
      try {
        await idle.run('v = 1');
        await expect
          .poll(async () => (await idle.run('0')).notices.join(), { interval: 600, timeout: 20_000 })
          .toContain('it was idle for 0.2 s');
      } finally {
        await idle.close();
      }
    });
  });
}
