/** Questions to the person from calls of a cell: the stopped clock, and how a question ends with its cell. */

import { describe, expect, it } from 'vitest';
import type { Person, Reply } from '../../../src/core/base/cell.ts';
import { pause } from '../../support/pause.ts';
import type { Subject } from './subject.ts';

/** A person who answers after a while, or never. `taken` resolves when a question is withdrawn. */
function createPerson(afterMs: number | undefined): { person: Person; asked: Promise<void>; taken: Promise<void> } {
  const notices: { asked?: () => void; taken?: () => void } = {};
  const asked = new Promise<void>((resolve) => {
    notices.asked = resolve;
  });
  const taken = new Promise<void>((resolve) => {
    notices.taken = resolve;
  });
  const person: Person = {
    opensPages: false,
    ask: (_, signal) =>
      new Promise<Reply>((resolve, reject) => {
        notices.asked?.();
        signal.addEventListener('abort', () => {
          notices.taken?.();
          reject(new Error('taken back'));
        });
        if (afterMs !== undefined) {
          void pause(afterMs, 'the person thinks for this long').then(() => resolve({ action: 'accept' }));
        }
      }),
  };
  return { person, asked, taken };
}

export function describeAsking({ run }: Subject): void {
  describe('a question to the person', () => {
    it('stops the clock of the cell until the answer', async () => {
      const { person } = createPerson(1_500);
      const code = 'import asyncio\nprint(await mcp_fake.ask())\nawait asyncio.sleep(60)';
      const answer = await run(code, { timeoutMs: 1_000, person });
      expect(answer).toMatchObject({ status: 'timeout', stdout: { head: 'accept\n' } });
    });

    it('is withdrawn when its cell is cancelled, and the session survives', async () => {
      const { person, asked, taken } = createPerson(undefined);
      await run('kept = 1');
      const cancel = new AbortController();
      const running = run('await mcp_fake.ask()', { person, signal: cancel.signal });
      await asked;
      cancel.abort();
      expect(await running).toMatchObject({ status: 'cancelled' });
      await taken;
      expect((await run('kept')).value).toBe('1');
    });

    it('is withdrawn when its cell ends or cancels the call', async () => {
      const left = createPerson(undefined);
      const task = 'import asyncio\ntask = asyncio.create_task(mcp_fake.ask())\nawait asyncio.sleep(0.5)\n1';
      expect(await run(task, { person: left.person })).toMatchObject({ value: '1' });
      await left.taken;
      const given = createPerson(undefined);
      const code =
        'try:\n    await asyncio.wait_for(mcp_fake.ask(), 0.2)\nexcept asyncio.TimeoutError:\n    print("gave up")';
      expect(await run(code, { person: given.person })).toMatchObject({ stdout: { head: 'gave up\n' } });
      await given.taken;
    });

    it('is impossible for jobs, and for cells whose client cannot ask', async () => {
      const { person } = createPerson(0);
      const code = 'job = runtime.background(mcp_fake.ask())\nprint(await mcp_fake.ask(), await job.result())';
      expect(await run(code, { person })).toMatchObject({ stdout: { head: 'accept nobody\n' } });
      expect(await run('await mcp_fake.ask()')).toMatchObject({ value: "'nobody'" });
    });
  });
}
