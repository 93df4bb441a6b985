/** `approvals`: what a person sees and types, and what becomes of it in the queue. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createContext } from '../../../src/app/bridge/context.ts';
import { parseCommandLine } from '../../../src/app/cli/command-line.ts';
import type { Question } from '../../../src/core/base/cell.ts';
import type { ApprovalsCommand } from '../../../src/features/waiting-questions/command.ts';
import { QuestionQueue } from '../../../src/features/waiting-questions/question-queue.ts';
import { approvals } from '../../../src/features/waiting-questions/run.ts';
import { ApprovalSchema } from '../../../src/record/local-api/schema.ts';

const CHOICES = ['Allow once', 'Always allow in this schedule', 'Do not allow'];
const CALL: Question = {
  mode: 'form',
  message: 'The run wants to call a tool.\n\n    title: "\u001b[2J"',
  requestedSchema: { type: 'object', properties: { answer: { type: 'string', enum: CHOICES } }, required: ['answer'] },
  calls: [{ server: 'github', tool: 'create_issue', reason: 'it is not among the rights' }],
};
const FORM: Question = {
  mode: 'form',
  message: "Server 'weather' asks:\n\n> Where?",
  requestedSchema: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', default: 3 }, unit: { enum: ['C', 'F'] } },
    required: ['city'],
  },
};
const PAGE: Question = { mode: 'url', message: 'Log in', url: 'https://example.com/login' };

let stateDir: string;
let queue: QuestionQueue;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'approvals-'));
  queue = new QuestionQueue(stateDir);
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
});

const aboutRun = (key: string) => ({ schedule: 'morning', run: '2026-11-30T06-00-00Z', key });
const ask = async (key: string, question: Question) => (await queue.ask({ ...aboutRun(key), question })).id;
const answerTo = async (key: string) => (await queue.answerTo(aboutRun(key)))?.reply;

/** Runs the command line; `typed` is what the person at the terminal types, and without it there is no terminal. */
async function run(words: string, typed?: readonly string[]) {
  const { logger, settings } = createContext({ HOME: stateDir, MCP_BRIDGE_STATE_DIR: stateDir });
  const line = (await parseCommandLine(
    words.match(/(?:[^\s"]|"[^"]*")+/g)?.map((word) => word.replaceAll('"', '')) ?? [],
  )) as ApprovalsCommand;
  const shown = { out: '', error: '' };
  const [input, output] = [new PassThrough(), new PassThrough()];
  const left = [...(typed ?? [])];
  output.on('data', (chunk: Buffer) => {
    shown.error += chunk.toString();
    if (chunk.toString().endsWith(') ')) {
      input.write(`${left.shift() ?? ''}\n`);
    }
  });
  const exitCode = await approvals(line, {
    logger,
    settings,
    terminal: typed && { input, output },
    writeOut: (text) => void (shown.out += text),
    writeError: (text) => void (shown.error += text),
  });
  return { exitCode, ...shown };
}

describe('what waits', () => {
  it('is nothing at first', async () => {
    expect(await run('approvals')).toEqual({ exitCode: 0, out: 'No scheduled run waits for an answer.\n', error: '' });
    expect((await run('approvals list --json')).out).toBe('[]\n');
  });

  it('is listed with its schedule, its time and its calls', async () => {
    const [call, form] = [await ask('1', CALL), await ask('2', FORM)];
    const { error, out } = await run('approvals');
    expect(out.split('\n')).toEqual([
      expect.stringMatching(new RegExp(`^${call}  morning  since \\d\\d:\\d\\d  github\\.create_issue$`)),
      expect.stringMatching(new RegExp(`^${form}  morning  since \\d\\d:\\d\\d  Server 'weather' asks: > Where\\?$`)),
      '',
    ]);
    expect(error).toMatch(/ approvals allow ID, or deny ID\n$/);
    const json = JSON.parse((await run('approvals --json')).out) as unknown[];
    expect(json.map((one) => ApprovalSchema.parse(one).id)).toEqual([call, form]);
  });

  it('is shown as a whole, without control characters, and with what to type', async () => {
    const id = await ask('1', CALL);
    const { out } = await run(`approvals show ${id}`);
    expect(out).toMatch(
      /^Schedule 'morning', run 2026-11-30T06-00-00Z, since \d\d:\d\d:\n\nThe run wants to call a tool\.\n\n/,
    );
    expect(out).toContain(String.raw`    title: "\x1b[2J"`);
    expect(
      out
        .split('\n')
        .filter((line) => line.includes(id))
        .map((line) => line.replace(/^.* approvals/, 'approvals')),
    ).toEqual([`approvals allow ${id} --for once`, `approvals allow ${id} --for always`, `approvals deny ${id}`]);
    const [form, page] = [await ask('2', FORM), await ask('3', PAGE)];
    expect((await run(`approvals show ${form}`)).out).toContain(
      ' --field city=VALUE --field days=VALUE --field unit=VALUE\n',
    );
    expect((await run(`approvals show ${page}`)).out).toContain('https://example.com/login\n\nTo answer:\n');
    expect(JSON.parse((await run(`approvals show ${id} --json`)).out)).toMatchObject({
      id,
      schedule: { name: 'morning' },
    });
  });
});

describe('answers', () => {
  it.each([
    ['once', 'Allow once'],
    ['always', 'Always allow in this schedule'],
  ])('yes, %s', async (word, answer) => {
    const id = await ask('1', CALL);
    expect(await run(`approvals allow ${id} --for ${word}`)).toEqual({
      exitCode: 0,
      out: `Answered ${id} (morning): ${answer}\n`,
      error: '',
    });
    expect(await answerTo('1')).toEqual({ action: 'accept', content: { answer } });
  });

  it('no, to several', async () => {
    const ids = [await ask('1', CALL), await ask('2', FORM)];
    expect(JSON.parse((await run(`approvals deny ${ids.join(' ')} --json`)).out)).toEqual(
      ids.map((id) => ({ id, schedule: 'morning', action: 'decline' })),
    );
    expect([await answerTo('1'), await answerTo('2')]).toEqual([{ action: 'decline' }, { action: 'decline' }]);
  });

  it('to a form, with options', async () => {
    const id = await ask('1', FORM);
    await run(`approvals allow ${id} --field city="Bad Homburg" --field unit=F`);
    expect(await answerTo('1')).toEqual({ action: 'accept', content: { city: 'Bad Homburg', days: 3, unit: 'F' } });
  });

  it('that a page was opened', async () => {
    expect((await run(`approvals allow ${await ask('1', PAGE)}`)).out).toContain(': yes\n');
    expect(await answerTo('1')).toEqual({ action: 'accept' });
  });

  it('at the terminal, one question after the other', async () => {
    const ids = [await ask('1', CALL), await ask('2', FORM)];
    const { error } = await run(`approvals allow ${ids.join(' ')}`, ['3', 'Bonn', '', 'C']);
    expect(await answerTo('1')).toEqual({ action: 'accept', content: { answer: 'Do not allow' } });
    expect(await answerTo('2')).toEqual({ action: 'accept', content: { city: 'Bonn', days: 3, unit: 'C' } });
    expect(error).toContain("Schedule 'morning', run 2026-11-30T06-00-00Z:\nThe run wants to call a tool.");
    expect(error).toContain('  2) Always allow in this schedule\n');
  });

  it('that the person does not give leave the question in the queue', async () => {
    const id = await ask('1', FORM);
    await expect(run(`approvals allow ${id}`, [''])).rejects.toMatchObject({ code: 'APPROVAL_DENIED' });
    expect(await queue.open()).toHaveLength(1);
  });
});

describe('mistakes name what to type', () => {
  it.each([
    ['approvals allow ID', CALL, /no terminal to ask/, 'Add --for once, or --for always.'],
    ['approvals allow ID', FORM, /no terminal to ask/, 'Add --field city=VALUE --field days=VALUE --field unit=VALUE.'],
    ['approvals allow ID --for always', FORM, /does not offer --for always/, / approvals show \w{12}$/],
    ['approvals allow ID --field town=Bonn', FORM, /no field 'town'/, 'Its fields: city, days, unit.'],
    ['approvals allow ID --field days=3', FORM, /'city' needs/, 'It takes: string.'],
    ['approvals allow ID --field city=Bonn --field unit=K', FORM, /'unit' needs/, 'It takes: C, F.'],
    ['approvals allow ID --field answer=Yes', CALL, /'answer' needs/, `It takes: ${CHOICES.join(', ')}.`],
    ['approvals allow ID aaaaaaaaaaaa --for once', CALL, /no question 'aaaaaaaaaaaa' waits/, / approvals list$/],
    ['approvals deny nothing', CALL, /no question 'nothing' waits/, / approvals list$/],
    ['approvals show aaaaaaaaaaaa', CALL, /no question/, / approvals list$/],
  ])('%s', async (words, question, message, hint) => {
    const id = await ask('1', question);
    await expect(run(words.replace('ID', id))).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: expect.stringMatching(message),
      hint: typeof hint === 'string' ? hint : expect.stringMatching(hint),
    });
    expect(await queue.open()).toHaveLength(1);
  });

  it('an answer that came too late is said', async () => {
    const id = await ask('1', CALL);
    await run(`approvals deny ${id}`);
    await expect(run(`approvals allow ${id} --for once`)).rejects.toMatchObject({ code: 'USAGE_INVALID' });
    expect(await answerTo('1')).toEqual({ action: 'decline' });
  });

  it.each([
    ['approvals allow x --for ever', /once, always/],
    ['approvals allow x --field city', /name=value/],
    ['approvals allow x --field a=b --for once', /not both/],
    ['approvals deny', /missing required argument/],
  ])('%s', async (words, message) => {
    await expect(run(words)).rejects.toThrow(message);
  });
});
