/** The program in the snapshot of the embedded engine. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { composeBootSource } from '../../../scripts/embedded/boot-source.mjs';
import { readKernelSources } from '../../../src/core/session/boot.ts';

const KERNEL = join(import.meta.dirname, '../../../sandbox-runtime/bridge_kernel');

describe('the boot source', () => {
  it('contains exactly the modules that are useful without processes', async () => {
    const { modules } = await readKernelSources(KERNEL);
    const names = [...composeBootSource(modules).matchAll(/^ {4}"(\w+)": "/gm)].map(([, name]) => name);
    const unused = ['mounts', 'seccomp', 'supervisor', 'threaded'];
    expect(names).toEqual([...modules.keys()].filter((name) => !unused.includes(name)));
  });

  it('depends only on the sources', () => {
    const modules = new Map([['a', Buffer.from('x = "é\\n"\n')]]);
    const other = new Map([['a', Buffer.from('x = "é\\n" \n')]]);
    expect(composeBootSource(modules)).toBe(composeBootSource(new Map(modules)));
    expect(composeBootSource(modules)).not.toBe(composeBootSource(other));
  });
});
