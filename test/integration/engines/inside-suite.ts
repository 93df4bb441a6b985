/** What code in a sandbox can and cannot do, tested from inside, on every engine. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ContainerEngineOptions } from '../../../src/edges/engines/container/container-engine.ts';
import { TEST_IMAGES, type TestEngine } from '../../support/engines.ts';
import { firstOutput, runPython, startPython } from '../../support/sandbox.ts';
import { createSuiteEngine } from './suite-engine.ts';

const PROBE = readFileSync(join(import.meta.dirname, '..', '..', 'fixtures', 'engines', 'probe.py'), 'utf8');

let nextImage = 0;

export function describeInside(testEngine: TestEngine): void {
  const createEngine = (options: Partial<ContainerEngineOptions> = {}) => createSuiteEngine(testEngine, options);

  describe('seen from inside', () => {
    it('has the documented limits', async () => {
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
        // The supervisor mounts with two capabilities in bubblewrap, and then drops them.
        capabilities: Array(5).fill(testEngine.isContainer ? '0000000000000000' : '0000000000200100'),
        no_new_privs: '1',
        hostname: 'sandbox',
        cwd: '/workspace',
        connects: [],
        writable: ['/tmp', '/workspace'],
        // bubblewrap cannot mount with `noexec`; the supervisor does.
        executable: testEngine.isContainer ? [] : ['/tmp', '/workspace'],
        tmp_mb: 64,
        workspace_mb: 128,
        shm_mb: 16,
        open_files: [1024, 1024],
        core: [0, 0],
      });
      expect(seen.interfaces.filter((name: string) => name === 'eth0' || name === 'tap0')).toEqual([]);
      expect(Number(seen.oom_score_adj)).toBeGreaterThanOrEqual(500);
    });

    it('sees no environment variables of the host', async () => {
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
      'is killed at the memory limit, and leaves no file in the working directory',
      async () => {
        const { engine } = createEngine();
        const run = await runPython(engine, 'x = bytearray(1 << 30)');
        expect(run.exit.exitCode).toBe(137);
        expect(existsSync(join(process.cwd(), 'oom'))).toBe(false);
      },
    );

    it.runIf(testEngine.isContainer)('ignores the settings of the image', async () => {
      const image = await commitHostileImage(testEngine);
      onTestFinished(async () => {
        await testEngine.run('rmi', image);
      });
      const { engine } = createEngine({ image });
      const code = 'import os\nprint(os.getuid(), os.getcwd(), os.access("/data", os.W_OK))\nopen("/workspace/x", "w")';
      expect(await runPython(engine, code)).toMatchObject({
        exit: { exitCode: 0 },
        stdout: '65534 /workspace False\n',
      });
    });

    it('does not use up the processes of another sandbox', async () => {
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
}

/** An image whose settings ask for another program, root, another folder and a volume. */
async function commitHostileImage(testEngine: TestEngine): Promise<string> {
  nextImage += 1;
  const name = `hostile-${process.pid}-${nextImage}`;
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
