/** A sandbox without a process, whose other side is the test: it says lines, and reads what the host writes. */
import { PassThrough } from 'node:stream';
import type { Sandbox, SandboxExit } from '../../src/core/session/engine.ts';

export function createFakeProgramSandbox() {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  let isKilled = false;
  let resolve: (exit: SandboxExit) => void = () => undefined;
  const ended = new Promise<SandboxExit>((done) => {
    resolve = done;
  });
  /** As `Sandbox.exited` promises: only after both streams were read. */
  const exited = ended.then(async (exit) => {
    const read = [stdout, stderr].map((stream) => new Promise((done) => stream.once('end', done).end()));
    stdout.resume();
    stderr.resume();
    await Promise.all(read);
    return exit;
  });
  const sandbox: Sandbox = {
    id: 'fake',
    stdin,
    stdout,
    stderr,
    exited,
    async kill() {
      isKilled = true;
      resolve({ exitCode: undefined, signal: 'SIGKILL' });
      await exited;
    },
  };
  let written = '';
  stdin.setEncoding('utf8').on('data', (text: string) => {
    written += text;
  });
  return {
    sandbox,
    say: (line: unknown): boolean => stdout.write(`${JSON.stringify(line)}\n`),
    sayText: (text: string): boolean => stdout.write(text),
    sayError: (text: string): boolean => stderr.write(text),
    finish: resolve,
    wasKilled: (): boolean => isKilled,
    /** The lines that the host has written, once there are `count` of them. */
    async lines(count: number): Promise<unknown[]> {
      while (written.split('\n').length <= count) {
        await new Promise((done) => stdin.once('data', done));
      }
      return written
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown);
    },
  };
}
