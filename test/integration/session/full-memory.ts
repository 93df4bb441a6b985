/** A session whose variables fill the memory, for every engine. */
import { expect } from 'vitest';
import { errorText, type Harness } from '../../support/session-harness.ts';

/** Fills a session to the last page. Its later cells must say what is wrong, and work again once the variables are deleted. */
export async function expectAnswersWhenFull(harness: Harness): Promise<void> {
  const session = 'full';
  const run = (code: string) => harness.run(code, { session, timeoutMs: 60_000 });
  const filled = errorText(
    await run(`rows = []
for size in (1 << 20, 1 << 14, 1 << 10):
    try:
        while True: rows.append(bytearray(size))
    except MemoryError: pass
rows.append(bytearray(1 << 20))`),
  );
  if (filled.includes('it ran out of memory')) {
    return; // A cgroup ended the sandbox.
  }
  expect(filled).toMatch(/MemoryError\nHint: Variables of earlier cells stay in memory: del /);
  expect(errorText(await run('raise ValueError("told")'))).toMatch(/told|MemoryError\nHint/);
  expect(errorText(await run('def f(: pass'))).toMatch(/SyntaxError|MemoryError\nHint/);
  expect((await run('del rows\nprint("x" * 1_000_000)')).status).toBe('success');
  expect((await run('6 * 7')).value).toBe('42');
}
