/**
 * Hostile calls of every function: wild pointers, lengths, descriptors, flags and paths, in a real WebAssembly memory. A failure
 * names the seed; set `MCP_BRIDGE_TEST_FUZZ_SEED` to repeat it. `MCP_BRIDGE_TEST_FUZZ_CALLS=1000000` makes a long run.
 */
import { describe, expect, it } from 'vitest';
import type { DirectoryNode, FileTreeNode } from '../../../../../../src/edges/engines/embedded/child/files/node.ts';
import type { Volume } from '../../../../../../src/edges/engines/embedded/child/files/volume.ts';
import { ProgramExit } from '../../../../../../src/edges/engines/embedded/child/wasi/errno.ts';
import { wasiFunctions } from '../../../../../../src/edges/engines/embedded/child/wasi/imports.ts';
import { createGuest, type Guest } from '../../../../../support/guest.ts';

const CALLS = Number(process.env['MCP_BRIDGE_TEST_FUZZ_CALLS'] ?? 50_000);
const SEED = Number(process.env['MCP_BRIDGE_TEST_FUZZ_SEED'] ?? Date.now() % 2 ** 32);
/** A million calls take 20 s on an idle machine. */
const TIMEOUT_MS = 300_000;
const CALLS_PER_PREPARATION = 25;
const CALLS_PER_CHECK = 1000;
const MIN_SUCCEEDED_SHARE = 0.7;
const QUOTA_BYTES = 200_000;
const LAST_ERRNO = 76;
const MEMORY_PAGES = 4;
const MEMORY_BYTES = MEMORY_PAGES * 65_536;

/** Parameters by letter: f descriptor, p pointer, n length, w flags or other word, L 64 bits. Two letters `pn` are a path. */
const SIGNATURES: Readonly<Record<string, string>> = {
  args_get: 'pp',
  args_sizes_get: 'pp',
  environ_get: 'pp',
  environ_sizes_get: 'pp',
  clock_res_get: 'wp',
  clock_time_get: 'wLp',
  random_get: 'pn',
  sched_yield: '',
  proc_exit: 'w',
  poll_oneoff: 'ppwp',
  fd_read: 'fpwp',
  fd_pread: 'fpwLp',
  fd_write: 'fpwp',
  fd_pwrite: 'fpwLp',
  fd_seek: 'fLwp',
  fd_tell: 'fp',
  fd_close: 'f',
  fd_filestat_set_size: 'fL',
  fd_fdstat_set_flags: 'fw',
  fd_advise: 'fLLw',
  fd_datasync: 'f',
  fd_sync: 'f',
  fd_fdstat_get: 'fp',
  fd_filestat_get: 'fp',
  fd_filestat_set_times: 'fLLw',
  path_filestat_get: 'fwpnp',
  path_filestat_set_times: 'fwpnLLw',
  fd_prestat_get: 'fp',
  fd_prestat_dir_name: 'fpn',
  fd_readdir: 'fpnLp',
  path_open: 'fwpnwLLwp',
  path_create_directory: 'fpn',
  path_remove_directory: 'fpn',
  path_unlink_file: 'fpn',
  path_rename: 'fpnfpn',
  path_symlink: 'pnfpn',
  path_readlink: 'fpnpnp',
  path_link: '',
  sock_send: 'fpwwp',
};

const PATHS = [
  '',
  '.',
  '..',
  '/',
  '../../etc/passwd',
  '/etc/passwd',
  'tmp',
  'tmp/a',
  'tmp/b',
  'tmp/a/b',
  'tmp/a/../b/c/',
  'tmp/a/b/../../../usr/lib/os.py',
  'usr/lib/os.py',
  'usr/lib/json/',
  'workspace/x',
  'workspace/x/y/z',
  '../workspace/./x//y',
  'tmp/link',
  'tmp/link/../link',
  'a\0b',
  'tmp/\u{1F600}',
  `tmp/${'n'.repeat(300)}`,
  'x/'.repeat(2100),
  '__proto__',
  'tmp/__proto__',
  'tmp/constructor/prototype',
  'con',
  'tmp\\a',
];

/** mulberry32: small, and the same on all platforms. */
function createRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Attacker {
  readonly #guest: Guest;
  readonly #random: () => number;
  /** The address and length of each path in memory. */
  #paths: readonly (readonly [number, number])[] = [];

  constructor(guest: Guest, seed: number) {
    this.#guest = guest;
    this.#random = createRandom(seed);
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)] as Item;
  }

  /** Writes paths, and words that are sometimes valid structures. Calls overwrite both. */
  prepareMemory(): void {
    const words = new Int32Array(this.#guest.memory.buffer, 0, 256);
    for (let at = 0; at < words.length; at += 1) {
      words[at] = this.pick([0, 1, 2, 3, 8, 64, 4096, MEMORY_BYTES - 1, -1, Math.floor(this.#random() * 2 ** 32)]);
    }
    let at = 65_536;
    this.#paths = PATHS.map((path) => {
      const bytes = Buffer.from(path);
      new Uint8Array(this.#guest.memory.buffer).set(bytes, at);
      at += bytes.length;
      return [at - bytes.length, bytes.length];
    });
  }

  arguments(signature: string): (number | bigint)[] {
    const values: (number | bigint)[] = [];
    for (let at = 0; at < signature.length; at += 1) {
      if (signature.startsWith('pn', at) && this.#random() < 0.9) {
        values.push(...this.pick(this.#paths));
        at += 1;
      } else {
        values.push(this.#argument(signature[at] ?? ''));
      }
    }
    return values;
  }

  /** A descriptor that is a file now; 8 if there is none. */
  #openFile(): number {
    const { descriptors } = this.#guest.machine;
    const first = 8 + Math.floor(this.#random() * 248);
    for (let step = 0; step < 248; step += 1) {
      const fd = 8 + ((first + step) % 248);
      if (descriptors.has(fd) && descriptors.get(fd).kind === 'file') {
        return fd;
      }
    }
    return 8;
  }

  #argument(letter: string): number | bigint {
    const anything = Math.floor(this.#random() * 2 ** 32) | 0;
    const small = Math.floor(this.#random() * 16);
    switch (letter) {
      case 'f':
        return this.pick([7, 7, this.#openFile(), this.#openFile(), small, 8 + small * 16, anything]);
      case 'p':
        return this.pick([small * 64, small * 64, small * 7, MEMORY_BYTES - small, MEMORY_BYTES, -small, anything]);
      case 'n':
        return this.pick([small, small * 1000, MEMORY_BYTES, -1, anything]);
      case 'L':
        return this.pick([
          0n,
          BigInt(small),
          BigInt(anything),
          BigInt(anything) << 32n,
          -1n,
          2n ** 63n - 1n,
          0x1fffffffn,
        ]);
      default:
        return this.pick([0, 1, 1, small & 3, small, 1024, anything]);
    }
  }
}

function allNodes(directory: DirectoryNode): FileTreeNode[] {
  const found: FileTreeNode[] = [];
  const waiting = [directory];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const node of next.entries.values()) {
      found.push(node);
      if (node.kind === 'directory') {
        waiting.push(node);
      }
    }
  }
  return found;
}

/** Compares the counters of a volume with its actual files, including removed files that are still open. */
function checkVolume(guest: Guest, volume: Volume): void {
  const nodes = allNodes(guest.root).filter((node) => node.volume === volume);
  const open = Array.from({ length: 300 }, (_, fd) => fd).flatMap((fd) => {
    const descriptor = guest.machine.descriptors.has(fd) ? guest.machine.descriptors.get(fd) : undefined;
    return descriptor?.kind === 'file' && descriptor.node.volume === volume ? [descriptor.node] : [];
  });
  const files = new Set([...nodes, ...open].filter((node) => node.kind === 'file'));
  const bytes = [...files].reduce((sum, file) => sum + file.content.size, 0);
  expect(volume.usedBytes).toBe(bytes);
  expect(volume.nodes).toBe(nodes.length - 1); // Its top directory is not charged.
  expect(bytes).toBeLessThanOrEqual(QUOTA_BYTES);
}

function describeLibrary(guest: Guest): unknown[] {
  const usr = guest.root.entries.get('usr');
  return usr?.kind === 'directory'
    ? allNodes(usr).map((node) => [
        node.inode,
        node.kind,
        node.times.modified,
        node.kind === 'file' && node.content.size,
      ])
    : [];
}

describe('hostile calls', () => {
  it('cover every function', () => {
    const names = Object.keys(wasiFunctions(createGuest().machine));
    expect(names.toSorted()).toEqual(
      Object.keys(SIGNATURES)
        .filter((name) => name !== 'sock_send')
        .toSorted(),
    );
  });

  it(`do no harm: ${CALLS.toLocaleString('en-US')} of them`, { timeout: TIMEOUT_MS }, () => {
    const device = { read: (target: Uint8Array) => target.fill(65).length, write: (bytes: Uint8Array) => bytes.length };
    const guest = createGuest({
      pages: MEMORY_PAGES,
      tmpBytes: QUOTA_BYTES,
      workspaceBytes: QUOTA_BYTES,
      devices: [device, device, device, device, device, device, {}],
    });
    const attacker = new Attacker(guest, SEED);
    const names = Object.keys(SIGNATURES);
    const libraryBefore = describeLibrary(guest);
    const volumes = ['tmp', 'workspace'].map((name) => (guest.root.entries.get(name) as FileTreeNode).volume);
    const succeeded = new Set<string>();
    for (let count = 0; count < CALLS; count += 1) {
      if (count % CALLS_PER_PREPARATION === 0) {
        attacker.prepareMemory();
      }
      const name = attacker.pick(names);
      const args = attacker.arguments(SIGNATURES[name] ?? '');
      const errno = callOnce(guest, name, args);
      if (!Number.isInteger(errno) || errno < 0 || errno > LAST_ERRNO) {
        throw new Error(`seed ${SEED}, call ${count}: ${name}(${args.join(', ')}) answered ${errno}`);
      }
      if (errno === 0) {
        succeeded.add(name);
      }
      if (count % CALLS_PER_CHECK === 0) {
        volumes.forEach((volume) => checkVolume(guest, volume));
      }
    }
    volumes.forEach((volume) => checkVolume(guest, volume));
    expect(describeLibrary(guest)).toEqual(libraryBefore);
    expect(guest.memory.buffer.byteLength).toBe(MEMORY_BYTES);
    // Calls that always fail would test little. Three functions never succeed, and a few rarely do.
    expect(succeeded.size).toBeGreaterThan(names.length * MIN_SUCCEEDED_SHARE);
  });
});

/** The error number; -1 for `proc_exit`, which has none, if it worked. */
function callOnce(guest: Guest, name: string, args: readonly (number | bigint)[]): number {
  try {
    return guest.call[name]?.(...args) ?? -1;
  } catch (error) {
    if (name === 'proc_exit' && error instanceof ProgramExit) {
      return LAST_ERRNO;
    }
    throw new Error(`seed ${SEED}: ${name}(${args.join(', ')}) threw`, { cause: error });
  }
}
