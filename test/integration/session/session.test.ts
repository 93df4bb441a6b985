/** The session suite, and what only a sandbox can show, on every engine of this machine. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeSession } from '../../contract/session/suite.ts';
import { coverEngines } from '../../support/covered-engines.ts';
import { TEST_IMAGES } from '../../support/engines.ts';
import { signalSandbox } from '../../support/sandbox.ts';
import { createHarness, type Harness, TEST_LIMITS, textOf } from '../../support/session-harness.ts';

const engines = await coverEngines();

for (const testEngine of engines) {
  // Made by .ci/build-images.sh; no registry has it.
  const isRequired = testEngine.isContainer && process.env['MCP_BRIDGE_TEST_REQUIRE_ENGINES'] === '1';
  const hasCompiled =
    isRequired ||
    (testEngine.isContainer && (await testEngine.run('image', 'inspect', TEST_IMAGES.compiled)).exitCode === 0);
  const create = () => testEngine.create({ limits: TEST_LIMITS });
  describeSession({ name: testEngine.label, createEngine: create, isSupervised: true });

  describe(`sandbox of a session on ${testEngine.label}`, () => {
    let harness: Harness;
    beforeAll(async () => {
      harness = await createHarness({ engine: create() });
    });
    afterAll(() => harness.close());

    it('ends at the memory limit, says so, and the next cell works', async () => {
      const answer = await harness.run('b = []\nwhile True: b.append(bytearray(10_000_000))', { timeoutMs: 60_000 });
      // With cgroups the kernel ends the process; without, the data limit raises MemoryError and the state stays.
      expect(answer.error).toMatch(/it ran out of memory \(limit 256 MiB\)|MemoryError/);
      expect((await harness.run('b = None\n1')).value).toBe('1');
    });

    it('holds the memory of many processes together', async () => {
      const code = [
        'import os, time',
        'for _ in range(8):',
        '    if os.fork() == 0:',
        '        block = b"x" * 60_000_000',
        '        time.sleep(60)',
        '        os._exit(0)',
        'time.sleep(2)',
        'total = 0',
        'for entry in os.listdir("/proc"):',
        '    try: total += int(open(f"/proc/{entry}/smaps_rollup").read().split("Pss:")[1].split()[0]) * 1024',
        '    except (OSError, IndexError): pass',
        'total < 280_000_000',
      ];
      const answer = await harness.run(code.join('\n'), { session: 'many', timeoutMs: 30_000 });
      expect(answer.value ?? answer.error).toMatch(/True|out of memory/);
    });

    it('holds a fork bomb', async () => {
      const code = 'import os\nwhile True:\n    try: os.fork()\n    except OSError: pass';
      const answer = await harness.run(code, { session: 'bomb', timeoutMs: 2_000 });
      expect(['timeout', 'error']).toContain(answer.status);
      expect((await harness.run('1', { session: 'bomb' })).value).toBe('1');
    });

    it('gives cells no way to the supervisor', async () => {
      const code = [
        'import os, ctypes',
        'tried = []',
        'for path in ("/proc/1/mem", "/proc/1/fd/2", "/proc/1/environ"):',
        '    try: os.open(path, os.O_RDWR); tried.append(path)',
        '    except OSError: pass',
        'libc = ctypes.CDLL(None, use_errno=True)',
        'tried += [n for n, r in (("ptrace", libc.ptrace(16, 1, 0, 0)), ("unshare", libc.unshare(0x10000000))) if r != -1]',
        'try: os.kill(1, 9)',
        'except OSError: pass',
        'tried',
      ];
      expect((await harness.run(code.join('\n'))).value).toBe('[]');
    });

    it('is told when it was ended from outside', async () => {
      const instanceId = `outside-${process.pid}-${testEngine.label}`;
      const other = await createHarness({ engine: testEngine.create({ limits: TEST_LIMITS, instanceId }) });
      await other.run('gone = 1');
      const running = other.run('print("so far")\nimport time; time.sleep(30)');
      await new Promise((resolve) => setTimeout(resolve, 300));
      await signalSandbox(testEngine, `mcp-bridge-${instanceId}-1`, 'KILL');
      const answer = await running;
      expect(answer.error).toContain('SESSION_LOST');
      expect(textOf(answer.stdout)).toBe('so far\n');
      expect((await other.run('1')).notices[0]).toContain('variables gone');
      await other.close();
    });

    const isMissing = testEngine.isContainer && !hasCompiled;
    const notCovered = isMissing ? `not covered: ${testEngine.label}: no image ${TEST_IMAGES.compiled}: ` : '';
    it.skipIf(!hasCompiled)(`${notCovered}starts from an image with compiled files as well`, async () => {
      const other = await createHarness({
        engine: testEngine.create({ image: TEST_IMAGES.compiled, limits: TEST_LIMITS }),
      });
      try {
        expect((await other.run('1 + 1')).value).toBe('2');
      } finally {
        await other.close();
      }
    });
  });
}
