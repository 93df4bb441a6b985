/** How much of its answers a client may leave unread, and what happens beyond it. */
import { expect, it } from 'vitest';
import { LargeText } from '../../../src/core/base/large-text.ts';
import { AnswerRoom } from '../../../src/front/server/answer-room.ts';

const never = (): boolean => false;
const of = (chars: number) => ({ contents: [{ text: 'x'.repeat(chars) }] });

function setUp() {
  const room = new AnswerRoom(1_000);
  const done: string[] = [];
  const make = (exchange: ReturnType<AnswerRoom['open']>, name: string, chars: number) =>
    room
      .make(exchange, name, never, async () => of(chars))
      .then(
        () => void done.push(name),
        (error: unknown) => void done.push(`${name}: ${(error as { code: string }).code}`),
      );
  return { room, done, make };
}

const settled = () =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

it('requests wait while the answers of others are not read', async () => {
  const { done, make, room } = setUp();
  const [first, second, third] = [room.open(() => 0), room.open(() => 0), room.open(() => 0)];
  // At once: one is made after the other, so they do not pass the limit together.
  const all = [make(first, 'first', 2_000), make(second, 'second', 2_000), make(third, 'third', 10)];
  await settled();
  expect(done).toEqual(['first']);
  room.close(first);
  await settled();
  expect(done).toEqual(['first', 'second']);
  room.close(second);
  await Promise.all(all);
  expect(done).toEqual(['first', 'second', 'third']);
});

// It would wait for itself: the answers of a batch end together.
it('a request is refused if its own batch has such answers, and lets those that wait go on', async () => {
  const { done, make, room } = setUp();
  const [batch, other] = [room.open(() => 0), room.open(() => 0)];
  const all = [make(batch, 'one', 2_000), make(other, 'other', 10), make(batch, 'two', 2_000)];
  await settled();
  expect(done).toEqual(['one', 'two: HTTP_BUSY']);
  await expect(room.untilRoom(batch, never)).rejects.toMatchObject({ code: 'HTTP_BUSY' });
  room.close(batch);
  await Promise.all(all);
  expect(done).toContain('other');
});

it('what is written and not read counts, and cells wait for it until it is read or all is over', async () => {
  const { room } = setUp();
  let unread = 5_000;
  room.open(() => unread);
  let isOver = false;
  const waiting = [room.untilRoom(undefined, never), room.untilRoom(undefined, () => isOver)];
  isOver = true;
  room.wake();
  await expect(waiting[1]).resolves.toBeUndefined();
  unread = 0;
  room.wake();
  await waiting[0];
});

it('an answer for a client that is gone is not counted, and a long text counts for nothing', async () => {
  const { done, make, room } = setUp();
  const [gone, reader, next] = [room.open(() => 0), room.open(() => 0), room.open(() => 0)];
  room.close(gone);
  await make(gone, 'gone', 5_000);
  const text = new LargeText(() => Promise.reject(new Error('not read here')));
  await room.make(reader, 7, never, async () => ({ contents: [{ text }] }));
  expect(reader.largeTexts.get(text.token)).toEqual({ text, id: 7 });
  await make(next, 'next', 10);
  expect(done).toEqual(['gone', 'next']);
});
