// Tags: bubblewrap, user-release
/** Short-lived processes, for real: what they inherit, their limits, and what is left of them. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ProcessOptions, runProcess } from '../../../src/core/base/run-process.ts';
import { isRunning, until } from '../../support/upstream.ts';

const ENV = { PATH: process.env['PATH'] };

function runShell(text: string, options: Partial<ProcessOptions> = {}) {
  return runProcess(['sh', '-c', text], { env: ENV, maxOutputBytes: 1_000, ...options });
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-run-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('a program', () => {
  it('returns its exit code and output', async () => {
    const end = await runShell(String.raw`printf 'a\377\n'; printf b >&2; exit 3`);
    expect(end).toMatchObject({ endedBy: 'exit', exitCode: 3, stdout: Buffer.from([0x61, 0xff, 0x0a]) });
    expect(end.stderr.toString()).toBe('b');
  });

  it('gets its arguments unchanged, and its working directory', async () => {
    const cwd = newFolder();
    const words = ['printf', '%s|', '$HOME', '`id`', 'a b', "'"];
    const end = await runProcess(words, { env: ENV, cwd, maxOutputBytes: 1_000 });
    expect(end.stdout.toString()).toBe("$HOME|`id`|a b|'|");
    expect((await runShell('pwd -P', { cwd })).stdout.toString().trim()).toContain(cwd);
  });

  it('sees only the given variables', async () => {
    const end = await runProcess(['/usr/bin/env'], { env: { MINE: '1', NOT: undefined }, maxOutputBytes: 1_000 });
    expect(end.stdout.toString()).toBe('MINE=1\n');
  });

  it('reads the given input, or an empty one', async () => {
    expect((await runShell('cat', { input: 'in' })).stdout.toString()).toBe('in');
    expect((await runShell('cat')).stdout.toString()).toBe('');
    expect((await runShell('cat <&3', { extraInput: Buffer.from('three') })).stdout.toString()).toBe('three');
  });

  it('may exit without reading its input', async () => {
    expect(await runShell('exit 4', { input: 'x'.repeat(1_000_000) })).toMatchObject({ endedBy: 'exit', exitCode: 4 });
  });

  it('delivers its lines as they arrive', async () => {
    const lines: string[] = [];
    await runShell('echo one; echo two >&2; printf three', { onLine: (line) => lines.push(line) });
    expect(lines.toSorted()).toEqual(['one', 'three', 'two']);
  });

  it('with ignored stderr keeps nothing of it', async () => {
    const end = await runShell('echo secret >&2; exit 1', { ignoresStderr: true });
    expect(end).toMatchObject({ exitCode: 1, stderr: Buffer.alloc(0), reason: '' });
  });
});

describe('an end that is not an exit code', () => {
  it('is a signal', async () => {
    expect(await runShell('kill -TERM $$')).toMatchObject({
      endedBy: 'signal',
      exitCode: undefined,
      signal: 'SIGTERM',
    });
  });

  it.each([
    ['no-such-program', 'not found'],
    ['/no/such/program', 'not found'],
    ['/etc/passwd', 'not executable'],
    ['a\0b', 'not started'],
  ])('is a failed start: %j', async (program, endedBy) => {
    const end = await runProcess([program], { env: ENV, maxOutputBytes: 1_000 });
    expect(end).toMatchObject({ endedBy, exitCode: undefined });
    expect(end.reason).not.toBe('');
  });

  it('is the deadline, which also ends child processes', async () => {
    const cwd = newFolder();
    const end = await runShell('sleep 1000 & echo $$ $! > pids; wait', { cwd, deadlineMs: 2_000 });
    expect(end).toMatchObject({ endedBy: 'deadline', exitCode: undefined });
    const pids = readFileSync(join(cwd, 'pids'), 'utf8').trim().split(' ').map(Number);
    expect(pids).toHaveLength(2);
    await until(() => !pids.some(isRunning));
  });

  it('is the deadline even if a process outside the group keeps the output open', async () => {
    const cwd = newFolder();
    const text = "setsid sh -c 'echo $$ > pid; exec sleep 1000' & exit 0";
    expect(await runShell(text, { cwd, deadlineMs: 2_000 })).toMatchObject({ endedBy: 'deadline' });
    process.kill(Number(readFileSync(join(cwd, 'pid'), 'utf8')), 'SIGKILL');
  });

  it('is too much output from a program that ignores a closed pipe', async () => {
    const end = await runShell("trap '' PIPE; while :; do echo 0123456789; done");
    expect(end).toMatchObject({ endedBy: 'output limit', exitCode: undefined });
  });
});

describe('when this process ends', () => {
  it('a program and its children end', async () => {
    const cwd = newFolder();
    const program = `
      import { existsSync } from 'node:fs';
      import { runProcess } from ${JSON.stringify(new URL('../../../src/core/base/run-process.ts', import.meta.url).href)};
      const text = 'sleep 1000 & echo $$ $! > started; mv started pids; wait';
      void runProcess(['sh', '-c', text], { env: process.env, maxOutputBytes: 1, endsWithProcess: true });
      setInterval(() => existsSync('pids') && process.exit(5), 10);`;
    const loader = new URL('../../../scripts/typescript-loader.mjs', import.meta.url).href;
    const words = [process.execPath, '--import', loader, '--input-type=module', '--eval', program];
    const end = await runProcess(words, { env: ENV, cwd, maxOutputBytes: 10_000 });
    expect(end).toMatchObject({ endedBy: 'exit', exitCode: 5 });
    const pids = readFileSync(join(cwd, 'pids'), 'utf8').trim().split(' ').map(Number);
    expect(pids).toHaveLength(2);
    await until(() => !pids.some(isRunning));
  });

  it('many programs need only one listener', async () => {
    const before = process.listenerCount('exit');
    const runs = Array.from({ length: 12 }, () => runShell('exit 0', { endsWithProcess: true }));
    await Promise.all(runs);
    expect(process.listenerCount('exit')).toBeLessThanOrEqual(before + 1);
  });
});
