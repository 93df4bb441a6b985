"""PID 1 of the sandbox: starts the worker, reaps children, reports the end, and ends everything when the host is gone.

PID 1 runs no user code and is out of its reach: it is not dumpable, so a process of the same user can neither trace it
nor open its descriptors. It does not relay the protocol; the worker uses the pipes directly. Its reports, one JSON line
each, go to stderr, a descriptor that only PID 1 keeps, so no other process can forge them. When PID 1 exits, the kernel
kills every process in its PID namespace (pid_namespaces(7)).
"""

from __future__ import annotations

import _signal as signal  # The public module builds enums, which takes 2 ms at every start.
import ctypes
import gc
import os
import resource
import select
import sys

from bridge_kernel import heap, importer, mounts, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    # Private memory of a process in bytes; None if this thread has ended.
    Count = Callable[[str, str], int | None]
    # Memory in bytes and processes; None for what a cgroup limits.
    _Limits = tuple[int | None, int | None]

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
# When memory runs out, the kernel kills the worker first (proc(5)); PID 1 must survive to report it.
_WORKER_OOM_SCORE = "1000"
# How often usage is checked without cgroup limits. Chosen; bursts shorter than 0.1 s can be missed.
_WATCH_INTERVAL_MS = 100
# How often the lease of a Pod is checked.
_LEASE_INTERVAL_MS = 1_000
# Processes beyond the limit that can be made, so that it is seen that there are too many. Chosen.
_SPARE_PIDS = 16
# Counting exactly what more processes than these share takes longer than they need to make others.
_MAX_SHARING = 64
# How many ended children are reaped before the host and the limits are looked at again. Chosen.
_REAPED_AT_ONCE = 256
# The most that a pipe holds by default (pipe(7)), and how much is read at once.
_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Memory of the kernel for one name in a tmpfs: an inode, an entry of the folder, up to 255 characters. Chosen.
_FILE_BYTES = 2048
# What a process uses beside its resident private memory (proc(5)): shared memory, swap, page tables, huge pages.
_OTHER_USE = ("RssShmem:", "VmSwap:", "VmPTE:", "HugetlbPages:")
# Set by the first process of a Pod, together with two processes of its own that are not the code's.
_POD_VARIABLE = "MCP_BRIDGE_POD"
_OF_POD = 2
# cgroup v1 writes "no limit" as the largest page-aligned number.
_NO_LIMIT = 1 << 60


def run(options: bytes | bytearray) -> None:
    """Runs as PID 1 and never returns.

    The first line of `options` is `memory_bytes pids`, and modules to import ahead of a session. Two more name the
    folder of a set of packages that the session has from its start, and the Python that it is for.
    """
    if os.getpid() != 1:
        # Outside a PID namespace, `kill(-1)` would hit every process of the user.
        _report_failed("not PID 1")
    pod = _read_pod()
    _close_inherited(pod.descriptors if pod else ())
    first, *packages = options.decode("ascii").split("\n")
    memory, processes, *modules = first.split()
    memory_bytes, pids = int(memory), int(processes)
    libc = ctypes.CDLL(None, use_errno=True)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    try:
        _prctl(libc, _PR_SET_DUMPABLE, 0)
        mounts.finish(libc)
    except OSError as error:
        _report_failed(str(error.strerror))
    memory_limit = _first_number("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
    pids_limit = _first_number("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")
    # Each limit by itself: Kubernetes limits the memory of a container, but not its processes.
    memory_holds = memory_limit is not None and memory_limit <= memory_bytes
    pids_hold = pids_limit is not None and pids_limit <= pids
    if pod:
        pids += _OF_POD
    has_filter = seccomp.build_filter(seccomp.machine_name()) is not None
    _report(
        f'{{"report":"started","memory_limit_bytes":{_json(memory_limit)},"pids_limit":{_json(pids_limit)},'
        f'"seccomp":{"true" if has_filter else "false"},"python":"{_python()}"}}'
    )
    child_ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    ooms = _oom_kills()
    # Created here, so that output left in the pipes survives a sudden end of the worker.
    outputs = (os.pipe(), os.pipe())
    # Neither process writes to these objects to look for garbage, so they stay shared.
    gc.freeze()
    worker = os.fork()
    if worker == 0:
        signal.set_wakeup_fd(-1)
        os.close(child_ended)
        os.close(wake)
        for descriptor in pod.descriptors if pod else ():
            os.close(descriptor)
        become_worker(
            libc,
            None if memory_holds else memory_bytes,
            None if pids_hold else pids,
            has_network=pod is not None and pod.has_network,
        )
        _run_kernel(outputs, modules, memory_bytes, packages)
    gc.enable()
    # Only the worker needs the sources and the code pack.
    importer.installed().discard()
    heap.trim()
    for _, write_end in outputs:
        os.close(write_end)
    left = _Leftovers([read_end for read_end, _ in outputs])
    stand_in = (None if memory_holds else memory_bytes, None if pids_hold else pids)
    _watch(worker, child_ended, ooms, left, None if stand_in == (None, None) else stand_in, pod)


class _Pod:
    """What `pod/holder.py` left to this process. Its relay runs as the user of the code, who can stop it."""

    def __init__(self, text: str) -> None:
        numbers = [int(word) for word in text.split()]
        # The farewell, the input of the relay, and what the relay writes while the bridge is there.
        self.descriptors = tuple(numbers[:3])
        self._input, self._beat = numbers[1], numbers[2]
        self._lease_s = numbers[3]
        self.has_network = numbers[4] == 1
        self._end = _monotonic() + self._lease_s

    def register(self, poll: select.poll) -> None:
        poll.register(self._input, 0)
        poll.register(self._beat, select.POLLIN)

    def is_lost(self, descriptors: list[int]) -> bool:
        """Whether the bridge is gone."""
        if self._beat in descriptors:
            beats = os.read(self._beat, 4096)
            if not beats:
                return True
            # Each byte is the number of leases until the next one.
            self._end = _monotonic() + beats[-1] * self._lease_s
        return self._input in descriptors or _monotonic() > self._end


def _python() -> str:
    """As in `ready`, which modules that are imported ahead could forge."""
    return f"{sys.implementation.cache_tag} {sys.platform} {os.uname().machine}"


def _monotonic() -> float:
    import time  # Only in a Pod.

    return time.monotonic()


def _read_pod() -> _Pod | None:
    text = os.environ.pop(_POD_VARIABLE, "")
    return _Pod(text) if text else None


def _close_inherited(kept: tuple[int, ...]) -> None:
    """Closes descriptors that the host leaked: not every engine does, and an open directory would be a way out."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                pass  # The descriptor of the listing itself.


class _Leftovers:
    """Output that the worker wrote but did not get to send."""

    def __init__(self, read_ends: list[int]) -> None:
        self._read_ends = read_ends

    def take(self) -> str:
        """Two members of the report: the rest of both streams, in base64."""
        import binascii

        texts = [binascii.b2a_base64(self._drain(end), newline=False).decode("ascii") for end in self._read_ends]
        return f'"stdout":"{texts[0]}","stderr":"{texts[1]}"'

    def _drain(self, read_end: int) -> bytes:
        # A descendant of the worker may still be writing, so read no more than a pipe holds.
        os.set_blocking(read_end, False)
        pieces: list[bytes] = []
        for _ in range(_PIPE_BYTES // _READ_BYTES):
            try:
                piece = os.read(read_end, _READ_BYTES)
            except BlockingIOError:
                break
            if not piece:
                break
            pieces.append(piece)
        return b"".join(pieces)


def become_worker(
    libc: ctypes.CDLL, data_bytes: int | None, pids: int | None = None, *, has_network: bool = False
) -> None:
    """Drops all rights that user code must not have. A failed step ends the sandbox."""
    try:
        os.setsid()
        # The files of /proc/self that a new user namespace needs belong to root while a process is not dumpable.
        _prctl(libc, _PR_SET_DUMPABLE, 1)
        shares_files = data_bytes is None or mounts.hide_zero(libc)
        # After the new user namespace: a change of credentials resets both.
        _prctl(libc, _PR_SET_PDEATHSIG, signal.SIGKILL)
        _prctl(libc, _PR_SET_DUMPABLE, 1)
        for number in (*_IGNORED, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(_WORKER_OOM_SCORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if data_bytes is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (data_bytes, data_bytes))
        if pids is not None and _is_counted_alone():
            # Thousands of processes would leave their parent, which watches the limit, no time to do so.
            resource.setrlimit(resource.RLIMIT_NPROC, (pids + _SPARE_PIDS, pids + _SPARE_PIDS))
        program = seccomp.build_filter(seccomp.machine_name(), data_bytes is None, shares_files, has_network)
        if program is not None:
            seccomp.apply_filter(libc, program)
    except OSError as error:
        _report_failed(str(error))


def _is_counted_alone() -> bool:
    """Whether RLIMIT_NPROC counts only processes of this sandbox. Since Linux 5.14, it does so in a user namespace."""
    try:
        major, minor = (int(word) for word in os.uname().release.split(".")[:2])
        with open("/proc/self/uid_map") as file:
            first_id, _, ids = file.read().split()
    except ValueError:
        return False  # Several ranges of ids: the namespace may have other sandboxes.
    return (major, minor) >= (5, 14) and ids == "1" and int(first_id) == os.getuid()


def _prctl(libc: ctypes.CDLL, option: int, value: int) -> None:
    mounts.check(libc.prctl(option, value, 0, 0, 0), f"prctl({option}, {value})")


def _run_kernel(
    outputs: tuple[tuple[int, int], tuple[int, int]], modules: list[str], memory_bytes: int, packages: list[str]
) -> None:
    from bridge_kernel import __main__ as kernel

    kernel.run(outputs, modules, memory_bytes, packages)
    os._exit(0)


def _watch(
    worker: int, child_ended: int, ooms: int, left: _Leftovers, stand_in: _Limits | None, pod: _Pod | None
) -> None:
    """Waits for the end of the host or of the worker. `stand_in` holds the limits that no cgroup enforces, if any."""
    poll = select.poll()
    # No events requested: only hang-up and error are reported, and unread frames do not wake us.
    poll.register(0, 0)
    poll.register(child_ended, select.POLLIN)
    if pod:
        pod.register(poll)
    has_more = False
    pause_ms = _WATCH_INTERVAL_MS if stand_in else _LEASE_INTERVAL_MS if pod else None
    while True:
        ready = [descriptor for descriptor, _ in poll.poll(0 if has_more else pause_ms)]
        if 0 in ready or (pod and pod.is_lost(ready)):
            os._exit(0)
        if child_ended in ready:
            os.read(child_ended, 4096)
        status, has_more = _reap(worker)
        if status is not None:
            _report_end(status, _oom_kills() > ooms, left)
        exceeded = _exceeded(*stand_in) if stand_in else None
        if exceeded is not None:
            os.kill(-1, signal.SIGKILL)
            _report_ended(exceeded, f'"exit_code":null,"signal":9,{left.take()}')
            os._exit(137)


def _reap(worker: int) -> tuple[int | None, bool]:
    """Reaps ended children; returns the worker's wait status if it was among them, and whether more may have ended.

    Not all at once: code that makes children faster than they can be reaped would keep this process from all else.
    """
    status = None
    for _ in range(_REAPED_AT_ONCE):
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status, False
        if pid == 0:
            return status, False
        if pid == worker:
            status = ended
    return status, True


def _report_end(status: int, out_of_memory: bool, left: _Leftovers) -> None:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        cause = "memory" if out_of_memory and code == -signal.SIGKILL else "signal"
        _report_ended(cause, f'"exit_code":null,"signal":{-code},{left.take()}')
        os._exit(128 - code)
    _report_ended("exit", f'"exit_code":{code},"signal":null,{left.take()}')
    os._exit(code)


def _exceeded(memory_bytes: int | None, pids: int | None) -> str | None:
    """The exceeded limit: `memory`, `pids` or None."""
    if memory_bytes is None:
        return "pids" if pids is not None and _threads() >= pids else None
    used, processes = _use(_resident)
    if pids is not None and processes >= pids:
        return "pids"
    if used > memory_bytes and processes <= _MAX_SHARING:
        # What forked processes share counted once for each. This count is exact, but takes far longer.
        used, _ = _use(_proportional)
    return "memory" if used > memory_bytes else None


def _use(count: Count) -> tuple[int, int]:
    """Memory in use in bytes, and the number of threads. `count` says how much of a process's private memory counts."""
    used, processes = 0, 0
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or entry == "1":
            continue
        try:
            threads = os.listdir(f"/proc/{entry}/task")
            processes += len(threads)
            used += _memory_of(entry, threads, count)
        except OSError:
            continue  # The process ended in the meantime.
    for path in mounts.SCRATCH:
        try:
            usage = os.statvfs(path)
            used += (usage.f_blocks - usage.f_bfree) * usage.f_frsize
            used += (usage.f_files - usage.f_ffree) * _FILE_BYTES
        except OSError:
            continue  # This engine does not mount it.
    return used, processes


def _threads() -> int:
    """The number of threads, without what takes long to count."""
    count = 0
    for entry in os.listdir("/proc"):
        if entry.isdigit() and entry != "1":
            try:
                count += len(os.listdir(f"/proc/{entry}/task"))
            except OSError:
                continue  # The process ended in the meantime.
    return count


def _memory_of(pid: str, threads: list[str], count: Count) -> int:
    """Memory of a process in bytes. The first thread may have ended; then only the other threads show the memory."""
    for thread in threads:
        try:
            private = count(pid, thread)
            with open(f"/proc/{pid}/task/{thread}/status") as file:
                others = sum(int(line.split()[1]) << 10 for line in file if line.startswith(_OTHER_USE))
        except (OSError, ValueError):
            continue  # The thread ended in the meantime.
        if private is not None:
            return private + others
    return 0


def _resident(pid: str, thread: str) -> int | None:
    """Pages that processes share since a fork count once for each of them."""
    with open(f"/proc/{pid}/task/{thread}/statm") as file:
        size, resident, shared = (int(word) * _PAGE_BYTES for word in file.read().split()[:3])
    return resident - shared if size else None


def _proportional(pid: str, thread: str) -> int | None:
    """Of pages that processes share since a fork, each has its part (`Pss_Anon` in proc(5))."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss_Anon:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass  # Its first thread has ended, or it may not be read: code can make that so.
    return _resident(pid, thread)


def _oom_kills() -> int:
    """The number of OOM kills in this cgroup; 0 if unknown."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        try:
            with open(path) as file:
                for line in file:
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        except (OSError, ValueError):
            continue  # Try the other cgroup version.
    return 0


def _first_number(*paths: str) -> int | None:
    """The limit from the first of these cgroup files that has one; None for "max" or cgroup v1's maximum."""
    for path in paths:
        try:
            with open(path) as file:
                number = int(file.read())
        except (OSError, ValueError):
            continue  # Absent, or "max".
        if number < _NO_LIMIT:
            return number
    return None


def _report_failed(detail: str) -> NoReturn:
    _report_ended("failed", f'"exit_code":null,"signal":null,"detail":{_json(detail)}')
    os._exit(70)


def _report_ended(cause: str, members: str) -> None:
    _report(f'{{"report":"ended","cause":"{cause}",{members}}}')


def _report(line: str) -> None:
    data = line.encode("ascii", "replace") + b"\n"
    try:
        while data:
            data = data[os.write(2, data) :]
    except OSError:
        pass  # The host is gone; the poll on stdin ends this process.


def _json(value: int | str | None) -> str:
    """A number, a simple text or null as JSON, without importing json in every PID 1."""
    if value is None:
        return "null"
    if isinstance(value, int):
        return str(value)
    text = "".join(c if c.isalnum() or c in " .,:_-()[]/" else "?" for c in value)
    return f'"{text}"'
