"""The kernel on a Python with one thread and no processes: the WASI interpreter of the embedded engine.

Descriptors are the only connection to the outside. Everything that waits for the host (the event loop, a blocking call,
a nested loop) waits with `select` and handles the frames that arrive. An interrupt arrives as SIGINT without help from
here: the host side looks for its frame as soon as the bytes arrive, and ends any wait.

`embedded_boot.py` starts it. The counterpart for a Python with threads is `threaded.py`.
"""

from __future__ import annotations

import asyncio
import io
import os
import select
import sys
import time

from bridge_kernel import memory_reserve, missing, nested_run, rpc, stdio
from bridge_kernel.loop import CellLoop

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from typing import Any, NoReturn

    from bridge_kernel.frames import Frame

# Bytes read from the host at once: no more than needed when memory is nearly full.
_READ_BYTES = 1 << 16
# Output is collected for this long, or up to this size, so a program that prints line by line sends few frames.
_BATCH_SECONDS = 0.02
_BATCH_BYTES = 1 << 15

_monotonic = time.monotonic


class _Woken(BaseException):
    """Raised by a signal handler to end the wait that it interrupted."""


class Channel(rpc.Channel):
    """A channel whose frames are read by whoever waits."""

    def __init__(self, read_descriptor: int, write_descriptor: int) -> None:
        super().__init__(read_descriptor, write_descriptor)
        self._is_waiting = False
        self.before_waiting: Callable[[], object] = bool
        """Called before every wait that may take long."""

    def start(self, on_frame: Callable[[Frame], None]) -> None:
        """Starts receiving frames, which happens during waits."""
        self._on_frame = on_frame
        self._take(b"")

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Handles frames until one of them sets the event."""
        end = None if timeout is None else _monotonic() + timeout
        while not event.is_set():
            left = None if end is None else end - _monotonic()
            if left is not None and left <= 0:
                return False
            self.pump(left)
        return True

    def pump(self, timeout: float | None) -> None:
        """Waits for input from the host, at most `timeout` seconds, and handles it. Exits if the host is gone."""
        if self._wait_for_input(timeout):
            data = memory_reserve.read(self._read_descriptor, _READ_BYTES)
            if not data:
                os._exit(0)
            self._hold_interrupts(self._take, data)

    def _wait_for_input(self, timeout: float | None) -> bool:
        if timeout != 0:
            self.before_waiting()
        try:
            self._is_waiting = True
            return bool(select.select([self._read_descriptor], [], [], timeout)[0])
        except _Woken:
            return False
        finally:
            self._is_waiting = False

    def wake(self) -> None:
        """Ends the current wait, if any. During a wait only a signal handler can call this."""
        if self._is_waiting:
            raise _Woken


class Loop(asyncio.BaseEventLoop):
    """An event loop without selector, threads or network. It waits only for the host."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel
        self._selector = self  # What BaseEventLoop waits with.

    def select(self, timeout: float | None) -> list[object]:
        """Waits once. Returns no events, because the frames have been handled."""
        self._channel.pump(timeout)
        return []

    def _process_events(self, event_list: list[object]) -> None:
        """Does nothing; see `select`."""

    def _write_to_self(self) -> None:
        self._channel.wake()

    def run_in_executor(self, executor: object, func: object, *args: object) -> NoReturn:
        """Refuses. It could call `func` directly, but code that asks for a thread relies on concurrency."""
        missing.refuse_thread()

    async def subprocess_shell(self, *args: Any, **options: Any) -> NoReturn:
        """Refuses: there are no processes."""
        missing.refuse_process()

    async def subprocess_exec(self, *args: Any, **options: Any) -> NoReturn:
        """Refuses: there are no processes."""
        missing.refuse_process()


class Capture(stdio.Capture):
    """Output capture that drains when output is written, and before every wait."""

    def __init__(self, emit: stdio.Emit, read_ends: tuple[int, int]) -> None:
        self._unread_bytes = 0
        self._drained_at = 0.0
        super().__init__(emit, read_ends)

    def _open_raw(self, descriptor: int) -> io.FileIO:
        return _DrainedFile(descriptor, self)

    def count(self, written: int) -> None:
        """Counts written bytes, and drains when a batch is complete."""
        self._unread_bytes += written
        now = _monotonic()
        if self._unread_bytes >= _BATCH_BYTES or now - self._drained_at > _BATCH_SECONDS:
            self._unread_bytes, self._drained_at = 0, now
            self.drain()


class _DrainedFile(io.FileIO):
    def __init__(self, descriptor: int, capture: Capture) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._capture = capture

    def write(self, data: Any, /) -> int:
        written = super().write(memoryview(data)[:_BATCH_BYTES])
        self._capture.count(written)
        return written


class Platform:
    """The platform-dependent parts on a Python without threads."""

    name = f"{sys.platform} {os.uname().machine}"
    may_fork = False

    def __init__(self, channel: Channel, read_ends: tuple[int, int]) -> None:
        self._channel = channel
        self._read_ends = read_ends

    def capture(self, emit: stdio.Emit) -> stdio.Capture:
        """Replaces `sys.stdout` and `sys.stderr`; descriptors 1 and 2 are captured already."""
        capture = Capture(emit, self._read_ends)
        self._channel.before_waiting = capture.drain
        return capture

    def cell_loop(self, channel: rpc.Channel) -> CellLoop:
        """Creates the session's event loop and makes `asyncio.run` work beside it."""
        replace_loops(self._channel)
        loop = asyncio.new_event_loop()
        nested_run.install(loop, bool)
        return CellLoop(channel, loop, None)


def replace_loops(channel: Channel) -> None:
    """Makes every new event loop a `Loop`."""

    class SessionLoop(Loop):
        def __init__(self) -> None:
            super().__init__(channel)

    for module in (asyncio, asyncio.unix_events):
        for name in ("SelectorEventLoop", "EventLoop"):
            if hasattr(module, name):
                setattr(module, name, SessionLoop)
    # The class has an underscore since Python 3.14.
    for name in ("DefaultEventLoopPolicy", "_DefaultEventLoopPolicy"):
        policy = getattr(asyncio.unix_events, name, None)
        if policy is not None:
            policy._loop_factory = SessionLoop  # noqa: SLF001
