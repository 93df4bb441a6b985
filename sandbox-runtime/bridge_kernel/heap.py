"""The heap of the C library."""

from __future__ import annotations

import sys


def trim() -> None:
    """Returns free pages to the system. Takes milliseconds; loading modules leaves megabytes that nothing uses again.

    Only glibc does this, and only where the supervisor has loaded ctypes: not in WebAssembly.
    """
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None:
        try:
            ctypes.CDLL(None).malloc_trim(0)
        except Exception:  # noqa: BLE001 Another C library, or user code has changed ctypes.
            return
