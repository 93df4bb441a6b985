// Tags: full, bubblewrap, docker-release, user
/**
 * Attacks on files: running a program that code wrote into its scratch space, by every way that maps it executable, reading
 * what containers hide under /proc, and watching or delaying what others do with files that sandboxes share.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const engines = await coverEngines();

/** Prints what succeeded, as JSON. Each attempt runs a copy of a real program or library, so only the mount can refuse it. */
const EXECUTE = `
import json, os, shutil, subprocess
succeeded, tried = [], 0
try:
    import ctypes, mmap, _ctypes
except ImportError:
    ctypes = None  # Python in WebAssembly has neither libraries nor processes.

def copy(source, folder):
    target = os.path.join(folder, "copied-" + os.path.basename(source))
    shutil.copy(os.path.realpath(source), target)
    os.chmod(target, 0o755)
    return target

def run(*command, **more):
    return subprocess.run(command, capture_output=True, **more).returncode == 0

def by_descriptor(path):
    descriptor = os.open(path, os.O_RDONLY)
    return run(f"/proc/self/fd/{descriptor}", pass_fds=[descriptor])

def by_loader(path):
    with open("/proc/self/maps") as maps:
        loader = next(line.split()[-1] for line in maps if "/ld-" in line)
    return run(loader, path)

def by_script(path):
    with open(path + ".sh", "w") as script:
        script.write("#!/bin/sh\\nexit 0\\n")
    os.chmod(path + ".sh", 0o755)
    return run(path + ".sh")

def by_mprotect(path):
    with open(path, "rb") as file:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        place = libc.mmap(None, ctypes.c_size_t(4096), mmap.PROT_READ, mmap.MAP_PRIVATE, file.fileno(), ctypes.c_long(0))
        return libc.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(4096), mmap.PROT_READ | mmap.PROT_EXEC) == 0

PROGRAMS = {"exec": run, "exec of a descriptor": by_descriptor, "the loader": by_loader, "a script": by_script}
for folder in ("/tmp", "/workspace", "/dev/shm", "/var/tmp", "/run"):
    if ctypes is None or not os.access(folder, os.W_OK):
        continue
    program, library = copy("/usr/bin/env", folder), copy(_ctypes.__file__, folder)
    attempts = [(name, way, program) for name, way in PROGRAMS.items()]
    attempts += [("dlopen", ctypes.CDLL, library), ("mprotect", by_mprotect, library)]
    for name, way, path in attempts:
        tried += 1
        try:
            if way(path):
                succeeded.append(f"{name} in {folder}")
        except OSError:
            pass
print(json.dumps({"succeeded": succeeded, "tried": tried}))
`;

/** Prints which of the files that podman masks show anything, or are the kernel's own. */
const MASKED = `
import json, os, stat
shown = []
for path in ("/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug"):
    try:
        is_masked = stat.S_ISCHR(os.stat(path).st_mode)
        with open(path, "rb") as file:
            if file.read(1) or not is_masked:
                shown.append(path)
    except OSError:
        pass
for path in ("/proc/acpi", "/proc/asound", "/proc/scsi", "/sys/firmware"):
    shown += [path] if os.path.isdir(path) and os.listdir(path) else []
print(json.dumps(shown))
`;

/** Prints the ways in which code can see or delay what others do with a file: on bubblewrap, /usr is that of the machine. */
const WATCH = `
import json, os
found = []
try:
    import ctypes, fcntl
except ImportError:
    fcntl = None
if fcntl is not None:
    if ctypes.CDLL(None).inotify_init1(0) >= 0:
        found.append("inotify")
    with open("/tmp/own", "w"):
        pass
    for name, path, command, value in (("lease", "/tmp/own", 1024, 1), ("notice", "/usr", 1026, 1), ("delegation", "/tmp", 1040, 0)):
        try:
            fcntl.fcntl(os.open(path, os.O_RDONLY), command, value)
        except OSError:
            continue
        found.append(name)
print(json.dumps(found))
`;

describe.each(engines)('files of a sandbox on $label', (engine) => {
  let bridge: BridgeClient;
  beforeAll(async () => {
    bridge = await startBridge({ engine });
  });
  afterAll(() => bridge.close());

  it('do not execute, whoever maps them', async () => {
    const answer = await bridge.runPython(EXECUTE);
    expect(answer).toMatchObject({ isError: false });
    const { succeeded, tried } = JSON.parse(String(answer.structured['stdout'])) as Record<string, unknown>;
    expect(succeeded).toEqual([]);
    expect(tried).toBeGreaterThanOrEqual(engine.lacks.includes('ctypes') ? 0 : 18);
  });

  it('neither show nor delay what others do with them', async () => {
    const answer = await bridge.runPython(WATCH);
    expect(answer).toMatchObject({ isError: false });
    // With a cgroup, and so a root of its own, a sandbox watches only itself.
    const isOwn = engine.hasCgroupLimits && !engine.lacks.includes('ctypes');
    expect(JSON.parse(String(answer.structured['stdout']))).toEqual(isOwn ? ['inotify'] : []);
  });

  it('do not include what containers mask under /proc and /sys', async () => {
    const answer = await bridge.runPython(MASKED);
    expect(answer).toMatchObject({ isError: false, structured: { stdout: ['[]'] } });
  });
});
