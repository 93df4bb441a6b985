import { expect, it } from 'vitest';
import { createDeferred } from '../../../src/core/base/deferred.ts';
import { BuildTurns, MAX_BUILDERS, MAX_WAITING_PER_SESSION } from '../../../src/features/packages/build-turns.ts';

/** Turns whose work is recorded, and ends when the test says so. */
function record(owner?: object) {
  const turns = new BuildTurns<string>(owner);
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

it('gives a principal with many profiles no more builders than one, and another one its turn', async () => {
  const alice = {};
  const profiles = Array.from({ length: 3 }, () => record(alice));
  const bob = record({});
  const all = profiles.flatMap(({ take }) => [take('first', 'a'), take('second', 'b')]);
  const ofBob = bob.take('work', 'pandas');
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  await turn();
  expect(profiles.flatMap(({ begun }) => begun)).toHaveLength(MAX_BUILDERS);
  expect(bob.begun).toEqual(['work pandas']);
  bob.ends.get('pandas')?.();
  await ofBob;
  while (profiles.some(({ begun }) => begun.length < 2)) {
    profiles.forEach(({ ends }) => ends.forEach((end) => end()));
    // biome-ignore lint/performance/noAwaitInLoops: the next ones begin only then.
    await turn();
  }
  profiles.forEach(({ ends }) => ends.forEach((end) => end()));
  await Promise.all(all);
});
