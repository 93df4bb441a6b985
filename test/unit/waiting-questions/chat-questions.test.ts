/** Questions of scheduled runs in the next chat: what is asked, what counts as an answer, and what the model reads instead. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Basis } from '../../../src/app/bridge/basis.ts';
import { createWaitingInChat } from '../../../src/app/bridge/waiting-questions.ts';
import type { Person, Question, Reply } from '../../../src/core/base/cell.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { QuestionQueue } from '../../../src/features/waiting-questions/question-queue.ts';

const CALL: Question = {
  mode: 'form',
  message: 'May it?',
  requestedSchema: {
    type: 'object',
    properties: { answer: { type: 'string', enum: ['Allow once', 'Do not allow'] } },
    required: ['answer'],
  },
};
const PAGE: Question = { mode: 'url', message: 'Log in', url: 'https://example.com/' };
const YES: Reply = { action: 'accept', content: { answer: 'Allow once' } };
const RUN = { schedule: 'morning', run: '2026-11-30T06-00-00Z' };
const CELL = { code: '1' };

let stateDir: string;
let queue: QuestionQueue;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'chat-questions-'));
  queue = new QuestionQueue(stateDir);
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
});

/** Asked one after the other, so that their age is known. */
async function askMany(count: number, question = CALL): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  for (let index = 1; index <= count; index += 1) {
    vi.setSystemTime(new Date(2026, 10, 30, 7, index));
    await queue.ask({ ...RUN, key: `${index}`, question: { ...question, message: `${question.message} ${index}` } });
  }
}

const open = (options: Partial<Basis['options']> = {}, approvalTimeoutMs = 60_000) =>
  createWaitingInChat({
    logger: silentLogger,
    options: { client: () => 'tests', ...options },
    settings: { stateDir, approvalTimeoutMs },
  } as Basis);

/** A person who gives these answers in turn, and nothing after them. */
function personWith(replies: readonly (Reply | 'no answer')[], opensPages = false) {
  const seen: string[] = [];
  const left = [...replies];
  const person: Person = {
    opensPages,
    ask: ({ message }, signal) => {
      seen.push(message);
      const reply = left.shift();
      return reply === undefined || reply === 'no answer'
        ? new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('withdrawn'))))
        : Promise.resolve(reply);
    },
  };
  return { person, seen };
}

describe('a client that can ask', () => {
  it('is asked the three oldest, each once by a bridge', async () => {
    await askMany(4);
    const chat = open();
    const { person, seen } = personWith([YES, { action: 'decline' }, { action: 'cancel' }, YES]);
    await chat?.ask(person, CELL);
    expect(seen).toEqual([
      "Schedule 'morning', run 2026-11-30T06-00-00Z, has waited for an answer since 07:01.\n\nMay it? 1",
      expect.stringMatching(/ since 07:02\.\n\nMay it\? 2$/),
      expect.stringMatching(/May it\? 3$/),
    ]);
    expect(await queue.answerTo({ ...RUN, key: '1' })).toMatchObject({ reply: YES, by: 'client' });
    expect(await queue.answerTo({ ...RUN, key: '2' })).toMatchObject({ reply: { action: 'decline' } });
    expect(await queue.answerTo({ ...RUN, key: '3' })).toBeUndefined();
    await chat?.ask(person, CELL);
    expect(seen.slice(3)).toEqual([expect.stringMatching(/May it\? 4$/)]);
    await chat?.ask(person, CELL);
    expect(seen).toHaveLength(4);
    // A later bridge asks what was dismissed.
    const later = personWith([YES]);
    await open()?.ask(later.person, CELL);
    expect(later.seen).toEqual([expect.stringMatching(/May it\? 3$/)]);
    expect(await queue.open()).toEqual([]);
  });

  it('is asked no more after one that nobody answers in time', async () => {
    await askMany(2);
    const { person, seen } = personWith(['no answer']);
    await open({}, 20)?.ask(person, CELL);
    expect(seen).toHaveLength(1);
    expect(await queue.open()).toHaveLength(2);
  });

  it('that cancels the request ends the question', async () => {
    await askMany(1);
    const { person, seen } = personWith(['no answer']);
    const cancel = new AbortController();
    const asking = open()?.ask(person, { ...CELL, signal: cancel.signal });
    await expect.poll(() => seen.length).toBe(1);
    cancel.abort();
    await asking;
    expect(await queue.open()).toHaveLength(1);
  });

  it.each([
    { action: 'accept' },
    { action: 'accept', content: {} },
    { action: 'accept', content: { answer: 'Whatever' } },
    { action: 'cancel' },
  ] as const)('that accepts a form by itself has answered nothing: %j', async (reply) => {
    await askMany(1);
    await open()?.ask(personWith([reply]).person, CELL);
    expect(await queue.open()).toHaveLength(1);
  });

  it('is asked to open pages only if it can', async () => {
    await askMany(1, PAGE);
    const [without, chat] = [personWith([{ action: 'accept' }]), open()];
    await chat?.ask(without.person, CELL);
    expect(without.seen).toEqual([]);
    await chat?.ask(personWith([{ action: 'accept' }], true).person, CELL);
    expect(await queue.open()).toEqual([]);
  });

  it('whose answer comes after another one changes nothing', async () => {
    await askMany(1);
    const [asked] = await queue.open();
    const person: Person = {
      opensPages: false,
      async ask() {
        await queue.answer(asked?.id ?? '', { action: 'decline' }, 'terminal');
        return YES;
      },
    };
    await open()?.ask(person, CELL);
    expect(await queue.answerTo({ ...RUN, key: '1' })).toMatchObject({ reply: { action: 'decline' }, by: 'terminal' });
  });
});

describe('a client that cannot ask', () => {
  it('reads once what waits, and what answers it', async () => {
    await askMany(1);
    const chat = open();
    expect((await chat?.notices('default', false))?.at(0)).toMatch(
      /^Schedule 'morning' has waited for an answer since 07:01\. Its question can be answered by the user with: .* approvals$/,
    );
    expect(chat?.notices('default', false)).toBeUndefined();
    expect(await chat?.notices('other', false)).toEqual([]);
    await queue.ask({ ...RUN, key: 'new', question: CALL });
    await queue.ask({ ...RUN, key: 'newer', question: CALL });
    expect((await chat?.notices('third', false))?.at(0)).toContain('The 2 questions of scheduled runs can be answered');
  });

  it('reads the day if that is not today', async () => {
    await askMany(1);
    vi.setSystemTime(new Date(2026, 11, 1, 6));
    expect((await open()?.notices('default', false))?.at(0)).toContain(' since 2026-11-30 07:01. ');
  });
});

describe('nothing is asked and read', () => {
  it('where there is no queue', async () => {
    const { person, seen } = personWith([]);
    await open()?.ask(person, CELL);
    expect(await open()?.notices('default', false)).toEqual([]);
    expect([seen, readdirSync(stateDir)]).toEqual([[], []]);
  });

  it.each([
    ['a principal over HTTP', { principal: { name: 'alice', folder: '/nowhere' } }],
    ['a command', { client: undefined }],
    ['a replay', { replay: {} as never }],
  ])('for %s', async (_who, options) => {
    expect(open(options)).toBeUndefined();
  });
});
