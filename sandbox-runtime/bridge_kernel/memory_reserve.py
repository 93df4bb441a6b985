"""Memory that the code of a cell cannot take, so that the kernel can still answer when the rest is used up.

Variables that fill the memory stay after their cell: later cells still need answers, and frames still have to be read.
"""

from __future__ import annotations

import io
import os

try:
    import resource
except ImportError:
    resource = None  # Python in WebAssembly.

# Reading a pipe takes up to 1 MiB, and the text of an error far less. Chosen.
_RESERVE_BYTES = 8 << 20
# A smaller block would not help. Chosen.
_LEAST_BYTES = 1 << 18
# What a read takes when memory is short. Chosen.
_SHORT_READ_BYTES = 1 << 14


class _Limited:
    """Lowers the soft data limit of the process. That occupies no memory, and works when memory is full."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def take(self) -> None:
        self._set(self._limit - _RESERVE_BYTES)

    def end_cell(self) -> None:
        self.release()

    def release(self) -> None:
        self._set(self._limit)

    def _set(self, soft_limit: int) -> None:
        assert resource is not None
        try:
            resource.setrlimit(resource.RLIMIT_DATA, (soft_limit, self._limit))
        except (ValueError, OSError):
            pass  # User code lowered the hard limit, which nothing can raise again.


class _Held:
    """Holds a block. Kept from cell to cell until memory is short: a new one may take a millisecond."""

    def __init__(self) -> None:
        self._block: object = None

    def take(self) -> None:
        size = _RESERVE_BYTES
        while self._block is None and size >= _LEAST_BYTES:
            try:
                # The buffer of a writer is not cleared, so it occupies no physical memory. `bytes` are, in WebAssembly.
                self._block = io.BufferedWriter(io.BytesIO(), size)
            except MemoryError:
                size //= 2  # The user's variables fill the memory.

    def end_cell(self) -> None:
        pass

    def release(self) -> None:
        self._block = None


def _create() -> _Limited | _Held:
    if resource is not None:
        hard_limit = resource.getrlimit(resource.RLIMIT_DATA)[1]
        if hard_limit > 2 * _RESERVE_BYTES:  # No limit is a negative number.
            return _Limited(hard_limit)
    return _Held()


_reserve = _create()
# Called when the code of a cell begins, and when it has ended.
take = _reserve.take
end_cell = _reserve.end_cell
# Called when memory is short.
release = _reserve.release


def read(descriptor: int, most: int) -> bytes:
    """Like `os.read`; when memory is short, reads less and releases the reserve."""
    try:
        return os.read(descriptor, most)
    except MemoryError:
        release()
        return os.read(descriptor, _SHORT_READ_BYTES)
