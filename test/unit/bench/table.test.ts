/** The table of the benchmark: the text of rows, and whether goals are met. */
import { describe, expect, it } from 'vitest';
import { atLeastTimes, atMost, atMostMore, atMostTimes, type Row, rowsOrReason } from '../../../bench/rows.ts';
import { renderTable } from '../../../bench/table.ts';

const measured = { value: 0.5, unit: 'ms' } as const;
const floor = { value: 0.1, unit: 'ms' } as const;

function cellsOf(row: Row): string[] {
  const line = renderTable([row]).split('\n')[2] ?? '';
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

describe('a row', () => {
  it('shows the figure, its engine, its floor, their ratio and each goal', () => {
    const goals = [atMost(measured, 1), atMostTimes(measured, floor, 4)];
    const cells = cellsOf({
      figure: 'f',
      engine: 'docker',
      measured,
      detail: 'p95 1 ms',
      floor: { ...floor, what: 'pipe' },
      goals,
    });
    expect(cells).toEqual([
      'f',
      'docker',
      '0.50 ms, p95 1 ms',
      '0.10 ms (pipe)',
      '5',
      '≤ 1 ms, ≤ 4 × floor',
      'yes, **no**',
    ]);
  });

  it('gives the reason for a missing figure on one line', async () => {
    const [row] = await rowsOrReason('f', () => Promise.reject(new Error('needs\nan engine')));
    expect(row && cellsOf(row)).toEqual(['f', '–', 'not measured: needs an engine', '–', '–', '–', '–']);
  });
});

describe('a goal', () => {
  it('is met at its limit', () => {
    expect(atMost(measured, 0.5)).toEqual({ text: '≤ 0.5 ms', isMet: true });
    expect(atMostTimes(measured, floor, 5).isMet).toBe(true);
    expect(atMostMore(measured, floor, 0.4)).toEqual({ text: '≤ floor + 0.4 ms', isMet: true });
    expect(atLeastTimes(measured, floor, 5).isMet).toBe(true);
  });

  it('is missed beyond its limit', () => {
    expect(atMost(measured, 0.49).isMet).toBe(false);
    expect(atMostTimes(measured, floor, 4.9).isMet).toBe(false);
    expect(atMostMore(measured, floor, 0.39).isMet).toBe(false);
    expect(atLeastTimes(measured, floor, 5.1).isMet).toBe(false);
  });
});
