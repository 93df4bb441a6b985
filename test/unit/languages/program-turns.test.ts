/** Who waits for whom when many programs are started. */
import { expect, it } from 'vitest';
import { createDeferred } from '../../../src/core/base/deferred.ts';
import {
  MAX_PROGRAMS_AT_ONCE,
  MAX_PROGRAMS_OF_SESSION,
  MAX_PROGRAMS_WAITING,
  MAX_WAITING_INPUT_BYTES,
} from '../../../src/features/languages/limits.ts';
import { ProgramTurns } from '../../../src/features/languages/program-turns.ts';

/** Starts programs that run until `finish` is called. */
function createLine() {
  const turns = new ProgramTurns();
  const running: string[] = [];
  const endings: (() => void)[] = [];
  const user = {};
  const start = (session: string, owner = user, inputBytes = 1): Promise<void> =>
    turns.take({ owner, session, inputBytes }, async () => {
      running.push(session);
      const end = createDeferred<undefined>();
      endings.push(() => end.resolve(undefined));
      await end.promise;
    });
  return { start, running, finish: () => endings.shift()?.() };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('a session that starts many programs leaves room for another', async () => {
  const { running, start } = createLine();
  for (let count = 0; count < 10; count += 1) {
    void start('greedy');
  }
  void start('modest');
  await turn();
  expect(running).toEqual([...Array<string>(MAX_PROGRAMS_OF_SESSION).fill('greedy'), 'modest']);
});

it('no more run at once than the machine should bear, and the next one starts when one has ended', async () => {
  const { finish, running, start } = createLine();
  for (let session = 0; session < 10; session += 1) {
    void start(`session ${session}`);
  }
  await turn();
  expect(running).toHaveLength(MAX_PROGRAMS_AT_ONCE);
  finish();
  await turn();
  expect(running).toHaveLength(MAX_PROGRAMS_AT_ONCE + 1);
});

it('sessions of the same name of two principals do not count together, and one cannot take all places', async () => {
  const { running, start } = createLine();
  const [alice, bob] = [{}, {}];
  for (let count = 0; count < MAX_PROGRAMS_OF_SESSION + MAX_PROGRAMS_WAITING; count += 1) {
    for (const session of ['default', 'second', 'third']) {
      void start(session, alice);
    }
  }
  await turn();
  expect(running).toHaveLength(MAX_PROGRAMS_AT_ONCE);
  void start('default', bob);
  await turn();
  expect(running).toHaveLength(MAX_PROGRAMS_AT_ONCE + 1);
});

it('too many waiting programs are refused, and there is room again when they have ended', async () => {
  const { finish, start } = createLine();
  const all = Array.from({ length: MAX_PROGRAMS_OF_SESSION + MAX_PROGRAMS_WAITING }, () => start('greedy'));
  await expect(start('greedy')).rejects.toMatchObject({ code: 'CALL_REFUSED' });
  for (const _ of all) {
    finish();
    // biome-ignore lint/performance/noAwaitInLoops: the next one starts only then.
    await turn();
  }
  await Promise.all(all);
  void start('greedy');
  await turn();
});

it('the files of the programs that wait have a limit, whatever their sessions are called; one may be larger', async () => {
  const { finish, running, start } = createLine();
  const [alice, bob] = [{}, {}];
  void start('one', alice, 2 * MAX_WAITING_INPUT_BYTES);
  await expect(start('two', alice)).rejects.toMatchObject({
    code: 'CALL_REFUSED',
    message: expect.stringContaining('67,108,865 bytes'),
  });
  void start('bob', bob);
  await turn();
  finish();
  await turn();
  void start('two', alice);
  await turn();
  expect(running).toEqual(['one', 'bob', 'two']);
});
