/** Texts of data frames, as pandas writes them, become tables; anything that is not certain stays text. */
import { describe, expect, it } from 'vitest';
import { readFrame } from '../../../../../src/record/ui/page/chat/frame-table.ts';
import { cpuTimeOf } from '../../../../support/cpu-time.ts';

const table = (text: string) => {
  const frame = readFrame(text);
  return frame && [frame.columns.map(({ title }) => title), ...frame.rows];
};

describe('a table', () => {
  it.each([
    [
      'numbers and text',
      'DataFrame, 2 rows × 3 columns (object, int64, float64)\n' +
        '         city   people  share\n' +
        '0      Berlin  3677472   -0.5\n' +
        '1    New York  8804190    1.0',
      [
        ['', 'city', 'people', 'share'],
        ['0', 'Berlin', '3677472', '-0.5'],
        ['1', 'New York', '8804190', '1.0'],
      ],
    ],
    [
      'negative numbers',
      'DataFrame, 2 rows × 2 columns\n   a  b\n0 -1  2\n1  3 -4',
      [
        ['', 'a', 'b'],
        ['0', '-1', '2'],
        ['1', '3', '-4'],
      ],
    ],
    [
      'a named index',
      'DataFrame, 2 rows × 1 column (int64)\n      n\nname   \nx     1\nyy    2',
      [
        ['name', 'n'],
        ['x', '1'],
        ['yy', '2'],
      ],
    ],
    [
      'rows left out',
      'DataFrame, 1,000 rows × 1 column (int64)\n       n\n0      0\n..   ...\n999  999',
      [
        ['', 'n'],
        ['0', '0'],
        ['..', '...'],
        ['999', '999'],
      ],
    ],
  ])('of %s', (_name, text, expected) => {
    expect(table(text)).toEqual(expected);
  });

  it('knows which columns are numbers', () => {
    const frame = readFrame('DataFrame, 1 row × 2 columns (b: Int64)\n   a  b\n0  x  1');
    expect(frame?.columns.map(({ isNumber }) => isNumber)).toEqual([false, false, true]);
    expect(frame?.heading).toBe('DataFrame, 1 row × 2 columns (b: Int64)');
  });
});

describe('no table', () => {
  it.each([
    ['other text', 'hello'],
    ['nothing', ''],
    ['a heading alone', 'DataFrame, 0 rows × 1 column (int64)'],
    ['a remark', "DataFrame, 1 row × 1 column; its name contains ';': read it with sep=';'\n  a;b;c\n0 1;2;3"],
    ['two names that could be one', 'DataFrame, 1 row × 1 column (int64)\n   a  b\n0     1'],
    ['a header with the name of the columns', 'DataFrame, 1 row × 1 column (int64)\naxis  b\n0     1'],
    [
      'a list of columns left out',
      'DataFrame, 1 row × 30 columns (int64 × 30)\nColumns not shown: b\n   a  ...\n0  1  ...',
    ],
    ['a row that is longer', 'DataFrame, 1 row × 1 column (int64)\n   a\n0  1 2'],
    ['a value across an edge', 'DataFrame, 1 row × 2 columns (int64, int64)\n   a  b\n0  1234'],
    ['two blank places before the first column', 'DataFrame, 1 row × 1 column (object)\n      a\nx y z'],
    ['a blank place in every value', 'DataFrame, 2 rows × 1 column (object)\n       a\n0  x   y\n1  z   y'],
    ['columns left out', 'DataFrame, 1 row × 3 columns (int64, int64, int64)\n   a  ...  c\n0  1  ...  3'],
    ['another number of names', 'DataFrame, 1 row × 2 columns (int64)\n   a\n0  1'],
    ['text that was cut', 'DataFrame, 2 rows × 1 column (int64)\n   a\n[… 200 characters left out …]\n1  2'],
  ])('of %s', (_name, text) => {
    expect(readFrame(text)).toBeUndefined();
  });

  it('a long hostile text takes no long time', () => {
    const text = `DataFrame, 1 row × 16 columns (int64 × 16)\n${' a'.repeat(100_000)}\n${' '.repeat(200_000)}`;
    expect(cpuTimeOf(() => readFrame(text))).toBeLessThan(5_000);
  });
});
