import { describe, expect, it } from 'vitest';
import { BridgeError } from '../../../src/base/errors.ts';
import { readLanguages } from '../../../src/languages/languages-file.ts';
import { type CallFromProgram, runnerProgram } from '../../../src/languages/runner-program.ts';
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

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('lines of a runner', () => {
  it('are its output, its files and its exit code', async () => {
    const { end, say, finish, lines } = start();
    say({ type: 'started' });
    say({ type: 'output', stream: 'stdout', data: base64('out') });
    say({ type: 'output', stream: 'stderr', data: base64('err') });
    const files = ['new.txt'].map((name) => ({ name, content: base64('N') }));
    say({ type: 'exit', exit_code: 3, files, dropped_bytes: 7 });
    finish({ exitCode: 0, signal: undefined });
    const { exitCode, isStarted, stdout, stderr, files: returned } = await end;
    expect([exitCode, isStarted, stdout.text(), stderr.text(), stdout.droppedBytes]).toEqual([
      3,
      true,
      'out',
      'err',
      7,
    ]);
    expect(returned).toEqual([{ name: 'new.txt', content: Buffer.from('N') }]);
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
    ['an exit code out of range', '{"type":"exit","exit_code":-1,"files":[]}\n'],
  ])('that are not valid end the program: %s', async (_, text) => {
    const { end, sayText, wasKilled } = start();
    sayText('{"type":"started"}\n');
    sayText(text);
    const { exitCode, stderr } = await end;
    expect(wasKilled()).toBe(true);
    expect(exitCode).toBeUndefined();
    expect(stderr.text()).toBe('[the program was ended: its runner sent a line that is not valid]\n');
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
      return { server, tool, given };
    });
    say(call);
    say({ ...call, call: 6, tool: 'denied' });
    const [, ...answers] = await lines(3);
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
