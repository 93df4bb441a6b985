/** The script that starts programs, in the local shell: in folders of the test, and never as PID 1. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ProgramFile } from '../../../src/core/base/program.ts';
import type { Sandbox } from '../../../src/core/session/engine.ts';
import { type Language, readLanguages } from '../../../src/features/languages/languages-file.ts';
import { commandOf } from '../../../src/features/languages/run-program.ts';
import { shellProgram } from '../../../src/features/languages/shell-program.ts';

const languages = await readLanguages('/nonexistent');

async function run(code: string, files: ProgramFile[] = [], { stdin = '', env = {} } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'shell-program-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'workspace'));
  mkdirSync(join(root, 'tmp'));
  const bash = languages.find('bash') as Language;
  const all = [{ name: 'main.sh', content: Buffer.from(code) }, ...files];
  const program = shellProgram({
    language: { ...bash, env },
    command: ['bash', 'main.sh', 'first', 'second word'],
    files: all,
    stdin: Buffer.from(stdin),
    wantsFiles: true,
  });
  const [command = '', ...argv] = program.command;
  const child = spawn(command, argv, { cwd: root, env: { ...process.env, BRIDGE_ROOT: root } });
  const exited = new Promise<Awaited<Sandbox['exited']>>((resolve) => {
    child.once('close', (code_) => resolve({ exitCode: code_ ?? undefined, signal: undefined }));
  });
  const { stdin: input, stdout, stderr } = child;
  let hasBegun = false;
  const end = await program.run(
    { id: 'test', stdin: input, stdout, stderr, exited, kill: async () => undefined },
    () => {
      hasBegun = true;
    },
  );
  input.destroy();
  expect(hasBegun).toBe(end.isStarted);
  return {
    ...end,
    stdout: end.stdout.text(),
    stderr: end.stderr.text(),
    files: Object.fromEntries(end.files.map(({ name, content }) => [name, Buffer.from(content).toString()])),
  };
}

describe('a program in a shell', () => {
  it('gets files, arguments, input and variables; its output and new files come back', async () => {
    const data = { name: 'data/in.txt', content: Buffer.from('file\n') };
    const code = 'printf "%s|" "$@" "$NAME"; cat; cat data/in.txt; printf err >&2; echo new > out.txt; exit 3';
    const end = await run(code, [data], { stdin: 'input\n', env: { NAME: "it's" } });
    expect(end).toMatchObject({
      isStarted: true,
      exitCode: 3,
      stdout: "first|second word|it's|input\nfile\n",
      stderr: 'err',
      files: { 'out.txt': 'new\n' },
    });
  });

  it('may print nothing, or a long text without an end of line', async () => {
    expect(await run('true')).toMatchObject({ exitCode: 0, stdout: '', stderr: '', files: {} });
    const { stdout } = await run('head -c 1000000 /dev/zero | tr "\\\\0" x');
    expect(stdout).toBe('x'.repeat(1_000_000));
  });

  it('returns changed files, but not those that it has left alone', async () => {
    const files = ['same', 'other'].map((name) => ({ name, content: Buffer.from('old') }));
    expect((await run('printf new > other; ln -s /etc/passwd link', files)).files).toEqual({ other: 'new' });
  });
});

it('gives go all files of the package, or the folder of the module', () => {
  const go = languages.find('golang') as Language;
  const names = (...all: string[]) => all.map((name) => ({ name }));
  const files = names('main.go', 'add.go', 'add_test.go', 'sub/x.go', 'data.txt');
  expect(commandOf(go, 'main.go', files)).toEqual(['go', 'run', 'main.go', 'add.go']);
  expect(commandOf(go, 'main.go', names('main.go', 'go.mod'))).toEqual(['go', 'run', '.']);
  expect(commandOf(go, 'main.go', names('main.go'), '/opt/go/bin/go')).toEqual(['/opt/go/bin/go', 'run', 'main.go']);
  expect(commandOf(languages.find('bash') as Language, 'a.sh', names('a.sh', 'b.sh'))).toEqual(['bash', 'a.sh']);
});

// The bridge kept a line without an end in memory, and took the first marker for the end.
it('a program that writes the marker itself spoils nothing but its own output', async () => {
  const code = [
    `marker=$(tr '\\0' '\\n' </proc/$PPID/cmdline | grep -m1 '^bridge-')`,
    `printf '\\n%s ' "$marker"; head -c 3000000 /dev/zero | tr '\\0' x`,
    `printf '\\n%s 0x\\nlast' "$marker"; exit 4`,
  ].join('\n');
  const end = await run(code);
  expect(end.exitCode).toBe(4);
  expect(end.stdout).toMatch(/^\nbridge-[0-9a-f]{32} x{3000000}\nbridge-[0-9a-f]{32} 0x\nlast$/);
});
