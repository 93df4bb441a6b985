/** The files of nightly runs: which one is the last, and one report for several engines. */
import { describe, expect, it } from 'vitest';
import { latestFile, mergeReports, nightlyFile } from '../../../../bench/report/nightly-files.ts';
import { createReport, machineFacts } from '../../../../bench/report/report.ts';

const load = { begin: [1, 1, 1], end: [2, 2, 2] } as const;
const reportOf = (engine: string, ...figures: string[]) =>
  createReport(
    { machine: machineFacts(engine), load: { begin: [...load.begin], end: [...load.end] }, isQuick: true },
    figures.map((figure) => ({ figure, goals: [] })),
    'abc',
  );

describe('the files', () => {
  it('sort by time, and other files do not count', () => {
    const report = { ...reportOf('docker'), measuredAt: '2026-11-26T10:39:32.123Z' };
    const file = nightlyFile(report);
    expect(file).toBe('bench-2026-11-26T10-39-32Z.json');
    expect(latestFile(['zzz.json', file, 'bench-2026-11-25T23-00-00Z.json', 'bench-notes.txt'])).toBe(file);
    expect(latestFile(['notes.txt'])).toBeUndefined();
  });
});

describe('one report for several engines', () => {
  it('keeps the rows of each engine apart', () => {
    const merged = mergeReports([reportOf('docker 1', 'a', 'b'), reportOf('bwrap 2', 'a')], ['docker', 'bubblewrap']);
    expect(merged.rows.map(({ figure, engine }) => [figure, engine])).toEqual([
      ['a', undefined],
      ['b', undefined],
      ['a', 'bubblewrap'],
    ]);
    expect(merged.machine.engine).toBe('docker 1; bwrap 2');
  });

  it('needs an engine', () => {
    expect(() => mergeReports([], [])).toThrow('no engine is usable');
  });
});
