"""The pipe to the host: one writer, and the calls that wait for answers.

Who reads depends on the platform: a thread of its own (`threaded.py`), or whoever waits (`embedded.py`). Either way a
call can be awaited by the loop or waited for by blocking code. Calls made while no cell runs wait for the next cell,
because the host allows calls only while somebody is waiting for an answer that would show them.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextvars import ContextVar

from bridge_kernel.errors import MCPError, error_from_frame
from bridge_kernel.frames import Frame, FrameError, decode_frame, encode_frame

# Name of the job that a task belongs to, inherited by the tasks it makes; empty for all others.
current_job: ContextVar[str] = ContextVar("bridge_current_job", default="")

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    # A future with what it is to hold.
    Answer = tuple[asyncio.Future[object], object, MCPError | None]

READ_BYTES = 1 << 20
"""How much of the host's input is read at once."""


_FRAME_START = b'{"type":'
"""How each frame of the host begins. The rest of one whose first bytes somebody else has read does not."""


class Pending:
    """One call without an answer yet, awaited by a future of some loop or by a blocked thread.

    Both functions are called where the host's frames are read, so they only pass things on.
    """

    def __init__(
        self, deliver: Callable[[object, MCPError | None], None], report: Callable[[Frame], None] | None = None
    ) -> None:
        self.deliver = deliver
        self.report = report
        self.parts: list[str] = []


class Channel:
    """Frames in both directions; the base of the two kinds, which differ in how input is waited for."""

    def __init__(self, read_descriptor: int, write_descriptor: int) -> None:
        self._read_descriptor = read_descriptor
        self._write_descriptor = write_descriptor
        self._unread = bytearray()
        # How much of it is known to hold no line end.
        self._searched = 0
        # Frames of the host so far, the newest included.
        self.received = 0
        self._on_frame: Callable[[Frame], None] = _ignore
        self._owner = os.getpid()
        self._write_lock = threading.Lock()
        self._pending: dict[int, Pending] = {}
        self._next_call = 1
        # Touched by the reader alone.
        self._answered: dict[asyncio.AbstractEventLoop, list[Answer]] = {}
        self._gate = threading.Event()
        self._gate_waiters: list[Callable[[], None]] = []
        self._gate_lock = threading.Lock()
        self.max_line_bytes = 0
        # True while the main thread does what an interrupt must not cut: writing a frame, for one.
        self.main_is_busy = False
        self.interrupt_held: Callable[[], None] | None = None

    def send(self, frame: Frame) -> None:
        """Writes one frame, whole, from any thread. Raises as `encode_frame` does, and MCPError when it is too long."""
        line = encode_frame(frame)
        if self.max_line_bytes and len(line) > self.max_line_bytes:
            raise MCPError(
                f"a {frame['type']} of {len(line):,} bytes is too large; the limit is {self.max_line_bytes:,} bytes",
                "LIMIT_FRAME",
                hint="Send less at once, or in pieces.",
            )
        if self.is_forked():
            raise MCPError("a forked process cannot use the session's connection to the host", "CALL_REFUSED")
        if threading.current_thread() is not threading.main_thread():
            self._write(line)
            return
        self._hold_interrupts(self._write, line)

    def _hold_interrupts(self, action: Callable[[bytes], None], data: bytes) -> None:
        """Runs an action of the main thread whole; an interrupt that strikes meanwhile takes effect right after."""
        self.main_is_busy = True
        try:
            action(data)
        finally:
            self.main_is_busy = False
            held, self.interrupt_held = self.interrupt_held, None
            if held is not None:
                held()

    def is_forked(self) -> bool:
        """Whether this process is a child that the user's code forked."""
        return os.getpid() != self._owner

    def _write(self, line: bytes) -> None:
        with self._write_lock:
            view = memoryview(line)
            while view:
                view = view[os.write(self._write_descriptor, view) :]

    def read_frame(self) -> Frame | None:
        """The next frame, read by the caller's thread before `start`; None when the host is gone."""
        while b"\n" not in self._unread:
            data = os.read(self._read_descriptor, READ_BYTES)
            if not data:
                return None
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        self.received += 1
        return decode_frame(bytes(line))

    def start(self, on_frame: Callable[[Frame], None]) -> None:
        """From now on frames are received: answers go to their calls, all others to `on_frame`, where they are read."""
        raise NotImplementedError

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Blocks until `event` is set, at most `timeout` seconds; whether it is set."""
        raise NotImplementedError

    def _take(self, data: bytes) -> None:
        """Handles the frames that `data` completes."""
        buffer = self._unread
        buffer += data
        end = buffer.rfind(b"\n", self._searched) + 1
        lines = bytes(memoryview(buffer)[:end]).split(b"\n") if end else []
        del buffer[:end]
        self._searched = len(buffer)
        for line in lines:
            if line:
                self._receive(line)
        self._wake_loops()

    def _receive(self, line: bytes) -> None:
        if line.startswith(_FRAME_START):
            self.received += 1
        try:
            frame = decode_frame(line)
        except FrameError:
            return  # The host's own frames are checked by its tests; there is nobody here to tell.
        if frame["type"] == "answer_part":
            part = self._pending.get(_number(frame["call"]))
            if part is not None:
                part.parts.append(str(frame["data"]))
        elif frame["type"] == "answer":
            self._answer(frame)
        elif frame["type"] == "call_progress":
            reported = self._pending.get(_number(frame["call"]))
            if reported is not None and reported.report is not None:
                reported.report(frame)
        else:
            self._on_frame(frame)

    def _answer(self, frame: Frame) -> None:
        number = _number(frame["call"])
        pending = self._pending.pop(number, None)
        if pending is None:
            return  # Cancelled meanwhile.
        if frame["ok"] is not True:
            pending.deliver(None, error_from_frame(frame.get("error"), number))
            return
        if not pending.parts:
            pending.deliver(frame.get("value"), None)
            return
        try:
            value = json.loads("".join(pending.parts))
        except (ValueError, MemoryError, RecursionError) as error:
            pending.deliver(None, MCPError(f"the result could not be taken: {error!r}", "LIMIT_RESULT"))
            return
        pending.deliver(value, None)

    def _wake_loops(self) -> None:
        """Hands the loops what was answered. Once per read: each time costs a system call and a switch of threads."""
        answered, self._answered = self._answered, {}
        for loop, answers in answered.items():
            try:
                loop.call_soon_threadsafe(_settle, answers)
            except RuntimeError:
                pass  # The loop was closed; nobody waits.

    def open_gate(self) -> None:
        """A cell runs: calls may go out, those that waited first."""
        with self._gate_lock:
            self._gate.set()
            waiters, self._gate_waiters = self._gate_waiters, []
        for wake in waiters:
            wake()

    def close_gate(self) -> None:
        """No cell runs any more: calls wait."""
        self._gate.clear()

    def _begin(self, method: str, params: dict[str, object], pending: Pending) -> int:
        with self._gate_lock:
            number = self._next_call
            self._next_call += 1
        self._pending[number] = pending
        frame: Frame = {"type": "call", "call": number, "method": method, "params": params}
        if job := current_job.get():
            frame["job"] = job
        try:
            self.send(frame)
        except BaseException:
            self._pending.pop(number, None)
            raise
        return number

    def _forget(self, number: int) -> None:
        """Gives up on a call; the host cancels it upstream."""
        if self._pending.pop(number, None) is not None:
            self.send({"type": "cancel_call", "call": number})

    async def call(
        self,
        method: str,
        params: dict[str, object],
        timeout: float | None = None,
        on_progress: Callable[[Frame], None] | None = None,
    ) -> object:
        """Asks the host and awaits the answer on the running loop. Raises MCPError as the host answered.

        Args:
            timeout: seconds; None leaves it to the host's own deadline.
            on_progress: gets each report on the call, in the loop and before the answer. Raises nothing.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        while not current_job.get() and not self._gate.is_set():
            await self._wait_for_gate(loop)
        future: asyncio.Future[object] = loop.create_future()

        def deliver(value: object, error: MCPError | None) -> None:
            self._answered.setdefault(loop, []).append((future, value, error))

        def report(frame: Frame) -> None:
            try:
                loop.call_soon_threadsafe(on_progress, frame)  # pyright: ignore[reportArgumentType]
            except RuntimeError:
                pass  # The loop was closed; nobody listens.

        number = self._begin(method, params, Pending(deliver, None if on_progress is None else report))
        try:
            return await asyncio.wait_for(future, timeout) if timeout is not None else await future
        except asyncio.TimeoutError:
            raise _timed_out(method, timeout or 0) from None
        finally:
            self._forget(number)

    async def _wait_for_gate(self, loop: asyncio.AbstractEventLoop) -> None:
        opened: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            loop.call_soon_threadsafe(lambda: None if opened.done() else opened.set_result(None))

        with self._gate_lock:
            if self._gate.is_set():
                return
            self._gate_waiters.append(wake)
        await opened

    def call_sync(
        self,
        method: str,
        params: dict[str, object],
        timeout: float | None = None,
        on_progress: Callable[[Frame], None] | None = None,
    ) -> object:
        """Asks the host and blocks this thread until the answer is there; `on_progress` is called in this thread.

        Raises MCPError as the host answered, and in the main thread while no cell runs: that thread starts the next
        cell, so it would wait forever.
        """
        if not current_job.get() and not self._gate.is_set():
            if threading.current_thread() is threading.main_thread():
                raise MCPError(
                    f"{method} was called without await while no cell runs",
                    "CALL_REFUSED",
                    hint="Run code that goes on between cells as a job: runtime.background(...).",
                )
            self.wait(self._gate)
        news = threading.Event()
        box: list[tuple[object, MCPError | None]] = []
        reports: list[Frame] = []

        def deliver(value: object, error: MCPError | None) -> None:
            box.append((value, error))
            news.set()

        def report(frame: Frame) -> None:
            reports.append(frame)
            news.set()

        number = self._begin(method, params, Pending(deliver, None if on_progress is None else report))
        end = None if timeout is None else time.monotonic() + timeout
        try:
            while not box:
                if not self.wait(news, None if end is None else max(0, end - time.monotonic())):
                    raise _timed_out(method, timeout or 0)
                news.clear()
                while reports and on_progress is not None:
                    on_progress(reports.pop(0))
        finally:
            self._forget(number)
        value, error = box[0]
        if error is not None:
            raise error
        return value


def _ignore(_frame: Frame) -> None:
    """Before `start` there is nobody to tell."""


def _settle(answers: list[Answer]) -> None:
    """In the loop's thread."""
    for future, value, error in answers:
        if future.done():
            continue  # Cancelled meanwhile.
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)


def _timed_out(method: str, timeout: float) -> MCPError:
    return MCPError(f"{method} did not answer within {timeout:g} s", "CALL_TIMEOUT")


def _number(value: object) -> int:
    return value if isinstance(value, int) else -1
