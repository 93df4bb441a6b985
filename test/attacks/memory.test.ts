// Tags: full, bubblewrap, docker-release, user
/**
 * Attacks on the memory limit: ways to hold more than it, most of them with memory that belongs to no process. Whoever
 * enforces the limit (a cgroup, or the supervisor and the filter), the cell must not end with the memory in its hands.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { amount } from '../support/attacks.ts';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { EXCEPTIONS } from '../support/probes/exceptions.ts';

const LIMIT_MIB = 128;
const HELD_MIB = amount(LIMIT_MIB + 64, LIMIT_MIB * 8);
const engines = await coverEngines();

/** Fills a shared mapping without ever mapping much of it, and keeps all of it. `source` is the descriptor, or -1. */
const SHARED = `
import mmap, os, time
PIECE = 16 << 20
def fill(source, forget):
    held = []
    for _ in range(${HELD_MIB} // 16):
        piece = mmap.mmap(source, PIECE, flags=mmap.MAP_SHARED | (mmap.MAP_ANONYMOUS if source == -1 else 0))
        piece.write(b"x" * PIECE)
        forget(piece)
        held.append(piece)
    time.sleep(1)
    return held
def drop(piece):
    piece.madvise(mmap.MADV_DONTNEED)
def unmap(piece):
    import ctypes
    place = ctypes.addressof(ctypes.c_char.from_buffer(piece))
    ctypes.CDLL(None).munmap(ctypes.c_void_p(place + mmap.PAGESIZE), ctypes.c_size_t(PIECE - mmap.PAGESIZE))
`;

const WAYS: Readonly<Record<string, string>> = {
  'shared memory that it drops from its mappings': `${SHARED}\nheld = fill(-1, drop)`,
  'shared memory of which it keeps one page mapped': `${SHARED}\nheld = fill(-1, unmap)`,
  'shared memory of /dev/zero': `${SHARED}\nheld = fill(os.open("/dev/zero", os.O_RDWR), drop)`,
  'files in memory without a name (memfd)': `
import os, time
descriptor = os.memfd_create("held")
for _ in range(${HELD_MIB}):
    os.write(descriptor, bytes(1 << 20))
time.sleep(1)`,
  'deleted files in its scratch space': `
import os, time
held = []
for folder, mebibytes in (("/tmp", 60), ("/workspace", 120)):
    held.append(open(f"{folder}/deleted", "wb", buffering=0))
    os.unlink(f"{folder}/deleted")
    for _ in range(mebibytes):
        held[-1].write(bytes(1 << 20))
time.sleep(1)`,
  'names of empty files': `
import os, time
for number in range(${HELD_MIB} << 10):
    os.close(os.open(f"/workspace/{number}", os.O_CREAT | os.O_WRONLY))
time.sleep(1)`,
  'processes whose first thread has ended': `
import ctypes, os, threading, time
libc, number = ctypes.CDLL(None), {"x86_64": 60, "aarch64": 93}[os.uname().machine]
children = []
for _ in range(${HELD_MIB} // 48):
    children.append(os.fork())
    if children[-1] == 0:
        def hold():
            time.sleep(0.5)
            held = bytearray(b"x") * (48 << 20)
            time.sleep(5)
        threading.Thread(target=hold).start()
        libc.syscall(number, 0)
time.sleep(2)
if any(os.waitpid(child, os.WNOHANG)[0] for child in children):
    raise OSError("a process was ended")`,
  'page tables of memory that it only reads': `
import mmap, time
held = []
for _ in range(${HELD_MIB} // 2):
    held.append(mmap.mmap(-1, 1 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ))
    sum(held[-1][::2 << 20])
time.sleep(1)`,
};

const USED_BY_MULTIPROCESSING = `
import multiprocessing
from multiprocessing import shared_memory
memory = shared_memory.SharedMemory(create=True, size=4096)
memory.unlink()
array = multiprocessing.Array("i", 10)
def square(number):
    with array.get_lock():
        return number * number
with multiprocessing.get_context("fork").Pool(2) as pool:
    squares = pool.map(square, [1, 2, 3])
squares`;

describe.each(engines)('the memory limit on $label', (engine) => {
  let bridge: BridgeClient;
  beforeAll(async () => {
    bridge = await startBridge({ engine, env: { MCP_BRIDGE_MEMORY: `${LIMIT_MIB}m` } });
  });
  afterAll(() => bridge.close());

  // Nothing of this exists in WebAssembly, whose memory is one array.
  it.skipIf(engine.lacks.includes('ctypes')).each(Object.entries(WAYS))('covers %s', async (way, code) => {
    const session = way.replaceAll(/\W+/g, '-');
    const answer = await bridge.runPython(`${code}\nprint("held")`, { session, timeout: 60 });
    expect(answer.structured).toMatchObject({ status: 'error' });
    expect(answer.text).toMatch(/ran out of memory|MemoryError|PermissionError|OSError|ended from outside/);
  });

  const sharesFiles = EXCEPTIONS[engine.label]?.['use: shared memory'] === undefined;
  it.runIf(sharesFiles)('leaves shared memory to multiprocessing, and explains what it refuses', async () => {
    const shared = await bridge.runPython(USED_BY_MULTIPROCESSING);
    expect(shared).toMatchObject({ isError: false, text: '[1, 4, 9]' });
    const anonymous = await bridge.runPython('import mmap\nlen(mmap.mmap(-1, 4096))');
    const refused = /Operation not permitted: without cgroups, .*MAP_PRIVATE/;
    expect(anonymous.text).toMatch(engine.hasCgroupLimits ? /^4096$/ : refused);
  });
});
