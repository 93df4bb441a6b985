/**
 * `npm run lab -- probes`: tries on every engine of this machine what hostile code would try, and records the results for the table in
 * `test/support/probes/README.md`. Records of missing engines are kept. `MCP_BRIDGE_TEST_ENGINES` selects engines. Takes a few
 * minutes; a test compares every later run with the record.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findTestEngines, type TestEngine } from '../test/support/engines.ts';
import { hostEnvironment, layBait } from '../test/support/probes/bait.ts';
import { type ProbeRecord, RECORD_FILE, toRecord } from '../test/support/probes/record.ts';
import { type ProbeResult, runAll } from '../test/support/probes/run.ts';
import { createHarness, TEST_LIMITS } from '../test/support/session-harness.ts';

async function probe(engine: TestEngine): Promise<ProbeResult[]> {
  const bait = await layBait();
  const harness = await createHarness({
    engine: engine.create({ limits: TEST_LIMITS, env: hostEnvironment(engine, bait) }),
  });
  try {
    return await runAll(harness, bait);
  } finally {
    await harness.close();
    await bait.remove();
  }
}

const file = fileURLToPath(RECORD_FILE);
const record = JSON.parse(readFileSync(file, 'utf8')) as ProbeRecord;
const { engines, missing } = await findTestEngines();
missing.forEach((reason) => console.error(`not tried: ${reason}`));
for (const engine of engines) {
  console.error(`trying ${engine.label}`);
  const results = await probe(engine);
  record[engine.label] = toRecord(results);
  for (const { detail, got, group, name, wanted } of results) {
    console.log([engine.label, group, name, got, ...(got === wanted ? [] : ['OTHERWISE']), detail].join('  '));
  }
}
writeFileSync(file, `${JSON.stringify(record, undefined, 2)}\n`);
console.error('recorded; `npm run gen` writes the table');
