import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { LINES } from '../../../scripts/package-table/lines.ts';
import { readColumns, withTried } from '../../../scripts/package-table/record.ts';
import { renderLists } from '../../../scripts/package-table/table.ts';
import { COMMON_PACKAGES } from '../../../src/features/packages/common.ts';

it('has a line of work for each package of the list, and for no other', () => {
  expect(Object.keys(LINES)).toEqual([...COMMON_PACKAGES]);
});

const works = { isWorking: true, version: '2.0', mib: 62, memoryMib: 1.5, seconds: 3.14 } as const;
const fails = { isWorking: false, reason: 'no wheel of a for this | that', seconds: 2 } as const;

it('lists what the embedded engine can run, and the others, with the size of large ones that the first other engine has measured', () => {
  const columns = [
    { engine: 'embedded', python: '3.14.1', tried: { a: works, b: { ...works, version: '1.0' }, c: fails } },
    { engine: 'podman', python: '3.14.0', tried: { a: works, b: works, c: fails } },
    { engine: 'bubblewrap', python: '3.11.2', tried: { a: fails, c: { ...works, version: '1.9', mib: 1.04 } } },
  ];
  expect(renderLists(['a', 'b', 'c', 'd'], columns).split('\n')).toEqual([
    '**Not on the embedded engine:** c, d.',
    '',
    '**On every engine:** a 62, b 62.',
  ]);
});

it('adds a result to those of the same engine and image', () => {
  const tried = (names: string[]) => Object.fromEntries(names.map((name) => [name, works]));
  const podman = { engine: 'podman', python: '3.14.0', tried: tried(['a', 'b']) };
  const image = { engine: 'podman', image: 'debian', python: '3.11.2' };
  const columns = withTried(withTried([podman], image, 'a', works), { ...podman, python: '3.14.1' }, 'b', fails);
  expect(columns).toEqual([
    { ...podman, python: '3.14.1', tried: { a: works, b: fails } },
    { ...image, tried: { a: works } },
  ]);
});

it('is in the docs as it was recorded', () => {
  const document = readFileSync(new URL('../../../docs/packages-common.md', import.meta.url), 'utf8');
  expect(document).toContain(`\n${renderLists([...COMMON_PACKAGES], readColumns())}\n`);
});
