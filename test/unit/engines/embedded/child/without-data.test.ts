import { describe, expect, it } from 'vitest';
import { withoutData } from '../../../../../src/edges/engines/embedded/child/without-data.ts';

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
/** One page, exported as `m`. */
const MEMORY = [0x05, 0x03, 0x01, 0x00, 0x01];
const EXPORT = [0x07, 0x05, 0x01, 0x01, 0x6d, 0x02, 0x00];
const DATA_COUNT = [0x0c, 0x01, 0x01];
/** 200 times the byte 42 at address 0, so that the size of the section takes two bytes. */
const DATA = [0x0b, 0xcf, 0x01, 0x01, 0x00, 0x41, 0x00, 0x0b, 0xc8, 0x01, ...Array.from({ length: 200 }, () => 42)];
/** A custom section without a name. */
const LAST = [0x00, 0x02, 0x00, 0x07];

function memoryOf(module: Uint8Array<ArrayBuffer>): Uint8Array {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module), {});
  return new Uint8Array((exports['m'] as WebAssembly.Memory).buffer);
}

describe('a module without its data', () => {
  it('has everything else', () => {
    const whole = new Uint8Array([...HEADER, ...MEMORY, ...EXPORT, ...DATA, ...LAST]);
    expect(memoryOf(whole).slice(198, 202)).toEqual(new Uint8Array([42, 42, 0, 0]));
    const bare = withoutData(whole);
    expect([...bare]).toEqual([...HEADER, ...MEMORY, ...EXPORT, ...LAST]);
    expect(memoryOf(bare).every((byte) => byte === 0)).toBe(true);
  });

  it('is refused if its code may refer to them', () => {
    const whole = new Uint8Array([...HEADER, ...MEMORY, ...EXPORT, ...DATA_COUNT, ...DATA]);
    expect(() => withoutData(whole)).toThrow('the code of the module refers to its data');
  });
});
