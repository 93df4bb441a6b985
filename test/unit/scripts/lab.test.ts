import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LAB, renderTable, unknownName } from '../../../scripts/lab-table.ts';
import { ROOT } from '../../support/bridge-client.ts';

describe('npm run lab', () => {
  it.each(Object.entries(LAB))('%s runs a file that exists', (_, { file }) => {
    expect(existsSync(join(ROOT, file))).toBe(true);
  });

  it('lists each name on one line, with what it does and what it runs', () => {
    const lines = renderTable().split('\n').slice(2);
    expect(lines).toHaveLength(Object.keys(LAB).length);
    expect(lines.find((line) => line.startsWith('  soak '))).toBe(
      '  soak            random cells, crashes and kills: --minutes N (test/soak/main.ts)',
    );
  });

  it.each([
    ['sok', 'There is no "sok". Did you mean \'soak\'? The list: npm run lab'],
    ['bench:load', 'There is no "bench:load". Did you mean \'load\'? The list: npm run lab'],
    ['test:real-servers', 'There is no "test:real-servers". Did you mean \'real-servers\'? The list: npm run lab'],
    ['zzz', 'There is no "zzz". The list: npm run lab'],
  ])('a wrong name, %s, is answered with the right one', async (name, answer) => {
    expect(await unknownName(name)).toBe(answer);
  });
});
