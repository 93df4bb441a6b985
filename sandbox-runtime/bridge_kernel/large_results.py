"""A large result: where its bytes arrive, and how its JSON is decoded.

Most of the time of 64 MiB goes into memory that is used for the first time, page by page. So the bytes are read to
where they stay, in large pages if the system has them, and a long text is copied from there, not from a text of the
whole JSON.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import mmap
    from typing import NoReturn

# A shorter text is not worth the search for its end. Chosen.
_LONG_BYTES = 1 << 14
# How many texts are looked at. Chosen: a long one is among the first, as in a block of a result, or the JSON has many.
_MAX_TEXTS = 64
_WHITE_SPACE = b" \t\r\n"


class Body:
    """The bytes of a result, which arrive in pieces.

    Raises:
        MemoryError: the session has no room for them.
    """

    def __init__(self, size: int) -> None:
        self.data = _memory_of(size)
        self._filled = 0

    def place_for(self, size: int) -> memoryview:
        """Where the next piece belongs. Whoever fills it releases it."""
        start = self._filled
        self._filled += size
        return memoryview(self.data)[start : self._filled]


def _memory_of(size: int) -> mmap.mmap | bytearray:
    """Memory that is not cleared before it is used, if there is such."""
    try:
        import mmap
    except ImportError:
        return bytearray(size)  # Python in WebAssembly.
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError from error
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except (AttributeError, OSError):
        pass  # The system has none.
    return memory


def loads(data: mmap.mmap | bytearray) -> object:
    """Like `json.loads` of valid JSON. Frees `data`.

    Raises:
        ValueError: it is not valid JSON in UTF-8. Control characters within a long text are not noticed.
    """
    texts = _long_texts(data)
    try:
        rest, values = _without(data, texts)
    finally:
        free(data)
    if not texts:
        return json.loads(rest)
    taken = iter(values)

    def take(name: str) -> str:
        return next(taken, None) or _refuse(name)

    # What has taken the place of a text is nothing that JSON has.
    return json.loads(rest, parse_constant=take)


def free(data: mmap.mmap | bytearray) -> None:
    """Gives the memory back."""
    if isinstance(data, bytearray):
        data.clear()
    else:
        data.close()


def _long_texts(data: mmap.mmap | bytearray) -> list[tuple[int, int]]:
    """Where long values without escapes stand among the first texts: at their first quote, and behind their last."""
    found: list[tuple[int, int]] = []
    end = 0
    for _ in range(_MAX_TEXTS):
        start = data.find(b'"', end)
        end = data.find(b'"', start + 1) + 1
        if start < 0 or end == 0 or data.find(b"\\", start, end) >= 0:
            break  # The quote may be escaped.
        if end - start > _LONG_BYTES and not _is_key(data, end):
            found.append((start, end))
    return found


def _is_key(data: mmap.mmap | bytearray, end: int) -> bool:
    while data[end : end + 1] and data[end] in _WHITE_SPACE:
        end += 1
    return data[end : end + 1] == b":"


def _without(data: mmap.mmap | bytearray, texts: list[tuple[int, int]]) -> tuple[str, list[str]]:
    """The JSON with a constant in place of each text, and the texts."""
    with memoryview(data) as view:
        values = [str(view[start + 1 : end - 1], "utf-8") for start, end in texts]
        ends = [0, *(end for _, end in texts)]
        starts = [*(start for start, _ in texts), len(view)]
        rest = "NaN".join(str(view[end:start], "utf-8") for end, start in zip(ends, starts, strict=False))
    return rest, values


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
