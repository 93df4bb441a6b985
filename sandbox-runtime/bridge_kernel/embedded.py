"""The kernel where Python has one thread and no processes: the interpreter of the embedded engine, made for WASI.

The only ways out are descriptors. Whoever waits for the host, be it the loop, a blocking call or a loop inside the
loop, waits with `select` and takes the frames that come. An interrupt arrives as SIGINT by itself: the host's side
looks for its frame as soon as the bytes come, and ends any wait.

How it is started stands in `embedded_boot.py`. The counterpart for a Python with threads is `threaded.py`.
"""

from __future__ import annotations

import asyncio
import io
import os
import select
import sys
import time
from asyncio import events, tasks

from bridge_kernel import missing, nested_run, rpc, stdio
from bridge_kernel.loop import CellLoop

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Awaitable, Callable
    from typing import Any, NoReturn

    from bridge_kernel.frames import Frame

# Bytes taken from the host at once: in a memory that is nearly full, no more than needed.
_READ_BYTES = 1 << 16
# Output waits this long for more, or until it is so much, so that a program printing line by line sends few frames.
_BATCH_SECONDS = 0.02
_BATCH_BYTES = 1 << 15

_monotonic = time.monotonic


class _Woken(BaseException):
    """Raised by a signal's handler to end the wait that it struck."""


class Channel(rpc.Channel):
    """Frames that are taken by whoever waits."""

    def __init__(self, read_descriptor: int, write_descriptor: int) -> None:
        super().__init__(read_descriptor, write_descriptor)
        self._is_waiting = False
        self.before_waiting: Callable[[], object] = bool
        """Called before every wait that may be long."""

    def start(self, on_frame: Callable[[Frame], None]) -> None:
        """From now on frames are received, whenever somebody waits."""
        self._on_frame = on_frame
        self._take(b"")

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Takes frames until one of them has set the event."""
        end = None if timeout is None else _monotonic() + timeout
        while not event.is_set():
            left = None if end is None else end - _monotonic()
            if left is not None and left <= 0:
                return False
            self.pump(left)
        return True

    def pump(self, timeout: float | None) -> None:
        """Waits for the host, at most `timeout` seconds, and takes what has come. Ends with the host."""
        if self._wait_for_input(timeout):
            data = os.read(self._read_descriptor, _READ_BYTES)
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
        """Ends the wait under way, if there is one; this can only be called by a signal's handler then."""
        if self._is_waiting:
            raise _Woken


class Loop(asyncio.BaseEventLoop):
    """An event loop without selector, threads and network, which waits for the host alone."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel
        self._selector = self  # What BaseEventLoop waits with.

    def select(self, timeout: float | None) -> list[object]:
        """One wait of the loop. There are no events: frames have been handled."""
        self._channel.pump(timeout)
        return []

    def _process_events(self, event_list: list[object]) -> None:
        """Nothing: see `select`."""

    def _write_to_self(self) -> None:
        self._channel.wake()

    def run_in_executor(self, executor: object, func: object, *args: object) -> NoReturn:
        """Refuses. It could run `func` at once; but code that asks for a thread relies on something else going on."""
        missing.refuse_thread()

    async def subprocess_shell(self, *args: Any, **options: Any) -> NoReturn:
        """Refuses."""
        missing.refuse_process()

    async def subprocess_exec(self, *args: Any, **options: Any) -> NoReturn:
        """Refuses."""
        missing.refuse_process()


class Capture(stdio.Capture):
    """Output that is drained by those who write it, and before every wait."""

    def __init__(self, emit: stdio.Emit, read_ends: tuple[int, int], budget: int) -> None:
        self._unread_bytes = 0
        self._drained_at = 0.0
        super().__init__(emit, read_ends, budget)

    def _open_raw(self, descriptor: int) -> io.FileIO:
        return _DrainedFile(descriptor, self)

    def count(self, written: int) -> None:
        """Takes note of output, and drains it when it is time."""
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
    """What the kernel needs of a Python without threads."""

    name = f"{sys.platform} {os.uname().machine}"

    def __init__(self, channel: Channel, read_ends: tuple[int, int]) -> None:
        self._channel = channel
        self._read_ends = read_ends

    def capture(self, emit: stdio.Emit, budget: int) -> stdio.Capture:
        """Descriptors 1 and 2 are captured already; takes over `sys.stdout` and `sys.stderr`."""
        capture = Capture(emit, self._read_ends, budget)
        self._channel.before_waiting = capture.drain
        return capture

    def cell_loop(self, channel: rpc.Channel) -> CellLoop:
        """The loop of the session, and `asyncio.run` beside it."""
        _replace_loops(self._channel)
        loop = asyncio.new_event_loop()
        nested_run.install(loop, _run_inside)
        return CellLoop(channel, loop, None)


def _replace_loops(channel: Channel) -> None:
    """Makes every new event loop one that can run here."""

    class SessionLoop(Loop):
        def __init__(self) -> None:
            super().__init__(channel)

    for module in (asyncio, asyncio.unix_events):
        for name in ("SelectorEventLoop", "EventLoop"):
            if hasattr(module, name):
                setattr(module, name, SessionLoop)
    # The policy's name has an underscore since Python 3.14.
    for name in ("DefaultEventLoopPolicy", "_DefaultEventLoopPolicy"):
        policy = getattr(asyncio.unix_events, name, None)
        if policy is not None:
            policy._loop_factory = SessionLoop  # noqa: SLF001


def _run_inside(run: Callable[..., object], main: Awaitable[object], options: dict[str, object]) -> object:
    """Runs a coroutine in a loop of its own, from within the loop that runs, which waits as it would for any call."""
    outer = asyncio.get_running_loop()
    task = asyncio.current_task()

    async def wrapper() -> object:
        return await main

    if task is not None:
        tasks._leave_task(outer, task)  # noqa: SLF001
    events._set_running_loop(None)  # noqa: SLF001
    try:
        return run(wrapper(), **options)
    finally:
        asyncio.set_event_loop(outer)
        events._set_running_loop(outer)  # noqa: SLF001
        if task is not None:
            tasks._enter_task(outer, task)  # noqa: SLF001
