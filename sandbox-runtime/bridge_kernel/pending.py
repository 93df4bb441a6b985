"""A call that user code has not awaited yet, and the errors that explain a forgotten `await`."""

from __future__ import annotations

import sys
from weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterator
    from types import TracebackType
    from typing import Any


_unused: set[ref[Pending]] = set()
"""Calls of this cell that have not been used yet."""


_cell_file = ""
_MAX_FRAMES = 32
"""How many frames are searched for the line of the cell; the user's helpers are nested less deeply. Chosen."""


def begin_cell(file: str) -> None:
    """Sets the file name of the running cell."""
    global _cell_file  # noqa: PLW0603
    _cell_file = file


def calling_line(depth: int = 2) -> int | None:
    """The line of the running cell that leads here, to show in approval requests.

    None if the cell is not on the stack, as in a separate task that runs code of an earlier cell.
    `depth` is the number of frames between this function and user code.
    """
    frame = sys._getframe(depth)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    for _ in range(_MAX_FRAMES):
        if frame.f_code.co_filename == _cell_file:
            return frame.f_lineno
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None


class Pending:
    """A call that starts when it is awaited.

    To asyncio it is a coroutine (`gather`, `create_task`, `wait_for`); any other use raises an error with the fix.
    A plain coroutine would raise `'coroutine' object is not subscriptable`, which names neither the call nor the fix.
    """

    __slots__ = ("__weakref__", "_coroutine", "_label", "_line", "_make", "_reference", "_used")

    def __init__(self, label: str, make: Callable[[], Coroutine[Any, Any, object]], depth: int = 2) -> None:
        """`label` names the call in messages; `depth` is the number of frames between this function and user code."""
        self._used = False
        self._label = label
        self._make = make
        self._coroutine: Coroutine[Any, Any, object] | None = None
        # Gets the caller's line without an import.
        frame = sys._getframe(depth)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        self._line = (frame.f_code.co_filename, frame.f_lineno)
        self._reference: ref[Pending] = ref(self)
        _unused.add(self._reference)

    def _use(self) -> None:
        self._used = True
        _unused.discard(self._reference)

    def _started(self) -> Coroutine[Any, Any, object]:
        self._use()
        if self._coroutine is None:
            self._coroutine = self._make()
            self._coroutine.__qualname__ = self._label.partition("(")[0]  # For the repr of tasks.
        return self._coroutine

    def send(self, value: object) -> object:
        return coroutine_of(self).send(value)

    def throw(self, kind: Any, value: Any = None, traceback: TracebackType | None = None) -> object:
        return coroutine_of(self).throw(kind if value is None else value)

    def close(self) -> None:
        self._use()
        if self._coroutine is not None:
            self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, object]:
        return coroutine_of(self).__await__()

    def __del__(self) -> None:
        if not self._used and not sys.is_finalizing():
            self.warn("was never awaited")

    def warn(self, what: str) -> None:
        """Warns on stderr, with the line of the call, what was not done and what to write instead."""
        import warnings

        self._use()
        warnings.warn_explicit(f"{self._label} {what}: {self._advice()}", RuntimeWarning, self._line[0], self._line[1])

    def _advice(self) -> str:
        return f"write 'await {self._label}'"

    def _refuse(self, kind: type[Exception]) -> Exception:
        self._use()  # One message is enough.
        return kind(f"{self._label} was not awaited, so there is no result yet: {self._advice()}")

    def __repr__(self) -> str:
        self._use()  # The repr is the warning.
        return f"<{self._label}, not awaited: {self._advice()}>"

    def __getattr__(self, name: str) -> object:
        # asyncio and inspect probe for coroutine attributes (`cr_frame`, …), which must simply be missing.
        if name.startswith(("_", "cr_", "gi_")):
            raise AttributeError(name)
        raise self._refuse(AttributeError)

    def __getitem__(self, key: object) -> object:
        raise self._refuse(TypeError)

    def __iter__(self) -> Iterator[object]:
        raise self._refuse(TypeError)

    def __len__(self) -> int:
        raise self._refuse(TypeError)

    def __contains__(self, item: object) -> bool:
        raise self._refuse(TypeError)

    def __bool__(self) -> bool:
        raise self._refuse(TypeError)


def coroutine_of(pending: Pending) -> Coroutine[Any, Any, object]:
    """The coroutine of a call, which counts as used. A function, because every attribute of a call asks for `await`."""
    return pending._started()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def warn_of_unused() -> None:
    """Warns about calls that a cell stored without awaiting them; nothing was sent for those."""
    for reference in list(_unused):
        pending = reference()
        if pending is not None:
            pending.warn("was not awaited in this cell, so nothing was sent")
    _unused.clear()
