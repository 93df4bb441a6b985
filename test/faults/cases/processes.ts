/** What code does to its own process, its children and its limits. */
import { expect } from 'vitest';
import type { FaultCase } from '../../support/faults/fault-case.ts';

export const PROCESS_CASES: readonly FaultCase[] = [
  {
    id: 'P01',
    title: 'a loop that never ends',
    expected: 'ends at its timeout; the answer says `timeout`, and the variables are kept',
    quick: true,
    async run({ run }) {
      const answer = await run('kept = 1\nwhile True: pass', { timeout: 1 });
      expect(answer.status).toBe('timeout');
      expect((await run('print(kept)')).stdout).toBe('1');
    },
  },
];
