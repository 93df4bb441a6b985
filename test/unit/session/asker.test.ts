import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Person, Question, Reply } from '../../../src/core/base/cell.ts';
import { Countdown } from '../../../src/core/base/countdown.ts';
import type { BridgeError } from '../../../src/core/base/errors.ts';
import { MAX_QUESTIONS_PER_CELL } from '../../../src/core/base/limits.ts';
import { CellAsker } from '../../../src/core/session/asker.ts';

const question = (message: string): Question => ({ mode: 'form', message, requestedSchema: { type: 'object' } });
const yes: Reply = { action: 'accept', content: { answer: 'yes' } };
const never = new AbortController().signal;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A person who answers when the test decides. */
function createPerson() {
  const asked: { message: string; signal: AbortSignal; reply: (reply: Reply) => void; fail: (error: Error) => void }[] =
    [];
  const person: Person = {
    opensPages: false,
    ask: ({ message }, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('withdrawn')));
        asked.push({ message, signal, reply: resolve, fail: reject });
      }),
  };
  return { person, asked };
}

function setUp(timeoutMs = 1_000) {
  const { person, asked } = createPerson();
  const ends: string[] = [];
  const clock = new Countdown(100, () => ends.push('deadline'));
  const asker = new CellAsker({ person, code: 'f()', clock, timeoutMs });
  const failure = (promise: Promise<unknown>): Promise<BridgeError> =>
    promise.then(
      () => Promise.reject(new Error('expected a rejection')),
      (error: unknown) => error as BridgeError,
    );
  return { asker, asked, ends, clock, failure };
}

/** Lets settled promises continue. */
const settle = () => vi.advanceTimersByTimeAsync(0);

describe('a question', () => {
  it('stops the clock of the cell until the reply arrives', async () => {
    const { asker, asked, ends, clock } = setUp();
    const reply = asker.ask(question('may I?'), never);
    expect(asker.isWaiting).toBe(true);
    await vi.advanceTimersByTimeAsync(900);
    expect([ends, clock.leftMs()]).toEqual([[], 100]);
    asked[0]?.reply(yes);
    expect(await reply).toBe(yes);
    expect(asker.isWaiting).toBe(false);
    await vi.advanceTimersByTimeAsync(100);
    expect(ends).toEqual(['deadline']);
  });

  it('is asked after the reply to the one before', async () => {
    const { asker, asked } = setUp();
    const first = asker.ask(question('one'), never);
    const second = asker.ask(question('two'), never);
    await settle();
    expect(asked.map(({ message }) => message)).toEqual(['one']);
    asked[0]?.reply(yes);
    await first;
    await settle();
    expect(asked.map(({ message }) => message)).toEqual(['one', 'two']);
    expect(asker.isWaiting).toBe(true);
    asked[1]?.reply({ action: 'decline' });
    expect(await second).toEqual({ action: 'decline' });
  });

  it('ends at its time limit, and the cell cannot ask again', async () => {
    const { asker, asked, failure } = setUp();
    const first = failure(asker.ask(question('one'), never));
    const second = failure(asker.ask(question('two'), never));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await first).toMatchObject({
      code: 'APPROVAL_TIMEOUT',
      message: 'no one answered the question within 1 s',
    });
    expect(await second).toMatchObject({ code: 'APPROVAL_TIMEOUT', message: expect.stringContaining('earlier') });
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true]);
    expect(asker.isWaiting).toBe(false);
  });

  it.each([
    ['its call', false],
    ['its cell', true],
  ])('is withdrawn with %s', async (_, isCell) => {
    const { asker, asked, failure } = setUp();
    const cancel = new AbortController();
    const ended = failure(asker.ask(question('one'), cancel.signal));
    const queued = failure(asker.ask(question('two'), cancel.signal));
    await settle();
    if (isCell) {
      asker.close();
    } else {
      cancel.abort();
    }
    expect(await ended).toMatchObject({ code: 'CALL_CANCELLED' });
    expect(await queued).toMatchObject({ code: 'CALL_CANCELLED' });
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true]);
    expect(vi.getTimerCount()).toBe(1);
  });

  it('that the client cannot show fails with its reason', async () => {
    const { asker, asked, failure } = setUp();
    const ended = failure(asker.ask(question('one'), never));
    await settle();
    asked[0]?.fail(new Error('no window'));
    expect(await ended).toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
      message: 'the client could not ask the person: no window',
    });
  });

  it('is refused if the cell has asked too often', async () => {
    const { asker, asked, failure } = setUp();
    for (let i = 0; i < MAX_QUESTIONS_PER_CELL; i += 1) {
      const reply = asker.ask(question('again'), never);
      await settle();
      asked[i]?.reply({ action: 'decline' });
      await reply;
    }
    const refused = await failure(asker.ask(question('again'), never));
    expect(refused).toMatchObject({ code: 'APPROVAL_UNAVAILABLE' });
    expect(refused.message).toContain(`${MAX_QUESTIONS_PER_CELL} times`);
    expect(asked).toHaveLength(MAX_QUESTIONS_PER_CELL);
  });
});
