// Tags: full, bubblewrap, docker-release, user, cluster
/**
 * Attacks through calls to the operating system's kernel: memory of the kernel that no limit counts, code of the kernel that a
 * sandbox does not need, and the first process, which must end the sandbox whatever the sandbox does.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { amount } from '../support/attacks.ts';
import { awaitStart, reportingStart } from '../support/begun.ts';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { descendantsOf, isAlive } from '../support/processes.ts';
import { sandboxesOfBridge } from '../support/sandbox.ts';

const engines = (await coverEngines()).filter(({ lacks }) => !lacks.includes('ctypes'));

/** Prints the names of what succeeded, as JSON. Each is refused without any effect if it works as it should. */
const CALLS = `
import ctypes, json, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)

def access_list():
    entries = [(1, 0xFFFFFFFF), *[(2, os.getuid())] * 8_000, *[(tag, 0xFFFFFFFF) for tag in (4, 16, 32)]]
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, 7, owner) for tag, owner in entries)
    os.makedirs("/workspace/listed", exist_ok=True)
    os.setxattr("/workspace/listed", "system.posix_acl_default", value)

def semaphores():
    if libc.semget(0, 32_000, 0o600) == -1:
        raise OSError

def socket_program(option):
    returns = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        any_socket.setsockopt(socket.SOL_SOCKET, option, struct.pack("HxxxxxxQ", 1, ctypes.addressof(returns)))

def pair_of_other_family():
    # EAFNOSUPPORT is also what the kernel says of a family that it does not know.
    for family in set(range(46)) - {socket.AF_UNIX}:
        if libc.socketpair(family, 2, 0, (ctypes.c_int * 2)()) == 0 or ctypes.get_errno() not in (1, 97):
            return
    raise OSError

ATTEMPTS = {
    "an access control list": access_list,
    "semaphores": semaphores,
    "a program for a socket": lambda: socket_program(26),
    "a pair of sockets of another family": pair_of_other_family,
    "PID 1: lower priority": lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
    "PID 1: lower priority of its group": lambda: os.setpriority(os.PRIO_PGRP, 1, 19),
    "PID 1: lower priority of its user": lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19),
    "PID 1: idle class": lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
    "PID 1: one processor": lambda: os.sched_setaffinity(1, {min(os.sched_getaffinity(0))}),
}
possible = []
for name, attempt in ATTEMPTS.items():
    try:
        attempt()
        possible.append(name)
    except OSError:
        pass
print(json.dumps(possible))`;

/** What ordinary code does with the same calls. */
const ORDINARY = `
import os, resource, shutil, socket
with open("/tmp/source", "w") as file:
    file.write("text")
shutil.copy2("/tmp/source", "/tmp/copy")
left, right = socket.socketpair()
left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
left.sendall(b"text")
os.sched_setaffinity(0, os.sched_getaffinity(os.getpid()))
os.setpriority(os.PRIO_PROCESS, 0, 1)
resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE, (64, 1024))
right.recv(4).decode() + open("/tmp/copy").read()`;

/** Children of PID 1 that end faster than it can wait for them, while it gets as little of the processors as possible. */
const FLOOD = `
import ctypes, mmap, os, time
first = {min(os.sched_getaffinity(0))}
os.sched_setaffinity(0, first)
for slow in (lambda: os.sched_setaffinity(1, first), lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))):
    try:
        slow()
    except OSError:
        pass
# clone(CLONE_PARENT | CLONE_VFORK | CLONE_VM | SIGCHLD) without end; the child calls exit(0).
code = bytes.fromhex("b838000000bf11c1000031f631d24d31d24d31c00f0585c075e6b83c00000031ff0f05")
pages = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
pages.write(code)
flood = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(pages)))
for _ in range(${amount(60, 100)}):
    try:
        if os.fork() == 0:
            flood()
    except OSError:
        time.sleep(0.02)`;

describe.each(engines)('calls to the kernel on $label', (engine) => {
  let bridge: BridgeClient;
  beforeAll(async () => {
    bridge = await startBridge({ engine });
  });
  afterAll(() => bridge.close());

  it('reach no memory that nothing counts, no other family of sockets and not the first process', async () => {
    const answer = await bridge.runPython(CALLS);
    expect(answer).toMatchObject({ isError: false });
    const possible = JSON.parse(answer.text) as string[];
    // A cgroup counts semaphores.
    expect(possible).toEqual(engine.hasCgroupLimits ? ['semaphores'] : []);
  });

  it('leave ordinary code what it needs', async () => {
    expect(await bridge.runPython(ORDINARY)).toMatchObject({ isError: false, text: "'texttext'" });
  });
});

// The flood is machine code. Without a cgroup it exceeds the limit of processes, which ends the sandbox; Kubernetes has one only
// for memory.
const flooded = engines.filter(({ hasCgroupLimits, name }) => {
  return hasCgroupLimits && name !== 'kubernetes' && process.arch === 'x64';
});
describe.each(flooded)('a flood of processes on $label', (engine) => {
  it('does not outlive the bridge', { timeout: 60_000 }, async () => {
    const bridge = await startBridge({ engine });
    const { begun, onProgress } = awaitStart();
    const code = `${FLOOD}\n${reportingStart('while True: time.sleep(1)')}`;
    const answer = bridge.runPython(code, {}, { onprogress: onProgress });
    await Promise.race([begun, answer.then(({ text }) => Promise.reject(new Error(`it ended: ${text}`)))]);
    answer.catch(() => undefined);
    const below = descendantsOf(bridge.pid);
    process.kill(bridge.pid, 'SIGKILL');
    await expect.poll(() => sandboxesOfBridge(engine, bridge.pid), { timeout: 10_000 }).toEqual([]);
    await expect.poll(() => below.filter(isAlive), { timeout: 5_000 }).toEqual([]);
    await bridge.close();
  });
});
