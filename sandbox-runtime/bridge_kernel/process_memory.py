"""How much memory the process of the session uses."""

from __future__ import annotations

import os

# Seven numbers need less (proc_pid_statm(5)).
_MOST_BYTES = 256


def resident_bytes() -> int:
    """0 if the platform does not say."""
    try:
        # Without a file object, which takes longer than the system calls.
        descriptor = os.open("/proc/self/statm", os.O_RDONLY)
        try:
            return int(os.read(descriptor, _MOST_BYTES).split()[1]) * os.sysconf("SC_PAGE_SIZE")
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return 0
