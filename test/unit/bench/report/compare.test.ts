/** Comparing two runs of the benchmark: what counts as a difference, and what cannot be compared. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { compareReports, READING_RULE, renderComparedReports } from '../../../../bench/report/compare.ts';
import { createReport, loadReport, machineFacts, type Report, saveReport } from '../../../../bench/report/report.ts';
import type { Row, Unit } from '../../../../bench/rows.ts';

const IDLE = { begin: [0.1, 0.1, 0.1], end: [1, 0.5, 0.2] } satisfies Report['load'];
const BUSY = { begin: [6, 5, 4], end: [7, 5, 4] } satisfies Report['load'];

function row(value: number | undefined, floor?: number, unit: Unit = 'ms'): Row {
  return {
    figure: 'a cell',
    engine: 'docker',
    measured: value === undefined ? undefined : { value, unit },
    floor: floor === undefined ? undefined : { value: floor, unit, what: 'a pipe' },
    goals: [],
  };
}

const reportOf = (rows: readonly Row[], load: Report['load'] = IDLE): Report =>
  createReport({ machine: machineFacts('docker'), load, isQuick: false }, rows, 'abc');

const verdictOf = (before: Row, after: Row, load = IDLE) =>
  compareReports(reportOf([before]), reportOf([after], load))[0];

describe('two runs', () => {
  it('are the same if figure and floor doubled together', () => {
    expect(verdictOf(row(1, 0.5), row(2, 1), BUSY)).toMatchObject({ factor: 1, floorFactor: 2, verdict: 'same' });
  });

  it('differ if the ratio to the floor changed, even if the times did not', () => {
    expect(verdictOf(row(1, 0.5), row(1, 0.25))).toMatchObject({ factor: 2, verdict: 'worse' });
    expect(verdictOf(row(1, 0.5), row(1, 1))).toMatchObject({ factor: 0.5, verdict: 'better' });
  });

  it('are the same within the noise', () => {
    expect(verdictOf(row(1, 1), row(1.2, 1))).toMatchObject({ verdict: 'same' });
  });

  it('are not judged by times without a floor if one of them was taken under load', () => {
    expect(verdictOf(row(1), row(3), BUSY)).toMatchObject({ verdict: 'unclear' });
    expect(verdictOf(row(1), row(3))).toMatchObject({ verdict: 'worse' });
  });

  it('are judged by sizes without a floor on any machine', () => {
    expect(verdictOf(row(100, undefined, 'tokens'), row(200, undefined, 'tokens'), BUSY)?.verdict).toBe('worse');
  });

  it('are better if a rate is higher', () => {
    expect(verdictOf(row(1_000, 2_000, 'calls/s'), row(2_000, 2_000, 'calls/s'))?.verdict).toBe('better');
  });

  it('report figures that are new, gone, or not measured', () => {
    const [one, other] = [row(1), { ...row(1), figure: 'another' }];
    expect(compareReports(reportOf([one]), reportOf([other])).map(({ verdict }) => verdict)).toEqual(['new', 'gone']);
    expect(verdictOf(row(undefined), row(1))).toMatchObject({ verdict: 'not measured' });
    expect(compareReports(reportOf([one]), reportOf([{ ...one, engine: 'podman' }]))).toHaveLength(2);
  });
});

it('the table names both runs and says how to read it', () => {
  const text = renderComparedReports(reportOf([row(1, 0.5)]), reportOf([row(4, 1)], BUSY));
  expect(text).toContain('| a cell | docker | 1 ms | 4 ms | × 2.00 | × 2.00 | **worse** |');
  expect(text).toContain('load 6.0 at the start, 7.0 at the end');
  expect(text).toContain(READING_RULE);
});

it('a saved report is read back, and another file is refused by name', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-report-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'new', 'one.json');
  const report = reportOf([row(1, 0.5), row(undefined)]);
  await saveReport(file, report);
  expect(await loadReport(file)).toEqual(report);
  const other = join(folder, 'other.json');
  writeFileSync(other, '{"rows": []}');
  await expect(loadReport(other)).rejects.toThrow(`${other} is not a file that`);
});
