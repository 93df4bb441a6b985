"""The module `mmap` of the embedded engine: a file that is mapped is read into memory.

Files can be mapped for reading (`ACCESS_READ`) or as a private copy (`ACCESS_COPY`). A map whose changes would reach
the file is refused. Errors are worded as in CPython.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

ACCESS_DEFAULT, ACCESS_READ, ACCESS_WRITE, ACCESS_COPY = range(4)
MAP_SHARED, MAP_PRIVATE, MAP_ANON, MAP_ANONYMOUS = 1, 2, 32, 32
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
PAGESIZE = ALLOCATIONGRANULARITY = 1 << 16
"""A page of WebAssembly."""
error = OSError
_BLOCK = 1 << 20
_NO_CHANGES = (
    "the embedded sandbox maps files only for reading (access=mmap.ACCESS_READ) or as a private copy "
    "(access=mmap.ACCESS_COPY); write to the file itself to change it"
)


class mmap:  # noqa: N801 Named as in Python.
    """What a file has, or `length` zeros if `fileno` is -1."""

    def __init__(
        self,
        fileno: int,
        length: int,
        flags: int = MAP_SHARED,
        prot: int = PROT_WRITE | PROT_READ,
        access: int = ACCESS_DEFAULT,
        offset: int = 0,
        *,
        trackfd: bool = True,
    ) -> None:
        if length < 0 or offset < 0:
            raise OverflowError("memory mapped length and offset must be positive")
        if access == ACCESS_DEFAULT and flags & MAP_PRIVATE:
            access = ACCESS_COPY
        elif access == ACCESS_DEFAULT and not prot & PROT_WRITE:
            access = ACCESS_READ
        if fileno == -1:
            if length == 0:
                raise OSError(errno.EINVAL, "Invalid argument")
            self._size, self._data = length, bytearray(length)
        elif access not in (ACCESS_READ, ACCESS_COPY):
            raise OSError(errno.ENOTSUP, _NO_CHANGES)
        else:
            self._size = os.fstat(fileno).st_size
            self._data = _read(fileno, _length_within(self._size, length, offset), offset)
        self._data: bytes | bytearray | None = bytes(self._data) if access == ACCESS_READ else self._data
        self._position = 0

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._data is None

    def close(self) -> None:
        """Gives up what was read."""
        self._data = None

    def __enter__(self) -> mmap:
        self._have()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _have(self) -> bytes | bytearray:
        if self._data is None:
            raise ValueError("mmap closed or invalid")
        return self._data

    def _change(self) -> bytearray:
        data = self._have()
        if isinstance(data, bytes):
            raise TypeError("mmap can't modify a readonly memory map.")
        return data

    def __buffer__(self, flags: int, /) -> memoryview:
        return memoryview(self._have())

    def __len__(self) -> int:
        return len(self._have())

    def __getitem__(self, key: Any) -> Any:
        data = self._have()
        if not isinstance(key, slice) and not -len(data) <= key < len(data):
            raise IndexError("mmap index out of range")
        found = data[key]
        return bytes(found) if isinstance(found, bytearray) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        data = self._change()
        if isinstance(key, slice) and len(range(*key.indices(len(data)))) != len(value):
            raise IndexError("mmap slice assignment is wrong size")
        data[key] = value

    def __iter__(self) -> Iterator[bytes]:
        return (self[at : at + 1] for at in range(len(self)))

    def find(self, sub: Any, start: int | None = None, end: int | None = None) -> int:
        """Where `sub` is first, from the position on unless `start` is given; -1 if nowhere."""
        return self._have().find(sub, self._position if start is None else start, end)

    def rfind(self, sub: Any, start: int | None = None, end: int | None = None) -> int:
        """Where `sub` is last."""
        return self._have().rfind(sub, self._position if start is None else start, end)

    def tell(self) -> int:
        """The position."""
        self._have()
        return self._position

    def seek(self, offset: int, origin: int = os.SEEK_SET) -> int:
        """Moves the position within the map."""
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: len(self)}
        if origin not in starts:
            raise ValueError("unknown seek type")
        if not 0 <= starts[origin] + offset <= len(self):
            raise ValueError("seek out of range")
        self._position = starts[origin] + offset
        return self._position

    def seekable(self) -> bool:
        """Always."""
        return True

    def read(self, n: int | None = None) -> bytes:
        """The next `n` bytes, or all that follow."""
        end = len(self) if n is None or n < 0 else min(self._position + n, len(self))
        found = self[self._position : end]
        self._position = end
        return found

    def read_byte(self) -> int:
        """The next byte."""
        if self._position >= len(self):
            raise ValueError("read byte out of range")
        self._position += 1
        return self._have()[self._position - 1]

    def readline(self) -> bytes:
        """The rest of the line, with its end."""
        end = self._have().find(b"\n", self._position)
        return self.read(None if end < 0 else end + 1 - self._position)

    def write(self, data: Any) -> int:
        """Puts bytes at the position."""
        count = memoryview(data).nbytes
        if self._position + count > len(self._change()):
            raise ValueError("data out of range")
        self[self._position : self._position + count] = bytes(data)
        self._position += count
        return count

    def write_byte(self, byte: int) -> None:
        """Puts one byte at the position."""
        self.write(bytes([byte]))

    def move(self, dest: int, src: int, count: int) -> None:
        """Copies bytes within the map."""
        data = self._change()
        if min(dest, src, count) < 0 or max(dest, src) + count > len(data):
            raise ValueError("source, destination, or count out of range")
        data[dest : dest + count] = data[src : src + count]

    def size(self) -> int:
        """Of the whole file."""
        self._have()
        return self._size

    def resize(self, newsize: int) -> None:
        """Refuses."""
        raise SystemError("mmap: resizing not available--no mremap()")

    def flush(self, *_: int) -> None:
        """Does nothing: no change reaches a file."""
        self._have()

    def madvise(self, *_: int) -> None:
        """Does nothing."""
        self._have()


def _length_within(size: int, length: int, offset: int) -> int:
    if length == 0 and size == 0:
        raise ValueError("cannot mmap an empty file")
    if length == 0 and offset >= size:
        raise ValueError("mmap offset is greater than file size")
    if offset + length > size:
        raise ValueError("mmap length is greater than file size")
    return length or size - offset


def _read(descriptor: int, length: int, offset: int) -> bytearray:
    """Leaves the position of the file as it is."""
    data = bytearray()
    while len(data) < length:
        block = os.pread(descriptor, min(length - len(data), _BLOCK), offset + len(data))
        if not block:
            raise ValueError("mmap length is greater than file size")
        data += block
    return data


mmap.__module__ = "mmap"
