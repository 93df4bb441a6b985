/** The queue of questions: what it keeps, and that exactly one answer counts, whatever happens to the processes. */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Question } from '../../../src/core/base/cell.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { QuestionQueue } from '../../../src/features/waiting-questions/question-queue.ts';
import { ROOT } from '../../support/bridge-client.ts';

const RUN = { schedule: 'morning', run: '2026-11-30T06-00-00Z' };
const QUESTION: Question = {
  mode: 'form',
  message: 'May it?',
  requestedSchema: { type: 'object', properties: { answer: { type: 'string', enum: ['Allow once', 'Do not allow'] } } },
  calls: [{ server: 'github', tool: 'create_issue', reason: 'it is not among the rights' }],
};
const YES = { action: 'accept', content: { answer: 'Allow once', days: 2, sure: true, of: ['a'] } } as const;

let state: string;
let folder: string;
let queue: QuestionQueue;

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'questions-'));
  folder = join(state, 'questions');
  queue = new QuestionQueue(state);
  onTestFinished(() => rmSync(state, { recursive: true, force: true }));
});

const ask = (key: string, run = RUN, question: Question = QUESTION) => queue.ask({ ...run, key, question });

/** The files of the queue, each with its mode. */
function files(): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => `${name} ${(statSync(join(folder, name)).mode & 0o777).toString(8)}`);
}

describe('a question', () => {
  it('waits in files of its owner until it has one answer', async () => {
    const asked = await ask('call 1');
    expect(asked).toEqual({
      ...RUN,
      id: expect.stringMatching(/^[0-9a-f]{12}$/),
      askedAt: expect.any(String),
      question: QUESTION,
    });
    expect(await new QuestionQueue(state).open()).toEqual([asked]);
    expect(await queue.answerTo({ ...RUN, key: 'call 1' })).toBeUndefined();
    expect(await queue.answer(asked.id, YES, 'page')).toBe(true);
    expect(await queue.answer(asked.id, { action: 'decline' }, 'client')).toBe(false);
    expect(await new QuestionQueue(state).answerTo({ ...RUN, key: 'call 1' })).toEqual({
      reply: YES,
      by: 'page',
      at: expect.any(String),
    });
    expect(await queue.open()).toEqual([]);
    expect(files()).toEqual([
      `${asked.id} 700`,
      `${asked.id}/answer 700`,
      `${asked.id}/answer/answer.json 600`,
      `${asked.id}/question.json 600`,
    ]);
  });

  it('is the same if it is asked again, also at the same time', async () => {
    const [first, ...others] = await Promise.all(Array.from({ length: 6 }, () => ask('call 1')));
    expect(others).toEqual(others.map(() => first));
    await queue.answer(first?.id ?? '', YES, 'page');
    expect(await ask('call 1')).toEqual(first);
    expect(await queue.open()).toEqual([]);
    expect((await ask('call 2')).id).not.toBe(first?.id);
    expect((await ask('call 1', { ...RUN, run: 'later' })).id).not.toBe(first?.id);
  });

  it('can be about a page', async () => {
    const page: Question = { mode: 'url', message: 'Log in', url: 'https://example.com/' };
    expect((await ask('page', RUN, page)).question).toEqual(page);
    expect(await queue.open()).toMatchObject([{ question: page }]);
  });

  it('is listed by age, and for one run', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const [late, early] = ['2026-11-30T07:00:00Z', '2026-11-29T07:00:00Z'];
    vi.setSystemTime(late);
    await ask('new');
    vi.setSystemTime(early);
    await ask('old', { schedule: 'evening', run: 'r' });
    expect((await queue.open()).map(({ schedule }) => schedule)).toEqual(['evening', 'morning']);
    expect((await queue.open(RUN)).map(({ schedule }) => schedule)).toEqual(['morning']);
    expect(await queue.open({ ...RUN, run: 'r' })).toEqual([]);
  });

  it('goes with its run, or its schedule', async () => {
    await Promise.all([
      ask('1'),
      ask('2'),
      ask('3', { ...RUN, run: 'r' }),
      ask('4', { schedule: 'evening', run: 'r' }),
    ]);
    await queue.forget(RUN);
    expect((await queue.open()).map(({ run }) => run)).toEqual(['r', 'r']);
    await queue.forget({ schedule: 'morning' });
    expect(await queue.open()).toMatchObject([{ schedule: 'evening' }]);
    await queue.forget({ schedule: 'evening' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('costs no file as long as there is none', async () => {
    expect(await queue.open()).toEqual([]);
    expect(await queue.answerTo({ ...RUN, key: 'x' })).toBeUndefined();
    await queue.forget(RUN);
    expect(existsSync(folder)).toBe(false);
  });

  it.each(['', '../questions', '0123456789AB', `${'a'.repeat(12)}/x`, 'a'.repeat(12)])(
    'there is none with the id %j',
    async (id) => {
      await ask('1');
      expect(await queue.answer(id, YES, 'page')).toBe(false);
    },
  );

  // Code chooses what is asked, and can find two keys whose ids are the same within a minute.
  it('never has the answer of another one with its id', async () => {
    const { id } = await ask('harmless');
    await queue.answer(id, YES, 'page');
    const { id: other } = await ask('harmful');
    rmSync(join(folder, other), { recursive: true });
    symlinkSync(join(folder, id), join(folder, other));
    expect(await queue.answerTo({ ...RUN, key: 'harmful' })).toBeUndefined();
    await expect(ask('harmful')).rejects.toMatchObject({ code: 'APPROVAL_UNAVAILABLE' });
  });
});

describe('limits', () => {
  it('1,000 open questions, with those that are damaged', async () => {
    mkdirSync(folder);
    for (let index = 0; index < 1_000; index += 1) {
      mkdirSync(join(folder, index.toString(16).padStart(12, '0')));
    }
    await expect(ask('one more')).rejects.toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
      message: '1,000 questions of scheduled runs wait, which is the limit',
      hint: expect.stringContaining(' approvals'),
    });
    rmSync(join(folder, '0'.repeat(12)), { recursive: true });
    const { id } = await ask('one more');
    // It has not become more by being asked again.
    expect((await ask('one more')).id).toBe(id);
  });

  it('1,000 answered ones are kept, the newest', async () => {
    const { id } = await ask('first');
    await queue.answer(id, YES, 'page');
    const [question, answer] = ['question.json', 'answer/answer.json'].map((name) =>
      readFileSync(join(folder, id, name)),
    );
    rmSync(join(folder, id), { recursive: true });
    for (let index = 0; index <= 1_000; index += 1) {
      const copy = join(folder, index.toString(16).padStart(12, '0'));
      mkdirSync(join(copy, 'answer'), { recursive: true });
      const asked = { ...JSON.parse(String(question)), askedAt: new Date(Date.now() - index * 1_000).toISOString() };
      writeFileSync(join(copy, 'question.json'), JSON.stringify(asked));
      writeFileSync(join(copy, 'answer/answer.json'), answer ?? '');
    }
    const added = await ask('second');
    expect(readdirSync(folder)).toHaveLength(1_001);
    expect(existsSync(join(folder, (1_000).toString(16).padStart(12, '0')))).toBe(false);
    expect(await queue.open()).toEqual([added]);
  });

  it('a question that could not be read again is refused', async () => {
    await expect(ask('long', RUN, { mode: 'url', message: 'x'.repeat(262_144), url: '' })).rejects.toMatchObject({
      code: 'APPROVAL_UNAVAILABLE',
      message: expect.stringMatching(/the limit is 262,144/),
    });
    expect(existsSync(folder)).toBe(false);
  });

  it('a folder that cannot be written is said', async () => {
    mkdirSync(folder);
    writeFileSync(join(state, 'file'), '');
    await expect(
      new QuestionQueue(join(state, 'file')).ask({ ...RUN, key: '1', question: QUESTION }),
    ).rejects.toMatchObject({
      code: 'STATE_WRITE_FAILED',
      hint: expect.any(String),
    });
  });
});

describe('damage', () => {
  it('of a question is said once, and does not hide the others', async () => {
    const warning = vi.fn<(message: string) => void>();
    const watched = new QuestionQueue(state, { ...silentLogger, warning });
    const [broken, fine] = [await ask('broken'), await ask('fine')];
    const file = join(folder, broken.id, 'question.json');
    for (const text of ['', '{"version": 1', '{"version": 2}', '[]', 'x'.repeat(300_000)]) {
      writeFileSync(file, text);
      expect(await watched.open()).toEqual([fine]);
    }
    expect(warning.mock.calls).toEqual([[expect.stringContaining(file)]]);
    expect(await watched.answer(broken.id, YES, 'page')).toBe(false);
    // It is asked again by its run.
    expect(await ask('broken')).toMatchObject({ id: broken.id, question: QUESTION });
    expect(await queue.answer(broken.id, YES, 'page')).toBe(true);
  });

  it('of an answer makes its question wait again, for exactly one', async () => {
    const { id } = await ask('call');
    for (let round = 0; round < 5; round += 1) {
      mkdirSync(join(folder, id, 'answer'), { recursive: true });
      writeFileSync(join(folder, id, 'answer/answer.json'), '{"half');
      expect(await queue.open()).toHaveLength(1);
      const counted = await Promise.all(Array.from({ length: 8 }, () => queue.answer(id, YES, 'page')));
      expect(counted.filter(Boolean)).toHaveLength(1);
      expect(await queue.answerTo({ ...RUN, key: 'call' })).toMatchObject({ reply: YES });
    }
    expect(readdirSync(join(folder, id))).toEqual(['answer', 'question.json']);
  });

  it.runIf(process.getuid?.() !== 0)('is not what cannot be read now: a good answer is not replaced', async () => {
    const { id } = await ask('call');
    await queue.answer(id, YES, 'page');
    chmodSync(join(folder, id, 'answer/answer.json'), 0);
    await expect(queue.answer(id, { action: 'decline' }, 'page')).rejects.toMatchObject({ code: 'STATE_WRITE_FAILED' });
  });

  it('left by killed processes is removed an hour later', async () => {
    await ask('first');
    const [old, fresh] = ['a', 'b'].map((name) => join(folder, `${name.repeat(12)}.x.tmp`));
    mkdirSync(old ?? '');
    mkdirSync(fresh ?? '');
    utimesSync(old ?? '', 0, 0);
    await ask('second');
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([`${'b'.repeat(12)}.x.tmp`]);
    expect(await queue.open()).toHaveLength(2);
  });
});

/** Another process that answers these questions. Resolves with those of its answers that counted, by then. */
function startAnswering() {
  const words = [
    '--import',
    join(ROOT, 'scripts/typescript-loader.mjs'),
    join(ROOT, 'test/fixtures/answering-process.ts'),
  ];
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout });
  return async (ids: readonly string[], killAfter = Number.POSITIVE_INFINITY): Promise<string[]> => {
    const counted: string[] = [];
    let seen = 0;
    child.stdin.write(`${JSON.stringify({ state, ids })}\n`);
    for await (const line of lines) {
      const [id = '', isCounted] = line.split(' ');
      if (line === 'done') {
        break;
      }
      counted.push(...(isCounted === 'true' ? [id] : []));
      seen += 1;
      if (seen === killAfter) {
        child.kill('SIGKILL');
      }
    }
    return counted;
  };
}

const askMany = async (count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, async (_, index) => (await ask(`call ${index}`)).id));

describe('several processes', () => {
  it('exactly one answer of many counts', async () => {
    const ids = await askMany(30);
    const processes = Array.from({ length: 3 }, startAnswering);
    const counted = await Promise.all(processes.map((answer) => answer(ids)));
    expect(counted.flat().toSorted()).toEqual(ids.toSorted());
    expect(await queue.open()).toEqual([]);
  });

  it('an answer of a process that is killed is there as a whole, or not at all', async () => {
    const ids = await askMany(30);
    const killed = await startAnswering()(ids, 7);
    expect(killed.length).toBeGreaterThanOrEqual(7);
    const open = (await queue.open()).map(({ id }) => id);
    expect(open.filter((id) => killed.includes(id))).toEqual([]);
    const later = await Promise.all(ids.map(async (id) => ((await queue.answer(id, YES, 'page')) ? id : '')));
    expect(later.filter(Boolean).toSorted()).toEqual(open.toSorted());
    expect(await queue.open()).toEqual([]);
  });
});
