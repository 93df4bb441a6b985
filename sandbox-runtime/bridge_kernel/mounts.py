"""Mounts that the engine cannot make for us, and the end of the capabilities that they need.

bubblewrap cannot mount with `noexec` and masks less of /proc than Podman and Docker do, so it starts PID 1 with two
capabilities in the sandbox's own user namespace, and PID 1 does the rest before it starts the worker. That needs a new
mount namespace, because the existing one belongs to another user namespace. Flags: mount(2), unshare(2).
"""

from __future__ import annotations

import ctypes
import errno
import os

_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT, _MS_BIND = 1, 2, 4, 8, 32, 4096
_CAP_SYS_ADMIN = 1 << 21
_PR_CAPBSET_DROP = 24
_CAPABILITY_VERSION_3 = 0x20080522

SCRATCH = ("/tmp", "/workspace", "/dev/shm")
# What Podman and Docker mask: the keys of the user, facts about the machine's kernel and devices.
_MASKED_FILES = (
    "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/timer_list", "/proc/timer_stats",
    "/proc/interrupts",
)  # fmt: skip
_MASKED_FOLDERS = ("/proc/acpi", "/proc/asound", "/proc/scsi")


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Sets(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]


def finish(libc: ctypes.CDLL) -> None:
    """Completes the mounts of bubblewrap and drops all capabilities. Does nothing in a container: it has none.

    Raises OSError if a step fails.
    """
    if not _effective_capabilities(libc) & _CAP_SYS_ADMIN:
        return
    check(libc.unshare(_CLONE_NEWNS), "a new mount namespace")
    for folder in SCRATCH:
        flags = _MS_REMOUNT | _MS_BIND | _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
        check(libc.mount(None, folder.encode(), None, flags, None), f"mounting {folder} with noexec")
    for path in filter(os.path.exists, _MASKED_FILES):
        check(libc.mount(b"/dev/null", path.encode(), None, _MS_BIND, None), f"masking {path}")
    for path in filter(os.path.exists, _MASKED_FOLDERS):
        flags = _MS_RDONLY | _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
        check(libc.mount(b"tmpfs", path.encode(), b"tmpfs", flags, None), f"masking {path}")
    _drop_capabilities(libc)


def hide_zero(libc: ctypes.CDLL) -> bool:
    """Makes /dev/zero refuse shared mappings, which are memory that only a cgroup counts. Returns whether it does.

    /dev/full reads the same, and cannot be mapped. bubblewrap mounts it there. In a container without cgroup limits,
    this process does, in a user namespace of its own. Where a first attempt in a child fails, nothing is changed: some
    engines forbid such a namespace, and gVisor cannot write its maps.
    """
    if not _maps_zero():
        return True
    child = os.fork()
    if child == 0:
        try:
            _cover_zero(libc)
        except OSError:
            os._exit(1)
        os._exit(1 if _maps_zero() else 0)
    if os.waitpid(child, 0)[1] != 0:
        return False
    _cover_zero(libc)
    return True


def _cover_zero(libc: ctypes.CDLL) -> None:
    user, group = os.getuid(), os.getgid()
    check(libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS), "a new user namespace")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    check(libc.mount(b"/dev/full", b"/dev/zero", None, _MS_BIND, None), "covering /dev/zero")
    _drop_capabilities(libc)


def _maps_zero() -> bool:
    import mmap

    try:
        # Only a mapping of a descriptor that can also write is shared.
        with open("/dev/zero", "r+b", buffering=0) as file:
            mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_SHARED).close()
    except OSError:
        return False  # No such device: this one is not mapped, or there is none.
    return True


def _effective_capabilities(libc: ctypes.CDLL) -> int:
    sets = (_Sets * 2)()
    check(libc.capget(ctypes.byref(_Header(_CAPABILITY_VERSION_3, 0)), sets), "reading capabilities")
    return sets[0].effective


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Also from the bounding set, from which a program could regain them. Ambient ones go too (capabilities(7))."""
    capability = 0
    while libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    if ctypes.get_errno() != errno.EINVAL:  # EINVAL: the kernel has no capability of this number.
        raise OSError(ctypes.get_errno(), "dropping the bounding set failed")
    check(libc.capset(ctypes.byref(_Header(_CAPABILITY_VERSION_3, 0)), (_Sets * 2)()), "dropping capabilities")


def check(result: int, step: str) -> None:
    """Raises OSError with the name of the step if a call of libc failed."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{step} failed ({os.strerror(number)})")
