/** Prints the results at the end of a run: one line per case and engine, one column per gate. */
import type { Reporter, TestModule } from 'vitest/node';
import { CASES_ELSEWHERE } from '../../faults/cases/all.ts';
import type { FaultReport } from './fault-case.ts';
import { GATE_IDS } from './gates.ts';

const MARKS = { ok: 'ok', 'not applicable': '–', failed: 'FAIL' } as const;

// vitest requires a default export for a reporter.
// oxlint-disable-next-line import/no-default-export
export default class FaultTable implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const reports = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test) => test.meta().fault ?? []),
    );
    if (reports.length > 0) {
      process.stderr.write(`\n${renderReports(reports)}\n`);
    }
  }
}

/** The table, the reasons for gates that were left out, and the cases that run elsewhere. */
function renderReports(reports: readonly FaultReport[]): string {
  const header = ['case', 'engine', ...GATE_IDS, 's', 'MiB', 'loop ms', 'p99 ms', 'other ms', 'before', 'what'];
  const rows = reports
    .toSorted((a, b) => a.engine.localeCompare(b.engine) || a.id.localeCompare(b.id))
    .map((report) => [
      report.id,
      report.engine,
      ...GATE_IDS.map((gate) => MARKS[report.gates[gate].state]),
      ...figuresOf(report),
      report.title,
    ]);
  const reasons = new Set(
    reports.flatMap(({ id, gates }) =>
      GATE_IDS.flatMap((gate) => {
        const result = gates[gate];
        return result.state === 'ok' ? [] : [`${id} ${gate} ${result.state}: ${result.why}`];
      }),
    ),
  );
  const elsewhere = CASES_ELSEWHERE.map(({ id, title, where }) => `${id} ${title}: ${where}`);
  return [inColumns([header, ...rows]), ...reasons, ...elsewhere].join('\n');
}

function figuresOf({ figures }: FaultReport): string[] {
  const { seconds, growthMib, loopMaxMs, loopP99Ms, neighbourMs, neighbourBeforeMs } = figures;
  return [seconds.toFixed(1), ...[growthMib, loopMaxMs, loopP99Ms, neighbourMs, neighbourBeforeMs].map(rounded)];
}

function rounded(figure: number | undefined): string {
  return figure === undefined ? '–' : String(Math.round(figure));
}

function inColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}
