/** What every engine must guarantee. Each engine runs all of these tests; there are no cases for a single engine. */

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ContainerEngineOptions } from '../../../src/edges/engines/container/container-engine.ts';
import type { TestEngine } from '../../support/engines.ts';
import { pause } from '../../support/pause.ts';
import {
  containersOf,
  countDescriptors,
  findProcesses,
  firstOutput,
  runPython,
  signalSandbox,
  startOwner,
  startPython,
} from '../../support/sandbox.ts';
import { describeInside } from './inside-suite.ts';
import { createSuiteEngine } from './suite-engine.ts';

const ECHO = 'import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.flush()';
/** Does not notice the end of its host. */
const STUBBORN = 'import time\nprint("ready")\ntime.sleep(600)';
const STARTS = 30;
/** A start takes 100 to 400 ms on a test machine; concurrent starts take longer. */
const KILL_DELAYS_MS = [0, 0, 20, 40, 60, 80, 100, 150, 200, 300, 400, 500];

/**
 * Polls, because Docker removes a container slightly before it disappears from the list: `inspect` finds nothing, but `ps` still
 * shows it (seen once in a few hundred ends).
 */
async function expectNoContainers(engine: TestEngine, instanceId: string): Promise<void> {
  await expect.poll(() => containersOf(engine, instanceId), { timeout: 5_000 }).toEqual([]);
}

/** A folder that everyone can read and write, because the sandbox's user is another user on the host. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-mount-'));
  chmodSync(folder, 0o777);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

export function describeEngine(testEngine: TestEngine): void {
  const createEngine = (options: Partial<ContainerEngineOptions> = {}) => createSuiteEngine(testEngine, options);

  describe(`on ${testEngine.label}`, () => {
    describe('a mounted folder', () => {
      const READ_AND_WRITE = `
import os
print(open('/data/in/a.txt').read())
for folder in ('/data/in', '/data/out'):
    try:
        open(folder + '/new.txt', 'w').write('written')
        print(folder, 'written')
    except OSError as error:
        print(folder, os.strerror(error.errno))
print(sorted(os.listdir('/data')))`;

      it('is visible, by default read-only', async () => {
        const [source, out] = [makeFolder(), makeFolder()];
        await writeFile(join(source, 'a.txt'), 'from the host');
        const { engine } = createEngine({
          mounts: [
            { source, target: '/data/in', isWritable: false },
            { source: out, target: '/data/out', isWritable: true },
          ],
        });
        const { stdout } = await runPython(engine, READ_AND_WRITE);
        expect(stdout.trimEnd().split('\n')).toEqual([
          'from the host',
          '/data/in Read-only file system',
          '/data/out written',
          "['in', 'out']",
        ]);
        // Podman once made it readable only for the sandbox's user, who on the host is not the person.
        expect((await stat(join(out, 'new.txt'))).mode & 0o444).toBe(0o444);
        expect(await readFile(join(out, 'new.txt'), 'utf8')).toBe('written');
      });
    });

    describe('the pipe', () => {
      it('carries bytes both ways unchanged', async () => {
        const { engine } = createEngine();
        const sandbox = await startPython(engine, ECHO);
        const sent = Buffer.from([0x00, 0xff, 0xc3, 0x28, 0x0d, 0x0a]);
        const received: Buffer[] = [];
        sandbox.stdout.on('data', (chunk: Buffer) => received.push(chunk));
        sandbox.stdin.end(sent);
        expect(await sandbox.exited).toEqual({ exitCode: 0, signal: undefined });
        expect(Buffer.concat(received)).toEqual(sent);
      });

      it('keeps stderr separate and returns the exit code', async () => {
        const { engine } = createEngine();
        const run = await runPython(engine, 'import sys; print("out"); print("err", file=sys.stderr); sys.exit(7)');
        expect(run.exit.exitCode).toBe(7);
        expect(run.stdout).toBe('out\n');
        expect(run.stderr).toContain('err\n');
      });

      it('carries 64 MiB out completely', async () => {
        const { engine } = createEngine();
        const sandbox = await startPython(engine, 'import os\nfor _ in range(1024): os.write(1, b"x" * 65536)');
        let bytes = 0;
        sandbox.stdout.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        await sandbox.exited;
        expect(bytes).toBe(64 * 1024 * 1024);
      });
    });

    describeInside(testEngine);

    describe('ending', () => {
      const states: [string, string][] = [
        ['idle at the pipe', `print("ready")\n${ECHO}`],
        [
          'busy and ignoring signals',
          'import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\nprint("ready")\nwhile True: pass',
        ],
        [
          'flooding a stdout that is not read',
          'import os\nos.write(1, b"ready\\n")\nwhile True: os.write(1, b"x" * 65536)',
        ],
        [
          'with stdout and stderr closed',
          'import os, time\nos.write(1, b"ready\\n")\nos.close(1); os.close(2)\ntime.sleep(600)',
        ],
        [
          'with many processes',
          'import os, time\nfor _ in range(50):\n    if os.fork() == 0: time.sleep(600)\nprint("ready")\ntime.sleep(600)',
        ],
      ];
      it.each(states)('a sandbox that is %s', async (_state, code) => {
        const { engine, instanceId } = createEngine();
        const sandbox = await startPython(engine, code);
        expect(await firstOutput(sandbox)).toContain('ready');
        sandbox.stdout.removeAllListeners('data').pause();
        await Promise.all([sandbox.kill(), sandbox.kill()]);
        await sandbox.exited;
        await expectNoContainers(testEngine, instanceId);
        // The engine's monitor of the container ends a moment after it.
        await expect.poll(() => findProcesses(sandbox.id)).toEqual([]);
      });

      it('a sandbox that is stopped', async () => {
        const { engine, instanceId } = createEngine();
        const sandbox = await startPython(engine, STUBBORN);
        await firstOutput(sandbox);
        await signalSandbox(testEngine, sandbox.id, 'STOP');
        await sandbox.kill();
        await expectNoContainers(testEngine, instanceId);
      });

      it('a sandbox that is still starting', async () => {
        const { engine, instanceId } = createEngine();
        const sandbox = await startPython(engine, ECHO);
        await sandbox.kill();
        await expectNoContainers(testEngine, instanceId);
      });

      it('a sandbox at any moment of its start, including its helpers', async () => {
        const { engine, instanceId } = createEngine();
        // A podman client killed during a start leaves behind conmon and a container that podman does not list.
        await Promise.all(
          KILL_DELAYS_MS.map(async (delayMs) => {
            const sandbox = await startPython(engine, ECHO);
            await pause(delayMs, 'one of several moments during the start');
            await sandbox.kill();
          }),
        );
        // On a busy machine the engine may not answer in time, or create a container after its client was killed. The bridge removes
        // such a container when it ends.
        await expect
          .poll(
            async () => {
              await engine.sweep({ own: true });
              return containersOf(testEngine, instanceId);
            },
            { timeout: 60_000 },
          )
          .toEqual([]);
      });

      it('a sandbox that does not read, with megabytes queued', async () => {
        const { engine, instanceId } = createEngine();
        const sandbox = await startPython(engine, STUBBORN);
        await firstOutput(sandbox);
        sandbox.stdin.write(Buffer.alloc(16 * 1024 * 1024));
        await sandbox.kill();
        await expectNoContainers(testEngine, instanceId);
      });

      it.runIf(testEngine.isContainer)('is noticed if the container is removed from outside', async () => {
        const { engine } = createEngine();
        const sandbox = await startPython(engine, STUBBORN);
        await firstOutput(sandbox);
        await testEngine.run('rm', '--force', sandbox.id);
        const exit = await sandbox.exited;
        expect(exit.exitCode).not.toBe(0);
        await sandbox.kill();
      });

      it('is noticed if its program is killed from outside', async () => {
        const { engine } = createEngine();
        const sandbox = await startPython(engine, STUBBORN);
        await firstOutput(sandbox);
        await signalSandbox(testEngine, sandbox.id, 'KILL');
        expect((await sandbox.exited).exitCode).toBe(137);
        await sandbox.kill();
      });

      it('is noticed if the client of the engine is killed, and removes the container', async () => {
        const { engine, instanceId } = createEngine();
        const sandbox = await startPython(engine, STUBBORN);
        await firstOutput(sandbox);
        const [client] = findProcesses(testEngine.isContainer ? `--name=${sandbox.id}` : sandbox.id);
        process.kill(client ?? Number.NaN, 'SIGKILL');
        expect(await sandbox.exited).toEqual({ exitCode: undefined, signal: 'SIGKILL' });
        await sandbox.kill();
        await expectNoContainers(testEngine, instanceId);
        expect(findProcesses(sandbox.id)).toEqual([]);
      });
    });

    describe.runIf(testEngine.isContainer)('a failed start on an engine with images', () => {
      async function explain(options: Partial<ContainerEngineOptions>, program = 'python3') {
        const { engine, instanceId } = createEngine(options);
        const sandbox = await engine.start({ command: [program, '-c', 'pass'], session: 'test' });
        const stderr: Buffer[] = [];
        sandbox.stdout.resume();
        sandbox.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
        const exit = await sandbox.exited;
        await sandbox.kill();
        await expectNoContainers(testEngine, instanceId);
        return engine.explainStartFailure(sandbox, exit, Buffer.concat(stderr).toString('utf8'));
      }

      it('names the command that pulls a missing image', async () => {
        const error = await explain({ image: 'no-such-image:1' });
        expect(error.code).toBe('IMAGE_MISSING');
        expect(error.hint).toContain(
          testEngine.name === 'podman'
            ? 'podman pull docker.io/library/no-such-image:1'
            : 'docker pull no-such-image:1',
        );
        expect(error.data['retryNow']).toBe(false);
      });

      it('asks for another attempt if a missing image may be pulled', async () => {
        const error = await explain({ image: 'no-such-image:1', pullPolicy: 'missing' });
        expect(error.data['retryNow']).toBe(true);
      });

      it('reports that the image has no Python', async () => {
        const error = await explain({}, 'python0');
        expect(error.code).toBe('IMAGE_UNSUITABLE');
      });

      it('quotes the engine about anything else', async () => {
        const error = await explain({ user: '9999999999:9999999999' });
        expect(error.code).toBe('ENGINE_FAILED');
        expect(error.message).toMatch(/9999999999|range/);
      });
    });

    describe('sweeping', () => {
      it('removes its own sandboxes on request, and none of another live bridge', async () => {
        const mine = createEngine();
        const other = createEngine();
        const [first, second] = await Promise.all([
          startPython(mine.engine, STUBBORN),
          startPython(other.engine, STUBBORN),
        ]);
        await Promise.all([firstOutput(first), firstOutput(second)]);
        // The count is not checked, because other bridges may have died on this machine.
        await mine.engine.sweep();
        expect(await containersOf(testEngine, mine.instanceId)).toHaveLength(1);
        await mine.engine.sweep({ own: true });
        await first.exited;
        await expectNoContainers(testEngine, mine.instanceId);
        expect(await containersOf(testEngine, other.instanceId)).toHaveLength(1);
        await second.kill();
      });
    });

    it('removes the sandbox of a bridge only after the bridge was killed', async () => {
      const { engine } = createEngine();
      const owner = await startOwner(testEngine);
      await engine.sweep();
      expect(await containersOf(testEngine, owner.instanceId)).toHaveLength(1);
      await owner.kill();
      await engine.sweep();
      // An engine without containers has nothing to sweep: the sandbox ends by itself.
      await expect.poll(() => containersOf(testEngine, owner.instanceId)).toHaveLength(0);
      // The client of the killed bridge ends when its container is gone.
      await expect.poll(() => findProcesses(owner.sandboxId)).toEqual([]);
    });

    it('leaks no descriptors over many starts', async () => {
      const { engine, instanceId } = createEngine();
      await (await startPython(engine, ECHO)).kill();
      const before = countDescriptors();
      for (let start = 1; start <= STARTS; start += 1) {
        const sandbox = await startPython(engine, ECHO);
        sandbox.stdout.resume();
        sandbox.stdin.write('hello\n');
        await sandbox.kill();
      }
      await expect.poll(countDescriptors).toBeLessThanOrEqual(before);
      await expectNoContainers(testEngine, instanceId);
    });
  });
}
