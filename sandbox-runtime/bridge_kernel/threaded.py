"""The kernel on a Python with threads and processes: in containers, and on the host's Python.

The main thread reads the pipe from the host while it waits. While code of the user keeps it busy, another thread does,
so an interrupt is noticed. A third one drains the pipes behind descriptors 1 and 2. The counterpart for a Python
without threads is `embedded.py`.
"""

from __future__ import annotations

import _signal as signal  # As in the supervisor: the public module is slow to import.
import fcntl
import math
import os
import select
import sys
import threading
import time

from bridge_kernel import memory_reserve, rpc, stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    import selectors
    from collections.abc import Callable

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
# The longest wait of the main thread at once; poll takes no longer ones than 24 days.
_LONGEST_WAIT_SECONDS = 3600
# How long the main thread may leave input unread, and for how many such pauses the reader expects more. Chosen: nobody
# notices that an interrupt is so late, and 50 pauses in a second take little time.
_PAUSE_SECONDS = 0.02
_PAUSES_OF_READER = 50
# The drainer pauses after waking up, so a program that prints line by line does not cause a switch per line: 16 ms in
# all, but no longer than until a pipe is half full, because its writer would wait.
_PAUSES = (0.0005, 0.0005, 0.001, 0.002, 0.004, 0.008)


class Channel(rpc.Channel):
    """A channel that the main thread reads while it waits, and otherwise the reader, another thread.

    If the reader always read, it would have to wake the main thread for each answer, which takes a fifth of the time of
    a call (measured). So it pauses while the main thread reads, and then looks whether that one left something unread.
    """

    def __init__(self, read_descriptor: int, write_descriptor: int) -> None:
        super().__init__(read_descriptor, write_descriptor)
        self._ahead = bytearray(_AHEAD_BYTES)
        self._main = threading.main_thread().ident
        self.main_waits = False
        """Whether the main thread waits for input, in its loop or in `wait`."""
        # Held by the thread that reads.
        self._reading = threading.Lock()
        # Used by that thread.
        self._input = self._poll_input()
        # Whether the reader reads at once: it has read since the main thread did, or another thread waits.
        self._reader_reads = False
        # How often the main thread has read.
        self._main_reads = 0
        # Released to end a pause of the reader.
        self._pause = threading.Lock()
        self._pause.acquire()

    def start(self, on_frame: Callable[[Frame], None]) -> None:
        """Starts receiving. The process ends when the host's side closes."""
        self._on_frame = on_frame
        self._take(b"")
        if self.main_loop is not None:
            self.main_loop.add_reader(self._read_descriptor, self._read_in_loop)
        threading.Thread(target=self._read_forever, name="bridge-reader", daemon=True).start()

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Blocks the current thread. The main thread handles frames until one of them sets the event."""
        if threading.get_ident() != self._main:
            self.let_reader_read()
            return event.wait(timeout)
        # An interrupt that came between these two lines would leave the lock locked.
        self.main_is_busy = True
        self._reading.acquire()
        try:
            self.main_waits = True
            self._let_interrupts()
            return self._wait_in_main(event, timeout)
        finally:
            self.main_waits = False
            self._reading.release()

    def _wait_in_main(self, event: threading.Event, timeout: float | None) -> bool:
        end = math.inf if timeout is None else time.monotonic() + timeout
        while not event.is_set():
            left = min(end - time.monotonic(), _LONGEST_WAIT_SECONDS)
            if left <= 0:
                return False
            if self._input.poll(math.ceil(left * 1000)):
                self._read_in_main()
        return True

    def _new_call(self, method: str, params: dict[str, object]) -> tuple[int, Frame]:
        if threading.get_ident() != self._main:
            self.let_reader_read()
        return super()._new_call(method, params)

    def _is_here(self, loop: asyncio.AbstractEventLoop) -> bool:
        return loop is self.main_loop and threading.get_ident() == self._main

    def let_reader_read(self) -> None:
        """What comes for this thread is read at once."""
        if self.main_waits:
            return  # The main thread reads it.
        self._reader_reads = True
        try:
            self._pause.release()
        except RuntimeError:
            pass  # It does not pause.

    def _poll_input(self) -> select.poll:
        poll = select.poll()
        poll.register(self._read_descriptor, select.POLLIN)
        return poll

    def _read_in_loop(self) -> None:
        """The loop of the main thread found input."""
        if self.is_forked():
            return  # The frames are for the process that has been copied.
        with self._reading:
            self._reader_reads = False
            # The reader may have been faster, or a thread of the user, which can find the pipe.
            if self._input.poll(0):
                self._read_in_main()

    def _read_in_main(self) -> None:
        self._reader_reads = False
        self._main_reads += 1
        self._hold_interrupts(self._read_once)

    def _read_forever(self) -> None:
        poll, seen, pauses = self._poll_input(), 0, _PAUSES_OF_READER
        while True:
            if self._reader_reads or pauses >= _PAUSES_OF_READER:
                poll.poll()
                pauses = 0
            if not self._reader_reads:
                self._pause.acquire(timeout=_PAUSE_SECONDS)
                pauses += 1
                if self._main_reads != seen:
                    seen, pauses = self._main_reads, 0
                    continue
            self._read_in_reader()

    def _read_in_reader(self) -> None:
        if not self._reading.acquire(timeout=_PAUSE_SECONDS):
            return  # The main thread reads or waits for input.
        try:
            if self._input.poll(0):
                self._reader_reads = True
                self._read_once()
        finally:
            self._reading.release()

    def _read_once(self) -> None:
        """Reads and handles what the host has sent."""
        landing = self._landing
        try:
            if landing is None:
                data = memory_reserve.read(self._read_descriptor, rpc.READ_BYTES)
                count = len(data)
            else:
                # The bytes of a result go to their place, and what follows them comes with the same system call.
                count = os.readv(self._read_descriptor, [landing, self._ahead])
                beyond = max(0, count - len(landing))
                self._note_landed(count - beyond)
                data = self._ahead[:beyond]
        except ConnectionError:
            count, data = 0, b""  # The host ended before it had read everything.
        if count == 0:
            os._exit(0)
        try:
            self._take(data)
        except MemoryError:
            memory_reserve.release()
            self._take(b"")  # The frame is lost; what follows is not.


class Capture(stdio.Capture):
    """Output capture with a thread that drains the pipes created by the supervisor."""

    def __init__(self, emit: stdio.Emit, pipes: Pipes) -> None:
        # Copies of the write ends, which child programs do not get, and which pipes they are.
        self._kept: list[tuple[int, tuple[int, int] | None]] = []
        for index, (read_end, write_end) in enumerate(pipes):
            os.set_blocking(read_end, False)
            try:
                fcntl.fcntl(write_end, _F_SETPIPE_SZ, _PIPE_BYTES[index])
            except OSError:
                pass  # The quota is used up.
            os.dup2(write_end, index + 1)
            os.set_inheritable(write_end, False)
            self._kept.append((write_end, _identity(write_end)))
        super().__init__(emit, (pipes[0][0], pipes[1][0]))
        threading.Thread(target=self._drain_forever, name="bridge-output", daemon=True).start()

    def _repair_descriptors(self) -> list[str]:
        notes: list[str] = []
        if _identity(0) is None:
            os.open(os.devnull, os.O_RDONLY)  # The lowest number that is free.
        for number, (kept, pipe) in enumerate(self._kept, 1):
            if _identity(number) != pipe and _identity(kept) == pipe:
                os.dup2(kept, number)
                how = f"open({number}, 'w', closefd=False) does not close it"
                notes.append(f"Descriptor {number} was closed or replaced, and is the output of cells again. {how}.")
        return notes

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


def _identity(descriptor: int) -> tuple[int, int] | None:
    """What a descriptor refers to; None if it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


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
        assert isinstance(channel, Channel)
        import asyncio

        from bridge_kernel import nested_run
        from bridge_kernel.loop import CellLoop

        loop = channel.main_loop = asyncio.SelectorEventLoop(selector_of(channel))
        nested_run.install(loop, channel.let_reader_read)
        return CellLoop(channel, loop, interrupt_main)


def selector_of(channel: Channel) -> selectors.BaseSelector:
    """What a loop waits with, which tells the channel that it does."""
    import selectors

    class Selector(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            channel.main_waits = True
            try:
                return super().select(timeout)
            finally:
                channel.main_waits = False

    return Selector()


def interrupt_main() -> None:
    """Sends SIGINT to the main thread: only a signal stops Python code that never yields."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
