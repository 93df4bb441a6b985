import { expect, it } from 'vitest';
import { createDeferred } from '../../../src/base/deferred.ts';
import { BuildTurns, MAX_WAITING_PER_SESSION } from '../../../src/packages/build-turns.ts';

/** Turns whose work is recorded, and ends when the test says so. */
function record() {
  const turns = new BuildTurns<string>();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const take = (session: string, key: string) =>
    turns.take(session, key, async () => {
      begun.push(`${session} ${key}`);
      const end = createDeferred<void>();
      ends.set(key, () => end.resolve());
      await end.promise;
      return key;
    });
  return { begun, ends, take };
}

it('gives another session a builder while one session has many requests', async () => {
  const { begun, ends, take } = record();
  const many = Array.from({ length: MAX_WAITING_PER_SESSION }, (_, number) => take('attacker', `a${number}`));
  expect(() => take('attacker', 'one more')).toThrow('already waits for 16 installations');
  const other = take('other', 'pandas');
  await Promise.resolve();
  expect(begun).toEqual(['attacker a0', 'other pandas']);
  ends.get('pandas')?.();
  expect(await other).toBe('pandas');
  for (let number = 0; number < many.length; number += 1) {
    ends.get(`a${number}`)?.();
    expect(await many[number]).toBe(`a${number}`);
  }
  // There is room again.
  const again = take('attacker', 'one more');
  await Promise.resolve();
  ends.get('one more')?.();
  expect(await again).toBe('one more');
});

it('runs a request once that is asked for again, but waits for no queue of another session', async () => {
  const { begun, ends, take } = record();
  const first = take('attacker', 'slow');
  const queued = [take('attacker', 'pandas'), take('attacker', 'pandas')];
  const other = take('other', 'pandas');
  const joined = take('third', 'pandas');
  await Promise.resolve();
  expect(begun).toEqual(['attacker slow', 'other pandas']);
  ends.get('slow')?.();
  await first;
  ends.get('pandas')?.();
  expect(await Promise.all([...queued, other, joined])).toEqual(['pandas', 'pandas', 'pandas', 'pandas']);
  expect(begun).toEqual(['attacker slow', 'other pandas']);
});
