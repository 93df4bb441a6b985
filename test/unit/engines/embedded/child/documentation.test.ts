import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MAX_NODES_PER_VOLUME } from '../../../../../src/edges/engines/embedded/child/files/volume.ts';
import { wasiFunctions } from '../../../../../src/edges/engines/embedded/child/wasi/imports.ts';
import { createGuest } from '../../../../support/guest.ts';

const text = readFileSync(new URL('../../../../../docs/internals/embedded.md', import.meta.url), 'utf8');

describe('docs/internals/embedded.md', () => {
  it('lists exactly the functions that exist', () => {
    const rows = text
      .slice(text.indexOf('## Functions'))
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const names = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([\w.]+)`/g)].map((match) => match[1]),
    );
    const functions = [...Object.keys(wasiFunctions(createGuest().machine)), 'bridge.interrupt'];
    expect(new Set(names)).toEqual(new Set(functions));
    expect(names).toHaveLength(functions.length);
  });

  it('states the limit for files', () => {
    const words = text.replaceAll(/\s+/g, ' ');
    expect(words).toContain(`${MAX_NODES_PER_VOLUME.toLocaleString('en-US')} files, directories and links`);
  });
});
