/** The documented behaviours of Python: the list is whole, and its checks cannot be passed by accident. */
import { expect, it } from 'vitest';
import { type Behaviour, findMissing, holds, readBehaviours } from '../../../bench/neighbours/behaviours.ts';

const behaviours = await readBehaviours();

function behaviour(part: Partial<Behaviour>): Behaviour {
  return { name: 'some', before: [], cell: 'x', after: [], matches: [/x/], matchesNot: [], ...part };
}

it('there are 200, each with a name of its own, a cell and a check', () => {
  expect(behaviours).toHaveLength(200);
  expect(new Set(behaviours.map(({ name }) => name)).size).toBe(200);
  expect(behaviours.filter(({ cell, matches }) => cell === '' || matches.length === 0)).toEqual([]);
});

it.each([
  ['nothing', () => ''],
  ['the cell, as part of an error', ({ cell }: Behaviour) => `Error: cannot run this\n${cell}`],
  ['the last line, as part of an error', ({ cell }: Behaviour) => `failed at line '${cell.split('\n').at(-1)}'`],
  ['a word', () => 'undefined'],
  ['a next step', () => "No module named 'x': display(value) needs no import; it shows an object as data"],
])('no check is passed by %s', (_, answer) => {
  expect(behaviours.filter((each) => holds(each, answer(each))).map(({ name }) => name)).toEqual([]);
});

it('a text is checked without the colours of terminals', () => {
  expect(holds(behaviour({ matches: [/^a b$/m], matchesNot: [/c/] }), '\u001b[0;31ma\u001b[0m b')).toBe(true);
  expect(holds(behaviour({ matches: [/a/], matchesNot: [/b/] }), 'a b')).toBe(false);
});

it('cells before and after are run, and a session that has ended is replaced', async () => {
  const seen: string[][] = [];
  const missing = await findMissing(async () => {
    const cells: string[] = [];
    seen.push(cells);
    return {
      async cell(code) {
        cells.push(code);
        if (cells.includes('end')) {
          throw new Error('it has ended');
        }
        return code;
      },
      close: async () => undefined,
    };
  }, [behaviour({ name: 'ends', before: ['a'], cell: 'end', after: ['b'] }), behaviour({ name: 'holds' })]);
  expect(missing).toEqual(new Map([['ends', 'it has ended']]));
  expect(seen).toEqual([['a', 'end', 'b', '42 * 42'], ['x']]);
});
