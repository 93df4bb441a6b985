// Tags: bubblewrap, user, cluster
/** The session suite and tests that need a real sandbox, on every engine of this machine. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDeferred } from '../../../src/core/base/deferred.ts';
import { describeSession } from '../../contract/session/suite.ts';
import { createItNeeds } from '../../support/capabilities.ts';
import { coverEngines } from '../../support/covered-engines.ts';
import { TEST_IMAGES } from '../../support/engines.ts';
import { signalSandbox } from '../../support/sandbox.ts';
import { createHarness, errorText, type Harness, TEST_LIMITS, textOf } from '../../support/session-harness.ts';
import { expectAnswersWhenFull } from './full-memory.ts';
import { describeProcesses } from './processes.ts';

const engines = await coverEngines();

for (const testEngine of engines) {
  // Made by .ci/build-images.sh; no registry has it.
  const isRequired = testEngine.isContainer && process.env['MCP_BRIDGE_TEST_REQUIRE_ENGINES'] === '1';
  const hasCompiled =
    isRequired ||
    (testEngine.isContainer && (await testEngine.run('image', 'inspect', TEST_IMAGES.compiled)).exitCode === 0);
  const create = () => testEngine.create({ limits: TEST_LIMITS });
  const { label, lacks } = testEngine;
  const itNeeds = createItNeeds(label, lacks);
  describeSession({ name: label, createEngine: create, isSupervised: true, lacks });

  describe(`sandbox of a session on ${testEngine.label}`, () => {
    let harness: Harness;
    beforeAll(async () => {
      harness = await createHarness({ engine: create() });
    });
    afterAll(() => harness.close());

    it('ends at the memory limit, says so, and the next cell works', async () => {
      const answer = await harness.run('b = []\nwhile True: b.append(bytearray(10_000_000))', { timeoutMs: 60_000 });
      // With cgroups, the kernel kills the process. Without, the data limit raises MemoryError and the state survives.
      expect(errorText(answer)).toMatch(/it ran out of memory \(limit 256 MiB\)|MemoryError/);
      expect((await harness.run('b = None\n1')).value).toBe('1');
    });

    it('answers later cells if variables fill the memory', () => expectAnswersWhenFull(harness));

    describeProcesses(() => harness, itNeeds);

    // `getpass.getuser()` raised KeyError on bubblewrap and for a user whom no image knows.
    it('has a name for each user', async () => {
      const other = await createHarness({ engine: testEngine.create({ limits: TEST_LIMITS, user: '4242:4242' }) });
      const names = await Promise.all([harness, other].map((one) => one.run('import getpass; getpass.getuser()')));
      await other.close();
      expect(names.map(({ value }) => value)).toEqual([
        expect.stringMatching(/^'\w+'$/),
        expect.stringMatching(/^'\w+'$/),
      ]);
    });

    it('is reported if it was ended from outside', async () => {
      const instanceId = `outside-${process.pid}-${testEngine.label}`;
      const other = await createHarness({ engine: testEngine.create({ limits: TEST_LIMITS, instanceId }) });
      await other.run('gone = 1');
      const printed = createDeferred<void>();
      const running = other.run('print("so far")\nimport time; time.sleep(30)', {
        onProgress: ({ message }) => message === 'so far' && printed.resolve(),
      });
      await printed.promise;
      await signalSandbox(testEngine, `mcp-bridge-${instanceId}-1`, 'KILL');
      const answer = await running;
      expect(errorText(answer)).toContain('SESSION_LOST');
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
