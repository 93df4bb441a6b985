/** What every engine has to hold; each one runs the whole list. Adds no case of one engine alone. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ContainerEngineOptions } from '../../../src/engines/container-engine.ts';
import type { Engine } from '../../../src/engines/engine.ts';
import { TEST_IMAGES, type TestEngine } from '../../support/engines.ts';
import {
  containersOf,
  countDescriptors,
  findProcesses,
  firstOutput,
  runPython,
  startOwner,
  startPython,
} from '../../support/sandbox.ts';

const ECHO = 'import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.flush()';
/** Does not notice that its host is gone. */
const STUBBORN = 'import time\nprint("ready")\ntime.sleep(600)';
const PROBE = readFileSync(join(import.meta.dirname, '..', '..', 'fixtures', 'engines', 'probe.py'), 'utf8');
const STARTS = 30;

let nextInstance = 0;

export function describeEngine(testEngine: TestEngine): void {
  /** An engine of which nothing may be left when the test ends. */
  function createEngine(options: Partial<ContainerEngineOptions> = {}): { engine: Engine; instanceId: string } {
    nextInstance += 1;
    const instanceId = `suite-${process.pid}-${nextInstance}`;
    const engine = testEngine.create({ instanceId, ...options });
    onTestFinished(async () => {
      await engine.sweep({ own: true });
    });
    return { engine, instanceId };
  }

  describe(`on ${testEngine.label}`, () => {
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

      it('keeps stderr apart and tells the exit code', async () => {
        const { engine } = createEngine();
        const run = await runPython(engine, 'import sys; print("out"); print("err", file=sys.stderr); sys.exit(7)');
        expect(run.exit.exitCode).toBe(7);
        expect(run.stdout).toBe('out\n');
        expect(run.stderr).toContain('err\n');
      });

      it('carries 64 MiB out and keeps it whole', async () => {
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

    describe('seen from inside', () => {
      it('has the promised bounds', async () => {
        const { engine } = createEngine({
          env: { ...testEngine.env, HTTP_PROXY: 'http://user:password@proxy.example', SECRET: 's' },
        });
        const run = await runPython(engine, PROBE);
        expect(run).toMatchObject({ exit: { exitCode: 0 } });
        const seen = JSON.parse(run.stdout);
        expect(seen).toMatchObject({
          uid: 65534,
          gid: 65534,
          pid: 1,
          capabilities: Array(5).fill('0000000000000000'),
          no_new_privs: '1',
          hostname: 'sandbox',
          cwd: '/workspace',
          connects: [],
          writable: ['/tmp', '/workspace'],
          executable: [],
          tmp_mb: 64,
          workspace_mb: 128,
          shm_mb: 16,
          open_files: [1024, 1024],
          core: [0, 0],
        });
        expect(seen.interfaces.filter((name: string) => name === 'eth0' || name === 'tap0')).toEqual([]);
        expect(Number(seen.oom_score_adj)).toBeGreaterThanOrEqual(500);
      });

      it('sees nothing of the environment of the host', async () => {
        const secrets = {
          HTTP_PROXY: 'http://user:password@proxy.example',
          https_proxy: 'http://p',
          API_TOKEN: 'secret',
        };
        const { engine } = createEngine({ env: { ...testEngine.env, ...secrets } });
        const { environment } = JSON.parse((await runPython(engine, PROBE)).stdout);
        expect(environment).toMatchObject({
          HOME: '/workspace',
          PYTHONUNBUFFERED: '1',
          PYTHONIOENCODING: 'utf-8',
          PYTHONDONTWRITEBYTECODE: '1',
        });
        expect(JSON.stringify(environment)).not.toMatch(/password|secret|proxy\.example|http:/);
        expect(environment.API_TOKEN).toBeUndefined();
      });

      it.runIf(testEngine.hasCgroupLimits)('has the memory and pids limits in its cgroup', async () => {
        const { engine } = createEngine();
        const seen = JSON.parse((await runPython(engine, PROBE)).stdout);
        expect(seen.memory_limit).toBe(String(512 * 1024 * 1024));
        expect(seen.pids_limit).toBe('128');
      });

      it.runIf(testEngine.hasCgroupLimits)(
        'is ended at the memory limit, and leaves no file where the host runs',
        async () => {
          const { engine } = createEngine();
          const run = await runPython(engine, 'x = bytearray(1 << 30)');
          expect(run.exit.exitCode).toBe(137);
          expect(existsSync(join(process.cwd(), 'oom'))).toBe(false);
        },
      );

      it('is not surprised by what an image declares', async () => {
        const image = await commitHostileImage(testEngine);
        onTestFinished(async () => {
          await testEngine.run('rmi', image);
        });
        const { engine } = createEngine({ image });
        const code =
          'import os\nprint(os.getuid(), os.getcwd(), os.access("/data", os.W_OK))\nopen("/workspace/x", "w")';
        expect(await runPython(engine, code)).toMatchObject({
          exit: { exitCode: 0 },
          stdout: '65534 /workspace False\n',
        });
      });

      it('does not block another sandbox with its processes', async () => {
        const { engine } = createEngine();
        const fill =
          'import threading, time\nfor _ in range(100): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint("full", flush=True)\ninput()';
        const full = await startPython(engine, fill);
        expect(await firstOutput(full)).toMatch(/^full/);
        const other = await startPython(engine, fill);
        expect(await firstOutput(other)).toMatch(/^full/);
        await Promise.all([full.kill(), other.kill()]);
      });
    });

    describe('ending', () => {
      const states: [string, string][] = [
        ['idle at the pipe', `print("ready")\n${ECHO}`],
        [
          'busy and deaf to signals',
          'import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\nprint("ready")\nwhile True: pass',
        ],
        [
          'flooding a stdout that nobody reads',
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
        expect(await containersOf(testEngine, instanceId)).toEqual([]);
        expect(findProcesses(sandbox.id)).toEqual([]);
      });

      it('a sandbox that is stopped', async () => {
        const { engine, instanceId } = createEngine();
        const sandbox = await startPython(engine, STUBBORN);
        await firstOutput(sandbox);
        await testEngine.run('kill', '--signal=STOP', sandbox.id);
        await sandbox.kill();
        expect(await containersOf(testEngine, instanceId)).toEqual([]);
      });

      it('a sandbox that has not come up yet', async () => {
        const { engine, instanceId } = createEngine();
        const sandbox = await startPython(engine, ECHO);
        await sandbox.kill();
        expect(await containersOf(testEngine, instanceId)).toEqual([]);
      });

      it('with megabytes still queued for a sandbox that does not read', async () => {
        const { engine, instanceId } = createEngine();
        const sandbox = await startPython(engine, STUBBORN);
        await firstOutput(sandbox);
        sandbox.stdin.write(Buffer.alloc(16 * 1024 * 1024));
        await sandbox.kill();
        expect(await containersOf(testEngine, instanceId)).toEqual([]);
      });

      it('is noticed when the container is removed from outside', async () => {
        const { engine } = createEngine();
        const sandbox = await startPython(engine, STUBBORN);
        await firstOutput(sandbox);
        await testEngine.run('rm', '--force', sandbox.id);
        const exit = await sandbox.exited;
        expect(exit.exitCode).not.toBe(0);
        await sandbox.kill();
      });

      it('is noticed when the client of the engine is killed, and takes the container along', async () => {
        const { engine, instanceId } = createEngine();
        const sandbox = await startPython(engine, STUBBORN);
        await firstOutput(sandbox);
        const [client] = findProcesses(`--name=${sandbox.id}`);
        process.kill(client ?? Number.NaN, 'SIGKILL');
        expect(await sandbox.exited).toEqual({ exitCode: undefined, signal: 'SIGKILL' });
        await sandbox.kill();
        expect(await containersOf(testEngine, instanceId)).toEqual([]);
        expect(findProcesses(sandbox.id)).toEqual([]);
      });
    });

    describe('a start that fails', () => {
      async function explain(options: Partial<ContainerEngineOptions>, program = 'python3') {
        const { engine, instanceId } = createEngine(options);
        const sandbox = await engine.start({ command: [program, '-c', 'pass'], session: 'test' });
        const stderr: Buffer[] = [];
        sandbox.stdout.resume();
        sandbox.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
        const exit = await sandbox.exited;
        await sandbox.kill();
        expect(await containersOf(testEngine, instanceId)).toEqual([]);
        return engine.explainStartFailure(sandbox, exit, Buffer.concat(stderr).toString('utf8'));
      }

      it('names the command that brings a missing image', async () => {
        const error = await explain({ image: 'no-such-image:1' });
        expect(error.code).toBe('IMAGE_MISSING');
        expect(error.hint).toContain(
          testEngine.name === 'podman'
            ? 'podman pull docker.io/library/no-such-image:1'
            : 'docker pull no-such-image:1',
        );
        expect(error.data['retryNow']).toBe(false);
      });

      it('offers another round when a missing image may be pulled', async () => {
        const error = await explain({ image: 'no-such-image:1', pullPolicy: 'missing' });
        expect(error.data['retryNow']).toBe(true);
      });

      it('says that the image has no Python', async () => {
        const error = await explain({}, 'python0');
        expect(error.code).toBe('IMAGE_UNSUITABLE');
      });

      it('says what the engine said about anything else', async () => {
        const error = await explain({ user: '9999999999:9999999999' });
        expect(error.code).toBe('ENGINE_FAILED');
        expect(error.message).toMatch(/9999999999|range/);
      });
    });

    describe('sweeping', () => {
      it('removes own sandboxes when told to, and none of a living other bridge', async () => {
        const mine = createEngine();
        const other = createEngine();
        const [first, second] = await Promise.all([
          startPython(mine.engine, STUBBORN),
          startPython(other.engine, STUBBORN),
        ]);
        await Promise.all([firstOutput(first), firstOutput(second)]);
        // How many are removed besides is not ours to say: other bridges may have died on this machine.
        await mine.engine.sweep();
        expect(await containersOf(testEngine, mine.instanceId)).toHaveLength(1);
        await mine.engine.sweep({ own: true });
        await first.exited;
        expect(await containersOf(testEngine, mine.instanceId)).toEqual([]);
        expect(await containersOf(testEngine, other.instanceId)).toHaveLength(1);
        await second.kill();
      });
    });

    it('removes the sandbox of a bridge that was killed, and not before it was', async () => {
      const { engine } = createEngine();
      const owner = await startOwner(testEngine);
      await engine.sweep();
      expect(await containersOf(testEngine, owner.instanceId)).toHaveLength(1);
      await owner.kill();
      await engine.sweep();
      expect(await containersOf(testEngine, owner.instanceId)).toEqual([]);
      // The client of the killed bridge ends when it has seen its container go.
      await expect.poll(() => findProcesses(owner.sandboxId)).toEqual([]);
    });

    it('leaves no descriptor open over many starts', async () => {
      const { engine, instanceId } = createEngine();
      await (await startPython(engine, ECHO)).kill();
      const before = countDescriptors();
      for (let start = 1; start <= STARTS; start += 1) {
        const sandbox = await startPython(engine, ECHO);
        sandbox.stdout.resume();
        sandbox.stdin.write('hello\n');
        await sandbox.kill();
      }
      await wait(0);
      expect(countDescriptors()).toBeLessThanOrEqual(before);
      expect(await containersOf(testEngine, instanceId)).toEqual([]);
    });
  });
}

/** An image that would run something else, as root, elsewhere, with a volume and a health check, if it were asked. */
async function commitHostileImage(testEngine: TestEngine): Promise<string> {
  nextInstance += 1;
  const name = `hostile-${process.pid}-${nextInstance}`;
  const changes = [
    'ENTRYPOINT ["/bin/false"]',
    'CMD ["/bin/false"]',
    'USER 0',
    'WORKDIR /root',
    'VOLUME /data',
    'ENV HOME=/root',
  ];
  await testEngine.run('create', `--name=${name}`, '--network=none', TEST_IMAGES.slim, 'true');
  const image = `localhost/${name}:1`;
  await testEngine.run('commit', ...changes.map((change) => `--change=${change}`), name, image);
  await testEngine.run('rm', name);
  return image;
}
