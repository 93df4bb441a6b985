/** Work that continues between cells. */
import { describe, expect, it } from 'vitest';
import { errorText } from '../../support/session-harness.ts';
import type { Subject } from './subject.ts';

export function describeJobs({ run, tools }: Subject): void {
  describe('a job', () => {
    // A call that waited for the next cell blocked the thread that would start it, and the session was lost.
    it('does not block the session with a call outside of the job, between cells', async () => {
      const code = `import asyncio, contextvars
def ask():
    try:
        runtime.to_toon([1])
    except Exception as error:
        return str(error)
async def work():
    while (said := contextvars.Context().run(ask)) is None:
        await asyncio.sleep(0.05)
    await mcp_fake.asked(n=1)
    return said
refused = runtime.background(work())`;
      await run(code);
      await expect.poll(() => tools.calls.includes('asked')).toBe(true);
      expect((await run('await refused')).value).toContain('CALL_REFUSED: to_toon was called without await');
    });

    it('continues between cells, calls included, and reports its result', async () => {
      const code = `import asyncio
async def work():
    print("begun")
    await asyncio.sleep(0.2)
    await mcp_fake.later(n=1)
    mcp_fake.later_sync.sync(n=2)
    print("called")
    return 42
job = runtime.background(work(), "nightly")
job.status()`;
      expect(await run(code)).toMatchObject({ value: "'running'", stdout: { head: '' } });
      await expect.poll(() => tools.calls.includes('later_sync')).toBe(true);
      expect((await run('await job.result(5), job.status(), job.output()')).value).toBe(
        String.raw`(42, 'done', 'begun\ncalled\n')`,
      );
      expect((await run('runtime.jobs()')).value).toMatch(/<job 'nightly' done, \d+\.\d s; /);
    });

    it('is not ended by the deadline of a cell', async () => {
      await run('async def wait():\n    await asyncio.sleep(3)\n    return "whole"\nlong = runtime.background(wait())');
      expect((await run('await asyncio.sleep(60)', { timeoutMs: 500 })).status).toBe('timeout');
      expect((await run('await long')).value).toBe("'whole'");
    });

    it('can be cancelled, can fail, and can outlast a wait for it', async () => {
      const code = `async def fail(): raise ValueError("no")
bad, endless = runtime.background(fail(), "bad"), runtime.background(asyncio.sleep(600), "endless")
try:
    await endless.result(timeout=0.05)
except TimeoutError as error:
    print(error)
print(endless.cancel())
await asyncio.sleep(0)
await asyncio.sleep(0)
bad.status(), endless.status(), repr(bad)[:24]`;
      const answer = await run(code);
      expect(answer.stdout.head).toBe("job 'endless' is not done after 0.05 s; it keeps running\nTrue\n");
      expect(answer.value).toBe(`('failed', 'cancelled', "<job 'bad' failed, 0.0 s")`);
      expect(errorText(await run('await bad'))).toContain('ValueError: no');
    });

    it('ends at a time limit of its own', async () => {
      const code = `late = runtime.background(asyncio.sleep(60), "late", timeout=0.05)
soon = runtime.background(asyncio.sleep(0.01, "value"), timeout=5)
try:
    await late
except TimeoutError as error:
    print(error)
late.status(), await soon`;
      const answer = await run(code);
      expect(answer.stdout.head).toBe("job 'late' was ended after its 0.05 s\n");
      expect(answer.value).toBe("('failed', 'value')");
    });

    it.each([
      ['runtime.background(asyncio.sleep(0), timeout=0)', 'ValueError: timeout must be a number of seconds above 0'],
      ['runtime.background(7)', 'TypeError: background takes a coroutine'],
      ['runtime.background(asyncio.sleep(0), "a b")', "ValueError: 'a b' is not a valid job name"],
      ['[runtime.background(asyncio.sleep(60), "twin") for _i in "ab"]', "job 'twin' is still running"],
    ])('is refused: %s', async (code, reason) => {
      expect(errorText(await run(code))).toContain(reason);
      await run('[job.cancel() for job in runtime.jobs()]');
    });
  });
}
