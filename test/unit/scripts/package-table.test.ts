import { expect, it } from 'vitest';
import { LINES } from '../../../scripts/package-table/lines.ts';
import { renderTable } from '../../../scripts/package-table/table.ts';
import { COMMON_PACKAGES } from '../../../src/packages/common.ts';

it('has a line of work for each package of the list, and for no other', () => {
  expect(Object.keys(LINES)).toEqual([...COMMON_PACKAGES]);
});

it('shows what works, and why the rest does not', () => {
  const works = {
    isWorking: true,
    version: '2.0',
    bytes: 62 << 20,
    memoryBytes: 1.5 * 1024 ** 2,
    seconds: 3.14,
  } as const;
  const fails = { isWorking: false, reason: 'ImportError: a | b', seconds: 2 } as const;
  const columns = [
    { engine: 'podman', python: '3.14.0', tried: new Map([['a', works]]) },
    { engine: 'bubblewrap', python: '3.11.2', tried: new Map([['a', fails]]) },
  ];
  expect(renderTable(['a', 'b'], columns).split('\n').slice(1)).toEqual([
    '| --- | --- | --: | --: | --: | --- | --: | --: | --: |',
    '| a | 2.0 | 62 | 3.1 | 1.5 | ImportError: a \\| b |  | 2.0 |  |',
    '| b | not tried |  |  |  | not tried |  |  |  |',
  ]);
});
