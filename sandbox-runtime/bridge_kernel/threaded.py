"""The kernel on a Python with threads and processes: in containers, and on the host's Python.

A reader thread owns the pipe from the host, so an interrupt is noticed while a cell runs, and answers arrive while the
main thread blocks on a call. Another thread drains the pipes behind descriptors 1 and 2. The counterpart for a Python
without threads is `embedded.py`.
"""

from __future__ import annotations

import _signal as signal  # As in the supervisor: the public module is slow to import.
import fcntl
import os
import select
import sys
import threading
import time

from bridge_kernel import memory_reserve, rpc, stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from bridge_kernel.frames import Frame
    from bridge_kernel.loop import CellLoop

    Pipes = tuple[tuple[int, int], tuple[int, int]]

_F_SETPIPE_SZ = 1031
_F_GETPIPE_SZ = 1032
_FIONREAD = 0x541B
# Of stdout and stderr. Once the pipes of a user hold 64 MiB together, further ones get 8 KiB (pipe(7)), those of all
# other programs of the user, too: 32 sandboxes with two pipes of 1 MiB are too many.
_PIPE_BYTES = (256 << 10, 64 << 10)
# What is read beyond the next bytes of a large result: the frame of those after them. Chosen.
_AHEAD_BYTES = 1 << 12
# The drainer pauses after waking up, so a program that prints line by line does not cause a switch per line: 16 ms in
# all, but no longer than until a pipe is half full, because its writer would wait.
_PAUSES = (0.0005, 0.0005, 0.001, 0.002, 0.004, 0.008)


class Channel(rpc.Channel):
    """A channel with a reader thread, which also calls `on_frame`."""

    def start(self, on_frame: Callable[[Frame], None]) -> None:
        """Starts the reader thread. The process ends when the host's side closes."""
        self._on_frame = on_frame
        threading.Thread(target=self._read_forever, name="bridge-reader", daemon=True).start()

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Blocks the current thread."""
        return event.wait(timeout)

    def _read_forever(self) -> None:
        self._take(b"")
        ahead = bytearray(_AHEAD_BYTES)
        while self._read_once(ahead):
            pass
        os._exit(0)

    def _read_once(self, ahead: bytearray) -> bool:
        """Reads and handles what the host has sent. Returns whether there can be more."""
        landing = self._landing
        try:
            if landing is None:
                data = memory_reserve.read(self._read_descriptor, rpc.READ_BYTES)
                self._take(data)
                return bool(data)
            # The bytes of a result go to their place, and what follows them comes with the same system call.
            count = os.readv(self._read_descriptor, [landing, ahead])
        except ConnectionError:
            return False  # The host ended before it had read everything.
        beyond = max(0, count - len(landing))
        self._note_landed(count - beyond)
        self._take(ahead[:beyond])
        return count > 0


class Capture(stdio.Capture):
    """Output capture with a thread that drains the pipes created by the supervisor."""

    def __init__(self, emit: stdio.Emit, pipes: Pipes) -> None:
        for index, (read_end, write_end) in enumerate(pipes):
            os.set_blocking(read_end, False)
            try:
                fcntl.fcntl(write_end, _F_SETPIPE_SZ, _PIPE_BYTES[index])
            except OSError:
                pass  # The quota is used up.
            os.dup2(write_end, index + 1)
            os.close(write_end)
        super().__init__(emit, (pipes[0][0], pipes[1][0]))
        threading.Thread(target=self._drain_forever, name="bridge-output", daemon=True).start()

    def _drain_forever(self) -> None:
        poll = select.poll()
        for read_end in self.read_ends:
            poll.register(read_end, select.POLLIN)
        while True:
            poll.poll()
            self._let_fill()
            try:
                self.drain()
            except MemoryError:
                memory_reserve.release()  # What was just read is lost; what follows is not.

    def _let_fill(self) -> None:
        for seconds in _PAUSES:
            time.sleep(seconds)
            if any(_is_half_full(read_end) for read_end in self.read_ends):
                return


def _is_half_full(pipe: int) -> bool:
    try:
        capacity = fcntl.fcntl(pipe, _F_GETPIPE_SZ)
        waiting = int.from_bytes(fcntl.ioctl(pipe, _FIONREAD, bytes(4)), sys.byteorder)
    except OSError:
        return False  # Not Linux.
    return 2 * waiting >= capacity


class Platform:
    """The platform-dependent parts on a Python with threads."""

    name = f"{sys.platform} {os.uname().machine}"
    may_fork = True

    def __init__(self, pipes: Pipes) -> None:
        self._pipes = pipes

    def capture(self, emit: stdio.Emit) -> stdio.Capture:
        """Captures descriptors 1 and 2."""
        return Capture(emit, self._pipes)

    def cell_loop(self, channel: rpc.Channel) -> CellLoop:
        """Creates the session's event loop and makes `asyncio.run` work beside it."""
        import asyncio

        from bridge_kernel import nested_run
        from bridge_kernel.loop import CellLoop

        loop = asyncio.new_event_loop()
        nested_run.install(loop, _run_in_thread)
        return CellLoop(channel, loop, interrupt_main)


def interrupt_main() -> None:
    """Sends SIGINT to the main thread: only a signal stops Python code that never yields."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _run_in_thread(run: Callable[..., object], main: Awaitable[object], options: dict[str, object]) -> object:
    """Runs a coroutine in a separate loop in another thread, while this thread waits."""
    import asyncio
    import contextvars

    results: list[Callable[[], object]] = []
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[object] | None]] = []

    async def wrapper() -> object:
        started.append((asyncio.get_running_loop(), asyncio.current_task()))
        return await main

    def work() -> None:
        try:
            value = context.run(run, wrapper(), **options)
        except BaseException as error:  # noqa: BLE001 Raised again in the cell.
            caught = error
            results.append(lambda: _raise(caught))
        else:
            results.append(lambda: value)

    context = contextvars.copy_context()
    thread = threading.Thread(target=work, name="asyncio.run", daemon=True)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        for inner, task in started:
            if task is not None:
                inner.call_soon_threadsafe(task.cancel)
        raise
    return results[0]()


def _raise(error: BaseException) -> None:
    raise error
