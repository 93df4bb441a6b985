/** What an answer carries beside its text, and what is said while a cell runs. */
import { describe, expect, it } from 'vitest';
import type { CellProgress } from '../../../src/cell.ts';
import { createDeferred } from '../../../src/session/deferred.ts';
import type { Subject } from './subject.ts';

export function describeAnswers({ run }: Subject): void {
  describe('progress', () => {
    /** Runs code until it has reported something for which `isIt` holds; the code ends with the file `seen`. */
    async function progressOf(code: string, isIt: (progress: CellProgress) => boolean): Promise<CellProgress> {
      const cancel = new AbortController();
      const found = createDeferred<CellProgress>();
      const answer = run(`import asyncio\n${code}\nawait asyncio.sleep(60)`, {
        signal: cancel.signal,
        timeoutMs: 60_000,
        onProgress: (progress) => isIt(progress) && found.resolve(progress),
      });
      const progress = await found.promise;
      cancel.abort();
      await answer;
      return progress;
    }

    it('is what the code says of itself', async () => {
      const code = 'runtime.progress(3, 4, "files read")';
      expect(await progressOf(code, ({ isRunning }) => isRunning === true)).toEqual({
        message: '3/4 files read',
        percent: 75,
        isRunning: true,
      });
    });

    it('is the line printed last, else', async () => {
      const code = 'print("first")\nprint("10%", end="\\r")\nprint("20%", end="\\r", flush=True)';
      const { message } = await progressOf(code, (progress) => progress.message.includes('20%'));
      expect(message).toBe('20%');
    });

    it('counts calls', async () => {
      const code = 'await asyncio.gather(*[mcp_fake.wait(ms=1) for _ in range(3)])';
      const { message } = await progressOf(code, (progress) => progress.message.includes('3 calls'));
      expect(message).toBe('3 calls done, 0 running');
    });
  });
}
