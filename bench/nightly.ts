/**
 * `npm run lab -- nightly [--folder FOLDER] [--quick]`: the whole table on every usable engine, saved under the date and
 * compared with the last run in the folder.
 */
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { messageOf } from '../src/core/base/errors.ts';
import { PACKAGE_ROOT } from '../src/core/base/package.ts';
import { findTestEngines } from '../test/support/engines.ts';
import { createContext } from './context.ts';
import { parseOptions } from './options.ts';
import { renderComparedReports } from './report/compare.ts';
import { latestFile, mergeReports, nightlyFile } from './report/nightly-files.ts';
import { describeReport, loadReport, type Report, saveReport } from './report/report.ts';
import { MEASURES, runMeasures } from './run.ts';
import { renderTable } from './table.ts';

const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: fileURLToPath(new URL('bench-results/', PACKAGE_ROOT)) },
    quick: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  const { folder } = values;
  await mkdir(folder, { recursive: true });
  const last = latestFile(await readdir(folder));
  const { engines, missing } = await findTestEngines();
  missing.forEach((reason) => console.error(`not measured: ${reason}`));
  const reports: Report[] = [];
  for (const { label } of engines) {
    console.error(`engine: ${label}`);
    const options = parseOptions(['--engine', label, ...(values.quick ? ['--quick'] : [])]);
    const measures = MEASURES.filter(({ isForAllEngines }) => reports.length === 0 || isForAllEngines !== true);
    reports.push(await runMeasures(await createContext(options), measures, values.quick));
  }
  const report = mergeReports(
    reports,
    engines.map(({ label }) => label),
  );
  const file = join(folder, nightlyFile(report));
  await saveReport(file, report);
  console.log(`${describeReport(report)}\n\n${renderTable(report.rows)}\n\nsaved as ${file}`);
  if (last !== undefined) {
    console.log(`\ncompared with ${last}\n\n${renderComparedReports(await loadReport(join(folder, last)), report)}`);
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(1));
}
try {
  await main();
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
