/** The table of similar programs: what is shown for those that lack something or failed, and how hits are counted. */
import { expect, it } from 'vitest';
import { recallOf } from '../../../bench/neighbours/search.ts';
import { renderNeighbours, renderPython } from '../../../bench/neighbours/table.ts';

const other = {
  name: 'other',
  packages: { other: '1.2.3', more: '9.9.9' },
  licence: 'MIT',
  language: 'Lua',
  isolation: 'none',
};

it('the table shows the version of the program, its medians, and a line for what it lacks', () => {
  const text = renderNeighbours(
    [{ neighbour: other, tokens: 1_234, medians: { start: 12.34, first: 5 }, recall: 0.756 }],
    ['load 1.0', 'medians of 5 starts'],
  );
  expect(text.split('\n')[0]).toBe('load 1.0; medians of 5 starts');
  expect(text.split('\n').at(-1)).toBe('| other 1.2.3, MIT | Lua | none | 1,234 | 12.3 | 5 | – | – | – | – | 76 % |');
});

it('a program that failed has its reason in the table', () => {
  const text = renderNeighbours([{ neighbour: other, reason: 'no such file', medians: {} }], []);
  expect(text).toContain('| not measured: no such file | – |');
});

it('hits are counted by the position of the query, and a query without hits counts as missed', () => {
  const query = (text: string, tool: string) => ({ query: text, kind: 'keyword', groups: [[tool]] });
  const queries = [query('one', 'a'), query('two', 'b'), query('three', 'c'), query('four', 'd')];
  expect(recallOf(queries, [['x', 'a'], ['b'], ['x']])).toBe(0.5);
});

it('the table of Python has whether state stays and how many behaviours hold', () => {
  const text = renderPython([{ neighbour: other, medians: { warm: 1 }, hasState: false, held: 131 }], [], 200);
  expect(text.split('\n')[2]).toContain('| State | Of 200 |');
  expect(text.split('\n').at(-1)).toBe('| other 1.2.3, MIT | Lua | none | – | – | – | 1 | – | – | – | none | 131 |');
});
