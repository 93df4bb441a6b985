/**
 * Calls the WASI functions as a guest would, with pointers into a real WebAssembly memory. This guest keeps its strings at
 * fixed addresses.
 */

import type { DirectoryNode } from '../../src/edges/engines/embedded/child/files/node.ts';
import { createRoot } from '../../src/edges/engines/embedded/child/files/root.ts';
import type { IndexedFile } from '../../src/edges/engines/embedded/child/indexed-file.ts';
import { createSteadyClock } from '../../src/edges/engines/embedded/child/wasi/clock.ts';
import { DescriptorTable, type Device } from '../../src/edges/engines/embedded/child/wasi/descriptors.ts';
import { ERRNO } from '../../src/edges/engines/embedded/child/wasi/errno.ts';
import { GuestMemory } from '../../src/edges/engines/embedded/child/wasi/guest-memory.ts';
import { guardedImports, wasiFunctions } from '../../src/edges/engines/embedded/child/wasi/imports.ts';
import type { Waiter, WasiMachine } from '../../src/edges/engines/embedded/child/wasi/machine.ts';

export const PAGE_BYTES = 65_536;
export const ROOT_FD = 7;
/** Where calls store their results. */
export const RESULT = 64;
const IOVEC = 128;
const FIRST_PATH = 1024;
const SECOND_PATH = 8192;
const DATA = 16_384;

const LIBRARY: Readonly<Record<string, string>> = { 'usr/lib/os.py': 'import this', 'usr/lib/json/a.py': 'x = 1' };

export interface GuestOptions {
  readonly pages?: number;
  readonly tmpBytes?: number;
  readonly workspaceBytes?: number;
  readonly waiter?: Partial<Waiter>;
  readonly devices?: readonly Device[];
}

export type Call = (...args: (number | bigint)[]) => number;

export interface Guest {
  readonly memory: WebAssembly.Memory;
  readonly machine: WasiMachine;
  readonly root: DirectoryNode;
  readonly call: Readonly<Record<string, Call>>;
}

/** A virtual machine with a small library, seven devices that do nothing, and the WASI functions. */
export function createGuest(options: GuestOptions = {}): Guest {
  const { pages = 4, tmpBytes = 1_000_000, workspaceBytes = 1_000_000 } = options;
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
  const clock = createSteadyClock(1_000);
  const root = createRoot(openLibrary, { tmpBytes, workspaceBytes }, clock.realtime());
  const devices = options.devices ?? Array.from({ length: 7 }, () => ({}));
  const machine: WasiMachine = {
    memory: new GuestMemory(memory),
    descriptors: new DescriptorTable([
      ...devices.map((device) => ({ kind: 'device', device }) as const),
      { kind: 'directory', node: root },
    ]),
    clock,
    waiter: { hasInput: () => false, wait: () => false, ...options.waiter },
    inputFd: 3,
    fillRandom: (target) => target.fill(7),
  };
  const names = [...Object.keys(wasiFunctions(machine)), 'sock_send'];
  return { memory, machine, root, call: guardedImports(machine, names) as Guest['call'] };
}

function openLibrary(): IndexedFile {
  const index: Record<string, [number, number]> = {};
  let data = Buffer.alloc(0);
  for (const [path, text] of Object.entries(LIBRARY)) {
    index[path] = [data.length, text.length];
    data = Buffer.concat([data, Buffer.from(text)]);
  }
  return {
    index,
    readData: (target, offset) => target.set(data.subarray(offset, offset + target.length)),
    close: () => undefined,
  };
}

export function put(guest: Guest, at: number, bytes: Uint8Array | string): number {
  const data = Buffer.from(bytes);
  new Uint8Array(guest.memory.buffer).set(data, at);
  return data.length;
}

export function resultOf(guest: Guest): number {
  return new DataView(guest.memory.buffer).getUint32(RESULT, true);
}

/** Calls a function that takes one path after `fd`, and optionally flags. */
export function withPath(guest: Guest, name: string, path: string, ...rest: (number | bigint)[]): number {
  const length = put(guest, FIRST_PATH, path);
  const takesLookup = name === 'path_filestat_get' || name === 'path_filestat_set_times';
  const args = takesLookup ? [ROOT_FD, 1, FIRST_PATH, length] : [ROOT_FD, FIRST_PATH, length];
  return guest.call[name]?.(...args, ...rest) ?? -1;
}

const READ_AND_WRITE = (1n << 1n) | (1n << 6n);

/** Opens for reading and writing by default. Returns the errno; the descriptor is in `resultOf`. */
export function open(guest: Guest, path: string, flags = 0, rights: bigint = READ_AND_WRITE): number {
  const length = put(guest, FIRST_PATH, path);
  return guest.call['path_open']?.(ROOT_FD, 1, FIRST_PATH, length, flags, rights, 0n, 0, RESULT) ?? -1;
}

/** Opens without following a symbolic link. */
export function openUnfollowed(guest: Guest, path: string): number {
  const length = put(guest, FIRST_PATH, path);
  return guest.call['path_open']?.(ROOT_FD, 0, FIRST_PATH, length, 0, READ_AND_WRITE, 0n, 0, RESULT) ?? -1;
}

/** The descriptor of a file. Throws if it does not open. */
export function opened(guest: Guest, path: string, flags = 1, rights?: bigint): number {
  const errno = open(guest, path, flags, rights);
  if (errno !== ERRNO.SUCCESS) {
    throw new Error(`open of ${path} answered ${errno}`);
  }
  return resultOf(guest);
}

export function rename(guest: Guest, from: string, to: string): number {
  const lengths = [put(guest, FIRST_PATH, from), put(guest, SECOND_PATH, to)] as const;
  return guest.call['path_rename']?.(ROOT_FD, FIRST_PATH, lengths[0], ROOT_FD, SECOND_PATH, lengths[1]) ?? -1;
}

export function symlink(guest: Guest, target: string, path: string): number {
  const lengths = [put(guest, FIRST_PATH, target), put(guest, SECOND_PATH, path)] as const;
  return guest.call['path_symlink']?.(FIRST_PATH, lengths[0], ROOT_FD, SECOND_PATH, lengths[1]) ?? -1;
}

/** Points one `iovec` at `length` bytes of the data area. */
function putIovec(guest: Guest, length: number): void {
  const view = new DataView(guest.memory.buffer);
  view.setUint32(IOVEC, DATA, true);
  view.setUint32(IOVEC + 4, length, true);
}

/** Returns the errno; the number of bytes is in `resultOf`. */
export function write(guest: Guest, fd: number, bytes: Uint8Array | string): number {
  putIovec(guest, put(guest, DATA, bytes));
  return guest.call['fd_write']?.(fd, IOVEC, 1, RESULT) ?? -1;
}

/** At most `length` bytes as text, or an errno. */
export function read(guest: Guest, fd: number, length: number): string | number {
  putIovec(guest, length);
  const errno = guest.call['fd_read']?.(fd, IOVEC, 1, RESULT) ?? -1;
  return errno === ERRNO.SUCCESS ? Buffer.from(guest.memory.buffer, DATA, resultOf(guest)).toString('utf8') : errno;
}

/** Names in a directory, from repeated calls of `fd_readdir`. */
export function list(guest: Guest, path: string, bufferBytes = 200): string[] {
  const fd = opened(guest, path, 0, 0n);
  const names: string[] = [];
  let cookie = 0n;
  for (;;) {
    guest.call['fd_readdir']?.(fd, DATA, bufferBytes, cookie, RESULT);
    const used = resultOf(guest);
    const view = new DataView(guest.memory.buffer, DATA, used);
    let at = 0;
    while (at + 24 <= used && at + 24 + view.getUint32(at + 16, true) <= used) {
      const length = view.getUint32(at + 16, true);
      cookie = view.getBigUint64(at, true);
      names.push(Buffer.from(guest.memory.buffer, DATA + at + 24, length).toString('utf8'));
      at += 24 + length;
    }
    if (used < bufferBytes) {
      guest.call['fd_close']?.(fd);
      return names;
    }
  }
}

/** Type and size of what is at a path, or an errno. */
export function stat(guest: Guest, path: string): { type: number; size: number } | number {
  const errno = withPath(guest, 'path_filestat_get', path, RESULT);
  const view = new DataView(guest.memory.buffer, RESULT);
  return errno === ERRNO.SUCCESS ? { type: view.getUint8(16), size: Number(view.getBigUint64(32, true)) } : errno;
}
