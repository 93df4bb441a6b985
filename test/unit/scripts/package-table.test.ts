import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { LINES } from '../../../scripts/package-table/lines.ts';
import { readColumns, withTried } from '../../../scripts/package-table/record.ts';
import { renderTable } from '../../../scripts/package-table/table.ts';
import { COMMON_PACKAGES } from '../../../src/packages/common.ts';

it('has a line of work for each package of the list, and for no other', () => {
  expect(Object.keys(LINES)).toEqual([...COMMON_PACKAGES]);
});

const works = { isWorking: true, version: '2.0', mib: 62, memoryMib: 1.5, seconds: 3.14 } as const;
const fails = { isWorking: false, reason: 'no wheel of a for this | that', seconds: 2 } as const;

it('shows figures for each Python, and only what works for other engines with it', () => {
  const columns = [
    { engine: 'podman', python: '3.14.0', tried: { a: works, b: works, c: works } },
    { engine: 'docker', python: '3.14.1', tried: { a: works, b: { ...works, version: '1.0' }, c: fails } },
    { engine: 'bubblewrap', python: '3.11.2', tried: { a: fails, c: works } },
    { engine: 'embedded', python: '3.14.1', tried: { a: works } },
  ];
  expect(renderTable(['a', 'b', 'c'], columns).split('\n')).toEqual([
    '| Package | Python 3.14.0, podman | MiB | s | MiB in memory | Python 3.11.2, bubblewrap | MiB | s | MiB in memory | Python 3.14.1, docker |',
    '| --- | --- | --: | --: | --: | --- | --: | --: | --: | --- |',
    '| a | 2.0 | 62 | 3.1 | 1.5 | no (1) |  | 2.0 |  | yes |',
    '| b | 2.0 | 62 | 3.1 | 1.5 | not tried |  |  |  | 1.0 |',
    '| c | 2.0 | 62 | 3.1 | 1.5 | 2.0 | 62 | 3.1 | 1.5 | no (2) |',
    '',
    '1. `no wheel of it for this | that`',
    '2. `no wheel of a for this | that`',
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
  expect(document).toContain(`\n${renderTable([...COMMON_PACKAGES], readColumns())}\n`);
});
