import { describe, expect, it } from 'vitest';
import { ERRNO, ProgramExit } from '../../../../../../src/edges/engines/embedded/child/wasi/errno.ts';
import { GuestMemory } from '../../../../../../src/edges/engines/embedded/child/wasi/guest-memory.ts';
import { createGuest, PAGE_BYTES, RESULT } from '../../../../../support/guest.ts';

describe('the boundary', () => {
  it('lets only the end of the program through', () => {
    const guest = createGuest({
      devices: [
        {
          read() {
            throw new RangeError('no memory');
          },
          write() {
            throw new TypeError('a fault of ours');
          },
        },
      ],
    });
    new DataView(guest.memory.buffer).setUint32(132, 1, true);
    expect(guest.call['fd_read']?.(0, 128, 1, RESULT)).toBe(ERRNO.NOMEM);
    expect(guest.call['fd_write']?.(0, 128, 1, RESULT)).toBe(ERRNO.IO);
    expect(() => guest.call['proc_exit']?.(3)).toThrow(new ProgramExit(3));
  });

  it('returns NOSYS for missing functions that the module imports', () => {
    expect(createGuest().call['sock_send']?.(3, 0, 0, 0, 0)).toBe(ERRNO.NOSYS);
  });

  it('has no environment and no arguments', () => {
    const guest = createGuest();
    const words = new Uint32Array(guest.memory.buffer, RESULT, 2).fill(9);
    for (const name of ['environ_sizes_get', 'args_sizes_get']) {
      expect(guest.call[name]?.(RESULT, RESULT + 4)).toBe(ERRNO.SUCCESS);
      expect([...words]).toEqual([0, 0]);
    }
  });

  it('has two clocks and no others', () => {
    const guest = createGuest();
    expect(guest.call['clock_time_get']?.(0, 0n, RESULT)).toBe(ERRNO.SUCCESS);
    expect(guest.call['clock_time_get']?.(1, 0n, RESULT)).toBe(ERRNO.SUCCESS);
    expect(guest.call['clock_time_get']?.(2, 0n, RESULT)).toBe(ERRNO.INVAL);
    expect(guest.call['clock_res_get']?.(-1, RESULT)).toBe(ERRNO.INVAL);
  });
});

describe('guest memory', () => {
  const end = PAGE_BYTES;

  it.each([
    [0, end, true],
    [end, 0, true],
    [end - 1, 1, true],
    [end, 1, false],
    [0, end + 1, false],
    [-1, 1, false],
    [-1, 0, false],
    [0xffff_ffff, 0xffff_ffff, false],
    [1, -1, false],
  ])('checks pointer %d and length %d: %s', (pointer, length, isInside) => {
    const memory = new GuestMemory(new WebAssembly.Memory({ initial: 1 }));
    if (isInside) {
      expect(memory.bytes(pointer, length)).toHaveLength(length);
    } else {
      expect(() => memory.bytes(pointer, length)).toThrow(`errno ${ERRNO.FAULT}`);
    }
  });

  it('is read again after it has grown', () => {
    const raw = new WebAssembly.Memory({ initial: 1, maximum: 2 });
    const memory = new GuestMemory(raw);
    memory.setUint32(0, 7);
    raw.grow(1);
    expect(memory.view(0, 4).getUint32(0, true)).toBe(7);
    expect(memory.bytes(end, end)).toHaveLength(end);
  });

  it('checks every piece of a list', () => {
    const raw = new WebAssembly.Memory({ initial: 1 });
    new Uint32Array(raw.buffer, 0, 6).set([100, 10, 200, 0, end - 1, 2]);
    const memory = new GuestMemory(raw);
    expect(memory.pieces(0, 2).map((piece) => [piece.byteOffset, piece.length])).toEqual([[100, 10]]);
    expect(() => memory.pieces(0, 3)).toThrow(`errno ${ERRNO.FAULT}`);
    expect(() => memory.pieces(0, 1025)).toThrow(`errno ${ERRNO.INVAL}`);
    expect(() => memory.pieces(end - 8, 2)).toThrow(`errno ${ERRNO.FAULT}`);
  });
});
