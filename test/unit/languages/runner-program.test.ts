import { describe, expect, it } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { readLanguages } from '../../../src/features/languages/languages-file.ts';
import { type CallFromProgram, runnerProgram } from '../../../src/features/languages/runner-program.ts';
import { createFakeProgramSandbox } from '../../support/fake-program-sandbox.ts';

const language = (await readLanguages('/nonexistent')).find('javascript');

function start(callTool?: CallFromProgram, wantsFiles = true) {
  if (language === undefined) {
    throw new Error('there is no javascript');
  }
  const fake = createFakeProgramSandbox();
  const program = runnerProgram({
    language,
    command: ['node'],
    entry: 'main.mjs',
    files: [{ name: 'main.mjs', content: Buffer.from('code') }],
    args: ['a'],
    stdin: Buffer.from('in'),
    wantsFiles,
    servers: [{ name: 'git-hub', alias: 'git_hub' }],
    callTool,
  });
  return { ...fake, end: program.run(fake.sandbox, () => undefined) };
}

const callWith = (value: string): string =>
  `{"type":"call","call":1,"server":"s","tool":"t","arguments":{"a":${value}}}\n`;

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('lines of a runner', () => {
  it('are its output, its files and its exit code', async () => {
    const { end, say, finish, lines } = start();
    say({ type: 'started' });
    say({ type: 'output', stream: 'stdout', data: base64('out') });
    say({ type: 'output', stream: 'stderr', data: base64('err') });
    say({ type: 'file', name: 'new.txt', data: base64('N') });
    say({ type: 'file', name: 'new.txt', data: base64('ew') });
    say({ type: 'file', name: 'empty.txt', data: '' });
    say({ type: 'exit', exit_code: 3, dropped_bytes: 7 });
    finish({ exitCode: 0, signal: undefined });
    const { exitCode, isStarted, stdout, stderr, files: returned } = await end;
    expect([exitCode, isStarted, stdout.text(), stderr.text(), stdout.droppedBytes]).toEqual([
      3,
      true,
      'out',
      'err',
      7,
    ]);
    expect(returned).toEqual([
      { name: 'new.txt', content: Buffer.from('New') },
      { name: 'empty.txt', content: Buffer.alloc(0) },
    ]);
    expect(await lines(1)).toEqual([
      {
        type: 'job',
        entry: 'main.mjs',
        files: [{ name: 'main.mjs', content: base64('code') }],
        args: ['a'],
        stdin: base64('in'),
        env: {},
        wants_files: true,
        servers: [{ name: 'git-hub', alias: 'git_hub' }],
      },
    ]);
  });

  it.each([
    ['text', 'hello\n'],
    ['an unknown type', '{"type":"eval"}\n'],
    ['a key too many', '{"type":"started","x":1}\n'],
    ['arguments that are no object', '{"type":"call","call":1,"server":"s","tool":"t","arguments":[]}\n'],
    ['output that is not base64', '{"type":"output","stream":"stdout","data":"*"}\n'],
    ['an exit code out of range', '{"type":"exit","exit_code":-1}\n'],
    ['arguments that are nested too deeply', callWith(`${'['.repeat(7_000)}${']'.repeat(7_000)}`)],
    ['arguments with too many members', callWith(`{${'"a":1,'.repeat(500_000)}"b":1}`)],
    ['a line of 60 MiB', callWith(`[${'{},'.repeat(20 * 1024 * 1024)}1]`)],
  ])('that are not valid end the program: %s', async (_, text) => {
    const { end, sayText, wasKilled } = start();
    sayText('{"type":"started"}\n');
    sayText(text);
    const { exitCode, stderr } = await end;
    expect(wasKilled()).toBe(true);
    expect(exitCode).toBeUndefined();
    expect(stderr.text()).toBe('[the program was ended: its runner sent a line that is not valid]\n');
  });

  it.each([
    ['more bytes than files may have', 'big', 10 * 1024 * 1024, 7],
    ['files that nobody wants', 'small', 1, 1],
  ])('with %s end the program', async (_, name, bytes, lines) => {
    const { end, say, wasKilled } = start(undefined, name === 'big');
    for (let line = 0; line < lines; line += 1) {
      say({ type: 'file', name, data: Buffer.alloc(Math.min(bytes, 5 * 1024 * 1024)).toString('base64') });
    }
    const { stderr } = await end;
    expect(wasKilled()).toBe(true);
    expect(stderr.text()).toBe('[the program was ended: its runner sent more files than it may]\n');
  });

  it('that were never sent mean that the program did not start', async () => {
    const { end, finish, sayError } = start();
    sayError('Error: no such image');
    finish({ exitCode: 125, signal: undefined });
    expect(await end).toMatchObject({ isStarted: false, engineSaid: 'Error: no such image', exit: { exitCode: 125 } });
  });
});

describe('calls of a program', () => {
  const call = { type: 'call', call: 5, server: 'git-hub', tool: 'createIssue', arguments: { title: 'x' } };

  it('are answered with a value or an error', async () => {
    const { end, say, finish, lines } = start(async ({ server, tool, arguments: given }) => {
      if (tool === 'denied') {
        throw new BridgeError('POLICY_DENIED', 'a policy denies it', { hint: 'Do without.' });
      }
      const json = ['{"a": "x', 'y",\r\n"b": 1}'].map((piece) => Buffer.from(piece));
      const answers = { text: { text: '[1]' }, bytes: { member: 'value', json } } as const;
      return answers[tool as 'text'] ?? { value: { server, tool, given } };
    });
    say(call);
    say({ ...call, call: 6, tool: 'denied' });
    say({ ...call, call: 7, tool: 'text' });
    say({ ...call, call: 8, tool: 'bytes' });
    const [, ...answers] = await lines(5);
    expect(answers).toEqual([
      {
        type: 'answer',
        call: 5,
        ok: true,
        value: { server: 'git-hub', tool: 'createIssue', given: { title: 'x' } },
      },
      {
        type: 'answer',
        call: 6,
        ok: false,
        error: { code: 'POLICY_DENIED', message: 'a policy denies it', hint: 'Do without.' },
      },
      { type: 'answer', call: 7, ok: true, text: '[1]' },
      { type: 'answer', call: 8, ok: true, value: { a: 'xy', b: 1 } },
    ]);
    finish({ exitCode: 0, signal: undefined });
    await end;
  });

  it('are refused where there are no servers', async () => {
    const { end, say, finish, lines } = start();
    say(call);
    expect((await lines(2))[1]).toMatchObject({ ok: false, error: { code: 'SERVER_NOT_AVAILABLE' } });
    finish({ exitCode: 0, signal: undefined });
    await end;
  });

  it('are cancelled with the program, and at most 64 at once', async () => {
    const signals: { aborted: boolean }[] = [];
    const { end, say, finish, lines } = start((_, signal) => {
      signals.push(signal);
      return new Promise(() => undefined);
    });
    for (let number = 0; number < 65; number += 1) {
      say({ ...call, call: number });
    }
    expect((await lines(2))[1]).toMatchObject({ call: 64, ok: false, error: { code: 'LIMIT_CALLS' } });
    finish({ exitCode: 0, signal: undefined });
    await end;
    expect(signals).toHaveLength(64);
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
  });
});
