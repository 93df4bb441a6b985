"""How much memory the process of the session uses."""

from __future__ import annotations

import os


def resident_bytes() -> int:
    """0 if the platform does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
