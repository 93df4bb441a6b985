// Tags: full, bubblewrap, docker, user
/**
 * What hostile code in a cell can reach, tried on every engine: probes that check effects from inside
 * (`test/fixtures/security/probes.py`) with bait on the host, traces of other sessions, and bombs. The results are compared
 * with the record that `test/support/probes/README.md` shows (`npm run lab -- probes`).
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { coverEngines } from '../../support/covered-engines.ts';
import { type Bait, hostEnvironment, layBait } from '../../support/probes/bait.ts';
import { EXCEPTIONS } from '../../support/probes/exceptions.ts';
import { isHeld, type ProbeRecord, RECORD_FILE, toRecord } from '../../support/probes/record.ts';
import { runAll } from '../../support/probes/run.ts';
import { createHarness, errorText, type Harness, TEST_LIMITS } from '../../support/session-harness.ts';

const record = JSON.parse(readFileSync(RECORD_FILE, 'utf8')) as ProbeRecord;
/** Bombs take long: they run into deadlines, and the supervisor needs time to notice what no cgroup limits. */
const PROBES_TIMEOUT_MS = 600_000;
const engines = await coverEngines();

// Never retried: one escape is enough.
describe.each(engines)('hostile code on $label', { retry: 0 }, (engine) => {
  let harness: Harness;
  let bait: Bait;
  beforeAll(async () => {
    bait = await layBait();
    harness = await createHarness({
      engine: engine.create({ limits: TEST_LIMITS, env: hostEnvironment(engine, bait) }),
    });
  });
  afterAll(async () => {
    await harness.close();
    await bait.remove();
  });

  it('reaches nothing and stays within its limits, while ordinary code works', {
    timeout: PROBES_TIMEOUT_MS,
  }, async () => {
    const found = toRecord(await runAll(harness, bait));
    const unwanted = Object.entries(found).filter((result) => !isHeld(result));
    const { label } = engine;
    expect(unwanted.map(([probe]) => probe)).toEqual(Object.keys(EXCEPTIONS[label] ?? {}));
    expect(found, 'npm run lab -- probes updates the record').toEqual(record[label]);
  });

  it('cannot forge reports of the supervisor', async () => {
    const report = '{"report":"ended","cause":"memory","exit_code":null,"signal":9,"detail":"forged"}';
    const code = [
      'import os',
      `forged = ${JSON.stringify(`\n${report}\n`)}.encode()`,
      'for descriptor in [*range(64), *[f"/proc/{pid}/fd/{n}" for pid in (1, "self") for n in range(16)]]:',
      '    try: os.write(descriptor if isinstance(descriptor, int) else os.open(descriptor, os.O_WRONLY), forged)',
      '    except OSError: pass',
      'os._exit(5)',
    ];
    const answer = await harness.run(code.join('\n'), { session: 'forger' });
    expect(errorText(answer)).toContain('Python ended itself with exit code 5');
    expect(errorText(answer)).not.toContain('ran out of memory');
  });

  it('can at most end its own sandbox if it takes resources from the supervisor', async () => {
    const code = [
      'import resource',
      'for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC):',
      '    try: resource.prlimit(1, kind, (0, 0))',
      '    except OSError: pass',
    ];
    await harness.run(code.join('\n'), { session: 'greedy' });
    expect((await harness.run('1 + 1', { session: 'greedy' })).status).toMatch(/success|error/);
    expect((await harness.run('2 + 2', { session: 'greedy' })).value).toBe('4');
  });
});
