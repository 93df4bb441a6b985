/** Answers that no request got. */
import { expect, it } from 'vitest';
import { NO_OUTPUT, type ShownAnswer } from '../../../src/core/base/cell.ts';
import { Undelivered } from '../../../src/front/server/undelivered.ts';

const answerOf = (session: string, cell?: number): ShownAnswer => ({
  status: 'success',
  stdout: { ...NO_OUTPUT, head: `from ${session}\n` },
  stderr: NO_OUTPUT,
  servers: [],
  session,
  timeoutSeconds: 30,
  notices: [],
  ...(cell !== undefined && { cell }),
});

it('repeats each once, in the next answer of its session', () => {
  const undelivered = new Undelivered();
  undelivered.add(answerOf('a', 7), 'no one waited');
  expect(undelivered.addTo(answerOf('b')).notices).toEqual([]);
  expect(undelivered.addTo(answerOf('a')).notices).toEqual([
    'Cell 7 ended with status success; no one waited:\nfrom a',
  ]);
  expect(undelivered.addTo(answerOf('a')).notices).toEqual([]);
});

it('has what is left of a session kept for a later bridge', () => {
  const kept: (readonly [string, readonly string[]])[] = [];
  const undelivered = new Undelivered((...given) => void kept.push(given));
  const text = (cell: number) => `Cell ${cell} ended with status success; no one waited:\nfrom a`;
  undelivered.add(answerOf('a', 1), 'no one waited');
  undelivered.addTo(answerOf('b'));
  undelivered.add(answerOf('a', 2), 'no one waited');
  undelivered.takeOldest('a');
  undelivered.addTo(answerOf('a'));
  expect(kept).toEqual([
    ['a', [text(1)]],
    ['a', [text(1), text(2)]],
    ['a', [text(2)]],
    ['a', []],
  ]);
});

it('returns the oldest of a session as it is', () => {
  const undelivered = new Undelivered();
  undelivered.add(answerOf('a', 1), 'no one waited');
  undelivered.add(answerOf('a', 2), 'no one waited');
  expect(undelivered.takeOldest('b')).toBeUndefined();
  expect(undelivered.takeOldest('a')).toEqual(answerOf('a', 1));
  expect(undelivered.takeOldest('a')).toEqual(answerOf('a', 2));
  expect(undelivered.takeOldest('a')).toBeUndefined();
});

// The table grew with every name of a session that a client made up.
it('keeps 16, and the next answer says how many were dropped', () => {
  const undelivered = new Undelivered();
  for (let number = 0; number < 40; number += 1) {
    undelivered.add(answerOf(`session-${number}`), 'no one waited');
  }
  expect(undelivered.addTo(answerOf('session-0')).notices).toEqual([
    expect.stringContaining('24 answers were not delivered'),
  ]);
  expect(undelivered.addTo(answerOf('session-39')).notices).toEqual([expect.stringContaining('from session-39')]);
  expect(undelivered.addTo(answerOf('session-39')).notices).toEqual([]);
});
