/**
 * `npm run bench`: measures the built command and prints one table. Every figure has a floor from the same run next to it,
 * because absolute times say more about the machine than about the bridge. No test depends on it.
 */
import { messageOf } from '../src/core/base/errors.ts';
import { createContext } from './context.ts';
import { parseOptions, USAGE } from './options.ts';
import { renderComparedReports } from './report/compare.ts';
import { describeReport, loadReport, saveReport } from './report/report.ts';
import { MEASURES, runMeasures, selectMeasures } from './run.ts';
import { renderTable } from './table.ts';

async function main(argv: readonly string[]): Promise<void> {
  const options = parseOptions(argv);
  if (options.isHelp) {
    console.log(`${USAGE}\nMeasures: ${MEASURES.map(({ name }) => name).join(', ')}`);
    return;
  }
  // Read first, so that a wrong file is reported before minutes of measuring.
  const earlier = options.compareFile === undefined ? undefined : await loadReport(options.compareFile);
  const report = await runMeasures(await createContext(options), selectMeasures(options.only), options.isQuick);
  console.log(`${describeReport(report)}\n\n${renderTable(report.rows)}`);
  if (options.saveFile !== undefined) {
    await saveReport(options.saveFile, report);
  }
  if (earlier !== undefined) {
    console.log(`\n${renderComparedReports(earlier, report)}`);
  }
}

// Reading certificates takes Node 80 ms at each start, and which programs get the variable differs.
delete process.env['NODE_EXTRA_CA_CERTS'];
// Of the tests; the bridge does not know it, and looks for similar settings, which takes 40 ms at each start.
delete process.env['MCP_BRIDGE_TEST_PATIENCE'];
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Every process started here reads its stdin, so it ends with this one.
  process.once(signal, () => process.exit(1));
}
try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
