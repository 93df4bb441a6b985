/** The files of nightly runs, and one report for a run on several engines. */
import type { Report } from './report.ts';

const FILE = /^bench-\d{4}-\d{2}-\d{2}T[\d-]+Z\.json$/;

/** A name that sorts by time: two runs of one day are two files. */
export function nightlyFile({ measuredAt }: Report): string {
  return `bench-${measuredAt.replace(/\.\d+Z$/, 'Z').replaceAll(':', '-')}.json`;
}

/** The newest run among `names`, or undefined. */
export function latestFile(names: readonly string[]): string | undefined {
  return names
    .filter((name) => FILE.test(name))
    .toSorted()
    .at(-1);
}

/**
 * The reports of one run on several engines, in this order, as one. A row without an engine gets that of its report, except in
 * the first, whose rows may belong to no engine. Throws if there is no report.
 */
export function mergeReports(reports: readonly Report[], labels: readonly string[]): Report {
  const [first, last] = [reports[0], reports.at(-1)];
  if (first === undefined || last === undefined) {
    throw new Error('no engine is usable, so there is nothing to measure');
  }
  return {
    ...first,
    machine: { ...first.machine, engine: reports.map(({ machine }) => machine.engine).join('; ') },
    load: { begin: first.load.begin, end: last.load.end },
    rows: reports.flatMap(({ rows }, index) =>
      rows.map((row) => (index === 0 ? row : { engine: labels[index], ...row })),
    ),
  };
}
