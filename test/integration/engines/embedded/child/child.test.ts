// Tags: embedded-release
/** The child of the embedded engine as a process: start, waiting, interrupts, limits and end. */

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addSnapshot } from '../../../../../src/edges/engines/embedded/child/make-snapshot.ts';
import {
  type ChildOptions,
  hasPython,
  lastReport,
  makeChildFolder,
  type RunningChild,
  removeFolder,
  startChild,
  wholeModule,
} from '../../../../support/embedded-child.ts';
import { pause } from '../../../../support/pause.ts';

const BOOT = fileURLToPath(new URL('../../../../fixtures/embedded-boot.py', import.meta.url));
const MIB = 1024 * 1024;
const INTERRUPT = '{"type":"interrupt","cell":1,"reason":"deadline"}\n';

let folder = '';

interface Session {
  readonly child: RunningChild;
  /** The next line that the program sends. */
  readonly next: () => Promise<string>;
  /** Sends a line and returns the next line from the program. */
  readonly run: (line: string) => Promise<string>;
}

async function open(options: ChildOptions = {}): Promise<Session> {
  const child = startChild(folder, options);
  const waiting: ((line: string) => void)[] = [];
  const lines: string[] = [];
  let rest = '';
  child.process.stdout.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString('utf8')).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) {
      const settle = waiting.shift();
      settle === undefined ? lines.push(line) : settle(line);
    }
  });
  const next = async (): Promise<string> => {
    const line = lines.shift();
    return line ?? new Promise((settle) => waiting.push(settle));
  };
  expect(await next()).toBe('ready');
  const run = async (line: string): Promise<string> => {
    child.process.stdin.write(`${line}\n`);
    return next();
  };
  return { child, next, run };
}

/** Processor time of a process in ticks, from /proc/PID/stat (proc(5)). */
function processorTicks(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
  return Number(fields[13]) + Number(fields[14]);
}

if (!hasPython()) {
  it.skip('not covered: the child of the embedded engine: dist/embedded is missing: run "npm run build"', () =>
    undefined);
}

describe.skipIf(!hasPython())('the child of the embedded engine', () => {
  beforeAll(async () => {
    folder = await makeChildFolder(BOOT);
  });
  afterAll(() => removeFolder(folder));

  it('keeps its state between lines, and ends with the host', async () => {
    const { child, run } = await open();
    expect(await run('x = 41')).toBe('done');
    expect(await run('send(str(x + 1))')).toBe('42');
    child.process.stdin.end();
    const { exitCode, stderr } = await child.ended;
    expect([exitCode, lastReport(stderr)]).toEqual([
      0,
      { report: 'ended', cause: 'exit', exit_code: 0, signal: null, stdout: '', stderr: '' },
    ]);
    expect(JSON.parse(stderr.split('\n')[0] ?? '')).toEqual({
      report: 'started',
      memory_limit_bytes: 128 * MIB,
      pids_limit: null,
      seccomp: false,
    });
  });

  it.each([
    ['computes', 'while True: pass'],
    ['computes in C code that never checks for interrupts', 'sum(__import__("itertools").count())'],
    ['sleeps', '__import__("time").sleep(1000)'],
    ['writes to a full pipe', 'while True: os.write(4, b"x" * 1000000)'],
  ])('ends with the host while it %s', async (_, line) => {
    const { child } = await open();
    child.process.stdin.write(`send("begun"); ${line.startsWith('while') ? '' : line}\n${line}\n`);
    child.process.stdout.pause();
    child.process.stdin.end();
    const { exitCode, signal } = await child.ended;
    expect([exitCode, signal]).toEqual(signal === null ? [0, null] : [null, 'SIGKILL']);
  });

  it('can be interrupted while it computes, sleeps and waits', async () => {
    const { child, next, run } = await open();
    for (const line of [
      'while True: pass',
      '__import__("time").sleep(1000)',
      '__import__("select").select([], [], [], 1000)',
    ]) {
      child.process.stdin.write(`send("begun")\n${line}\n`);
      expect([await next(), await next()]).toEqual(['begun', 'done']);
      child.process.stdin.write(INTERRUPT);
      expect(await next()).toBe('interrupted');
    }
    expect(await run('send("alive")')).toBe('alive');
    child.process.kill();
    await child.ended;
  });

  it('sees an interrupt behind megabytes of unread input', async () => {
    const { child, next } = await open();
    child.process.stdin.write('while True: pass\n');
    child.process.stdin.write(`{"type":"answer","data":"${'x'.repeat(20 * MIB)}"}\n${INTERRUPT}`);
    expect(await next()).toBe('interrupted');
    child.process.kill();
    await child.ended;
  });

  it('transfers megabytes completely and in order', async () => {
    const { child, next } = await open();
    child.process.stdin.write(`text = "${'abcdefgh'.repeat(MIB)}"\nsend(text)\n`);
    expect(await next()).toBe('done');
    expect((await next()) === 'abcdefgh'.repeat(MIB)).toBe(true);
    child.process.kill();
    await child.ended;
  });

  it.runIf(process.platform === 'linux')('uses no processor time while it waits', async () => {
    const { child } = await open();
    // Other threads finish the work of the start; a wait that polls would never reach zero.
    let used = Number.POSITIVE_INFINITY;
    for (let second = 0; second < 20 && used > 0; second += 1) {
      const before = processorTicks(child.process.pid);
      await pause(1_000, 'the processor time of a second is measured');
      used = processorTicks(child.process.pid) - before;
    }
    expect(used).toBe(0);
    child.process.kill();
    await child.ended;
  });

  it('reports unread output of descriptors 1 and 2 at the end', async () => {
    const { child } = await open();
    child.process.stdin.write('os.write(1, b"out"); os.write(2, b"err"); os._exit(3)\n');
    const { exitCode, stderr } = await child.ended;
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    expect(exitCode).toBe(3);
    expect(lastReport(stderr)).toMatchObject({
      cause: 'exit',
      exit_code: 3,
      stdout: base64('out'),
      stderr: base64('err'),
    });
  });

  it('raises MemoryError at its limit and continues', async () => {
    const { child, run } = await open({ limits: { memoryBytes: 96 * MIB } });
    expect(await run('x = bytearray(200_000_000)')).toBe('MemoryError');
    expect(await run('pieces = [bytearray(1_000_000) for _ in range(1000)]')).toBe('MemoryError');
    expect(await run('send("alive")')).toBe('alive');
    child.process.kill();
    await child.ended;
  });

  it('reports a signal if the program crashes', async () => {
    const { child } = await open();
    child.process.stdin.write('os.abort()\n');
    const { exitCode, stderr } = await child.ended;
    expect([exitCode, lastReport(stderr)]).toMatchObject([134, { cause: 'signal', signal: 6, exit_code: null }]);
  });

  it('has different random numbers in every run', async () => {
    const texts = [];
    for (let run = 0; run < 2; run += 1) {
      const session = await open();
      texts.push(await session.run('send(os.urandom(16).hex())'));
      session.child.process.kill();
      await session.child.ended;
    }
    expect(texts[0]).not.toBe(texts[1]);
  });

  it('has a reproducible snapshot', () => {
    const snapshot = join(folder, 'memory.snapshot');
    const first = readFileSync(snapshot);
    addSnapshot(folder, readFileSync(BOOT, 'utf8'), wholeModule());
    expect(readFileSync(snapshot).equals(first)).toBe(true);
    expect(() => addSnapshot(folder, 'raise ValueError("no")', wholeModule())).toThrow('ValueError: no');
    addSnapshot(folder, readFileSync(BOOT, 'utf8'), wholeModule());
  });

  async function detailOfFailure(options: ChildOptions = {}): Promise<string | undefined> {
    const { stderr, exitCode } = await startChild(folder, options).ended;
    expect(exitCode).toBe(70);
    const report = lastReport(stderr);
    return report.report === 'ended' && report.cause === 'failed' ? report.detail : undefined;
  }

  it.each(['python.wasm', 'memory.snapshot'])('names the damaged file: %s', async (name) => {
    const path = join(folder, name);
    const whole = readFileSync(path);
    const damaged = Buffer.from(whole);
    damaged[damaged.length - 1000] = (damaged.at(-1000) ?? 0) ^ 1;
    rmSync(path); // It may be a link to the built file.
    try {
      for (const bytes of [damaged, whole.subarray(0, 1000), Buffer.alloc(0)]) {
        writeFileSync(path, bytes);
        expect(await detailOfFailure()).toContain(`${name} is damaged`);
      }
    } finally {
      writeFileSync(path, whole);
    }
  });

  it('reports missing WebAssembly, and a memory limit that is too low', async () => {
    expect(await detailOfFailure({ nodeFlags: ['--jitless'] })).toContain('this Node has no WebAssembly');
    expect(await detailOfFailure({ limits: { memoryBytes: MIB } })).toContain(
      'bytes is too low: Python needs at least',
    );
  });
});
