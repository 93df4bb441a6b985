"""The pipe to the host: writes frames one at a time, and matches calls with their answers.

Who reads depends on the platform: whoever waits (`embedded.py`), or else a thread (`threaded.py`). Either way a call
can be awaited in the loop or block a thread. Calls made while no cell runs wait for the next cell, because the
host allows calls only while an answer is pending that would show them. Calls also wait while too many bytes of others
have no answer, because the host refuses what exceeds its own limit.
"""

from __future__ import annotations

import json
import os
import select
import threading
import time
from contextvars import ContextVar

from bridge_kernel.errors import MCPError, error_from_frame
from bridge_kernel.frames import Frame, FrameError, decode_frame, encode_frame
from bridge_kernel.large_results import Body, loads

# The name of the job that a task belongs to, inherited by the tasks it creates; empty for all others.
current_job: ContextVar[str] = ContextVar("bridge_current_job", default="")

# The number of the step that a task does, inherited by the tasks it creates; None outside steps.
current_step: ContextVar[int | None] = ContextVar("bridge_current_step", default=None)

# Whether the state of the session is being saved or restored here: code of its objects may run then, and calls nothing.
# Inherited by the tasks that such code creates.
is_moving_state: ContextVar[bool] = ContextVar("bridge_is_moving_state", default=False)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any

    # A future and its result.
    Answer = tuple[asyncio.Future[object], object, MCPError | None]

READ_BYTES = 1 << 20
"""Bytes read from the host at once."""


# Bytes of calls without an answer, unless it is one call. With one more call of the largest size, which the main thread
# may send while it blocks, they are within MAX_WAITING_CALL_BYTES of the host; a test compares them.
MAX_UNANSWERED_BYTES = 24 << 20
# The same as BYTES_PER_VALUE and MAX_LINE_VALUES of the host.
_BYTES_PER_VALUE = 64
_MAX_VALUES = 250_000
# How often a call that waits looks for room. Chosen: an answer takes longer.
_ROOM_SECONDS = 0.005
# Joined calls are written before the turn ends once they have so many bytes, so that the host starts on them while the
# next ones are made. Chosen: about 100 small calls.
_JOINED_BYTES = 16 << 10

_FRAME_START = b'{"type":'
"""The start of every frame from the host. The rest of a frame whose start was read by user code lacks it."""


class Pending:
    """One call without an answer yet: a future of some loop or a blocked thread waits for it.

    Both functions run where the host's frames are read, so they only pass their arguments on.
    """

    def __init__(
        self, deliver: Callable[[object, MCPError | None], None], report: Callable[[Frame], None] | None = None
    ) -> None:
        self.deliver = deliver
        self.report = report
        # Pieces of JSON text.
        self.parts: list[str] = []
        # Its bytes, which arrive instead; None also if there is no room for them.
        self._body: Body | None = None
        # Their number; 0 if it comes as text.
        self.total = 0

    def place_for(self, size: int, total: int) -> memoryview | None:
        """Where the next bytes of a result of `total` bytes belong; None if there is no room for it."""
        if self.total == 0:
            self.total = total
            try:
                self._body = Body(total)
            except MemoryError:
                pass
        return None if self._body is None else self._body.place_for(size)

    def decode(self) -> object:
        """The value whose JSON has arrived in pieces. Raises ValueError, MemoryError or RecursionError."""
        if self._body is not None:
            return loads(self._body.data)
        if self.total > 0:
            raise MemoryError
        text = "".join(self.parts)
        self.parts.clear()
        return json.loads(text)


class Channel:
    """Frames in both directions. Base class of the two platforms, which differ in how they wait for input."""

    def __init__(self, read_descriptor: int, write_descriptor: int) -> None:
        self._read_descriptor = read_descriptor
        self._write_descriptor = write_descriptor
        self._unread = bytearray()
        # How much of `_unread` is known to contain no newline.
        self._searched = 0
        # A frame whose bytes have not arrived yet, and their number.
        self._incomplete: tuple[Frame, int] | None = None
        # Where the next bytes belong, instead of among the unread ones.
        self._landing: memoryview | None = None
        # How many of the next bytes no one wants. They are not collected first: there may be no room for them.
        self._unwanted = 0
        # Frames received so far, including the newest.
        self.received = 0
        self._on_frame: Callable[[Frame], None] = _ignore
        # The loop of the main thread, once there is one.
        self.main_loop: asyncio.AbstractEventLoop | None = None
        self._owner = os.getpid()
        self._write_lock = threading.Lock()
        # Calls that are not written yet, their bytes, and the loop that will write them at the end of its turn.
        self._joined: list[bytes] = []
        self._joined_bytes = 0
        self._turn_of: asyncio.AbstractEventLoop | None = None
        self._pending: dict[int, Pending] = {}
        self._next_call = 1
        self.stray_calls = 0
        # By call: bytes of those that were sent and have no answer.
        self._sent_bytes: dict[int, int] = {}
        self._unanswered_bytes = 0
        self._room_lock = threading.Lock()
        self._waiting_for_room = 0
        # Used only by the reader.
        self._answered: dict[asyncio.AbstractEventLoop, list[Answer]] = {}
        self._gate = threading.Event()
        self._gate_waiters: list[Callable[[], None]] = []
        self._gate_lock = threading.Lock()
        self.max_line_bytes = 0
        # True while the main thread does something that an interrupt must not cut short, such as writing a frame.
        self.main_is_busy = False
        self.interrupt_held: Callable[[], None] | None = None

    def send(self, frame: Frame) -> None:
        """Writes a whole frame, from any thread. Raises like `encode_frame`, and MCPError if the frame is too long."""
        self._send_line(self._encode(frame))

    def send_with_bytes(self, frame: Frame, data: Any) -> None:
        """Writes a frame and the bytes that it announces."""
        self._send_line(self._encode(frame), data, b"\n")

    def _encode(self, frame: Frame) -> bytes:
        line = encode_frame(frame)
        if self.max_line_bytes and len(line) > self.max_line_bytes:
            raise MCPError(
                f"a {frame['type']} frame has {len(line):,} bytes; the limit is {self.max_line_bytes:,} bytes",
                "LIMIT_FRAME",
                hint="Send less data, or send it in pieces.",
            )
        return line

    def _refuse_fork(self) -> None:
        if self.is_forked():
            raise MCPError("a forked process cannot use the session's connection to the host", "CALL_REFUSED")

    def _send_line(self, *pieces: Any) -> None:
        self._refuse_fork()
        if threading.current_thread() is not threading.main_thread():
            self._write(*pieces)
            return
        self._hold_interrupts(self._write, *pieces)

    def _hold_interrupts(self, action: Callable[..., None], *arguments: Any) -> None:
        """Runs an action of the main thread to its end; an interrupt that arrives meanwhile takes effect after it."""
        self.main_is_busy = True
        try:
            action(*arguments)
        finally:
            self._let_interrupts()

    def _let_interrupts(self) -> None:
        self.main_is_busy = False
        held, self.interrupt_held = self.interrupt_held, None
        if held is not None:
            held()

    def close(self) -> None:
        """Closes the pipe, in a copy of the process that must not reach the host."""
        os.close(self._read_descriptor)
        os.close(self._write_descriptor)

    def is_forked(self) -> bool:
        """Whether this process is a child that the user's code forked."""
        return os.getpid() != self._owner

    def _write(self, *pieces: Any) -> None:
        with self._write_lock:
            joined = self._joined[:]
            # Other threads may have added some since. They are written next time, because they still are in the list.
            del self._joined[: len(joined)]
            self._joined_bytes = 0
            for piece in (b"".join(joined), *pieces):
                view = memoryview(piece)
                while view:
                    view = view[os.write(self._write_descriptor, view) :]

    def _join(self, line: bytes, loop: asyncio.AbstractEventLoop) -> None:
        """Writes a call: the first one of a turn of the loop at once, all others of the turn together.

        A `gather` makes 1,000 calls in one turn, and each write costs a system call that wakes the host. Whatever is
        written or received earlier takes the joined calls along, so if the code of this turn goes on computing, they
        wait at most for the answer to the first one.
        """
        if self._turn_of is not loop:
            self._send_line(line)
            self._turn_of = loop
            loop.call_soon(self._end_turn)
            return
        self._refuse_fork()
        self._joined.append(line)
        self._joined_bytes += len(line)
        if self._joined_bytes >= _JOINED_BYTES:
            self._send_line()

    def _end_turn(self) -> None:
        self._turn_of = None
        if self._joined and not self.is_forked():
            self._send_line()

    def read_frame(self) -> Frame | None:
        """Reads the next frame in the caller's thread, before `start`. None if the host is gone."""
        while b"\n" not in self._unread:
            data = os.read(self._read_descriptor, READ_BYTES)
            if not data:
                return None
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        self.received += 1
        return decode_frame(bytes(line))

    def has_input(self) -> bool:
        """Whether something from the host waits to be read, before `start`."""
        return bool(self._unread) or bool(select.select([self._read_descriptor], [], [], 0)[0])

    def start(self, on_frame: Callable[[Frame], None]) -> None:
        """Starts receiving. Answers go to their calls; all other frames go to `on_frame`, where they are read."""
        raise NotImplementedError

    def wait(self, event: threading.Event, timeout: float | None = None) -> bool:
        """Blocks until `event` is set, at most `timeout` seconds; returns whether it is set."""
        raise NotImplementedError

    def _take(self, data: bytes | bytearray) -> None:
        """Handles the frames completed by `data`."""
        buffer = self._unread
        buffer += data
        while end := self._end_of_next():
            piece = bytes(memoryview(buffer)[: end - 1])
            del buffer[:end]
            self._searched = 0
            if self._incomplete is not None:
                (frame, _), self._incomplete = self._incomplete, None
                self._receive_bytes(frame, piece)
            elif piece:
                self._receive(piece)
        self._wake_loops()
        if self._joined:
            self._write()

    def _land(self) -> None:
        """Moves unread bytes to where they belong."""
        if self._landing is not None:
            count = min(len(self._landing), len(self._unread))
            with memoryview(self._unread) as unread:
                self._landing[:count] = unread[:count]
            del self._unread[:count]
            self._note_landed(count)

    def _note_landed(self, count: int) -> None:
        """Notes that the next bytes are where they belong."""
        landing = self._landing
        if landing is not None:
            self._landing = landing[count:] if count < len(landing) else None
            landing.release()

    def _end_of_next(self) -> int:
        """Where the next line, or the bytes that follow one, end among the unread bytes; 0 if they are not complete."""
        if self._landing is not None:
            self._land()
        if self._unwanted:
            count = min(self._unwanted, len(self._unread))
            del self._unread[:count]
            self._unwanted -= count
            if self._unwanted:
                return 0
        if self._incomplete is not None:
            end = self._incomplete[1] + 1
            return end if end <= len(self._unread) else 0
        end = self._unread.find(b"\n", self._searched) + 1
        self._searched = len(self._unread)
        return end

    def _receive_bytes(self, frame: Frame, piece: bytes) -> None:
        self._on_frame({**frame, "data": piece})

    def _begin_bytes(self, frame: Frame) -> None:
        """Bytes follow the frame. Those of a result go to their place, unless no one waits for it or it has no room."""
        size = _number(frame["bytes"])
        if frame["type"] != "answer_bytes":
            self._incomplete = (frame, size)
            return
        answered = self._pending.get(_number(frame["call"]))
        self._landing = None if answered is None else answered.place_for(size, _number(frame["total"]))
        if self._landing is None:
            self._unwanted = size

    def _receive(self, line: bytes) -> None:
        if line.startswith(_FRAME_START):
            self.received += 1
        try:
            frame = decode_frame(line)
        except FrameError:
            return  # The host's tests check its frames, and the kernel could not report this anywhere.
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
        elif frame["type"] in ("answer_bytes", "checkpoint_data", "egress_data"):
            self._begin_bytes(frame)
        else:
            self._on_frame(frame)

    def _answer(self, frame: Frame) -> None:
        number = _number(frame["call"])
        pending = self._end(number)
        if pending is None:
            return  # Cancelled in the meantime.
        if frame["ok"] is not True:
            pending.deliver(None, error_from_frame(frame.get("error"), number))
            return
        if "parts" not in frame:
            pending.deliver(frame.get("value"), None)
            return
        try:
            value = pending.decode()
        except MemoryError:
            pending.deliver(None, _without_room(pending.total))
            return
        except (ValueError, RecursionError) as error:
            pending.deliver(None, MCPError(f"the result could not be decoded: {error!r}", "LIMIT_RESULT"))
            return
        pending.deliver(value, None)

    def _wake_loops(self) -> None:
        """Passes answers to their loops, once per read: each wake-up costs a system call and a thread switch."""
        answered, self._answered = self._answered, {}
        for loop, answers in answered.items():
            if self._is_here(loop):
                _settle(answers)
            else:
                self.run_in(loop, _settle, answers)

    def run_in(self, loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *arguments: object) -> None:
        """Runs a callback in its loop, from any thread. In a closed loop, nothing waits for it."""
        try:
            if self._is_here(loop):
                loop.call_soon(callback, *arguments)
            else:
                loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            pass

    def _is_here(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether the loop is known to run in this thread, and so need not be woken."""
        return False

    def open_gate(self) -> None:
        """A cell runs: releases waiting calls and lets new ones through."""
        with self._gate_lock:
            self._gate.set()
            waiters, self._gate_waiters = self._gate_waiters, []
        for wake in waiters:
            wake()

    def close_gate(self) -> None:
        """No cell is running: calls have to wait."""
        self._gate.clear()

    def _refuse_while_moving_state(self, method: str) -> None:
        if is_moving_state.get():
            raise MCPError(
                f"{method} was called by an object that was being saved or restored",
                "CALL_REFUSED",
                hint="Call servers in a cell, not while objects are pickled.",
            )

    def _new_call(self, method: str, params: dict[str, object]) -> tuple[int, Frame]:
        with self._gate_lock:
            number = self._next_call
            self._next_call += 1
        frame: Frame = {"type": "call", "call": number, "method": method, "params": params}
        if job := current_job.get():
            frame["job"] = job
        if (step := current_step.get()) is not None:
            frame["step"] = step
        elif threading.current_thread() is not threading.main_thread():
            self.stray_calls += 1
        return number, frame

    def _has_room(self, size: int) -> bool:
        """Whether a call of this size may be sent now. One may always be sent."""
        return not self._unanswered_bytes or self._unanswered_bytes + size <= MAX_UNANSWERED_BYTES

    def _try_begin(
        self, number: int, pending: Pending, line: bytes, loop: asyncio.AbstractEventLoop | None, force: bool = False
    ) -> bool:
        """Sends a call, with others of this turn if it is made in a loop, unless too many bytes have no answer yet."""
        size = _cost(line)
        with self._room_lock:
            if not force and not self._has_room(size):
                return False
            self._unanswered_bytes += size
            self._sent_bytes[number] = size
            self._pending[number] = pending
        try:
            if loop is None:
                self._send_line(line)
            else:
                self._join(line, loop)
        except BaseException:
            self._end(number)
            raise
        return True

    def _end(self, number: int) -> Pending | None:
        pending = self._pending.pop(number, None)
        with self._room_lock:
            self._unanswered_bytes -= self._sent_bytes.pop(number, 0)
        return pending

    def _forget(self, number: int) -> None:
        """Abandons a call, which the host then cancels on the server."""
        # Mostly, it has been answered.
        if number in self._pending and self._end(number) is not None:
            self.send({"type": "cancel_call", "call": number})

    async def call(
        self,
        method: str,
        params: dict[str, object],
        timeout: float | None = None,
        on_progress: Callable[[Frame], None] | None = None,
    ) -> object:
        """Sends a call to the host and awaits the answer in the running loop. Raises MCPError if the host refuses.

        Args:
            timeout: in seconds; None means the host's own deadline.
            on_progress: called with each progress report, in the loop and before the answer. It must not raise.
        """
        import asyncio

        self._refuse_while_moving_state(method)
        loop = asyncio.get_running_loop()
        while not current_job.get() and not self._gate.is_set():
            await self._wait_for_gate(loop)
        future: asyncio.Future[object] = loop.create_future()

        def deliver(value: object, error: MCPError | None) -> None:
            self._answered.setdefault(loop, []).append((future, value, error))

        pending = Pending(deliver, None if on_progress is None else lambda frame: self.run_in(loop, on_progress, frame))
        number, frame = self._new_call(method, params)
        line = self._encode(frame)
        while not self._try_begin(number, pending, line, loop):
            # The line is not kept while the call waits: 100 of 5 MiB would fill the sandbox.
            size, line = _cost(line), b""
            self._waiting_for_room += 1
            try:
                while not self._has_room(size):
                    await asyncio.sleep(_ROOM_SECONDS * (1 + self._waiting_for_room / 100))
            finally:
                self._waiting_for_room -= 1
            while not current_job.get() and not self._gate.is_set():
                await self._wait_for_gate(loop)
            line = self._encode(frame)
        try:
            return await asyncio.wait_for(future, timeout) if timeout is not None else await future
        except asyncio.TimeoutError:
            raise _timed_out(method, params, timeout or 0) from None
        finally:
            self._forget(number)

    async def _wait_for_gate(self, loop: asyncio.AbstractEventLoop) -> None:
        opened: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            self.run_in(loop, lambda: None if opened.done() else opened.set_result(None))

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
        """Sends a call to the host and blocks this thread until the answer arrives; `on_progress` runs in this thread.

        Raises MCPError if the host refuses, and in the main thread while no cell runs: it starts the next cell,
        so it would wait forever.
        """
        self._refuse_while_moving_state(method)
        if not current_job.get() and not self._gate.is_set():
            if threading.current_thread() is threading.main_thread():
                raise MCPError(
                    f"{method} was called without await while no cell runs",
                    "CALL_REFUSED",
                    hint="Start code that runs between cells as a job: runtime.background(...).",
                )
            self.wait(self._gate)
        arrived = threading.Event()
        box: list[tuple[object, MCPError | None]] = []
        reports: list[Frame] = []

        def deliver(value: object, error: MCPError | None) -> None:
            box.append((value, error))
            arrived.set()

        def report(frame: Frame) -> None:
            reports.append(frame)
            arrived.set()

        pending = Pending(deliver, None if on_progress is None else report)
        number, frame = self._new_call(method, params)
        # The main thread runs the loop, so if it waited here, calls of tasks might never end.
        is_main = threading.current_thread() is threading.main_thread()
        line = self._encode(frame)
        while not self._try_begin(number, pending, line, None, is_main):
            time.sleep(_ROOM_SECONDS)
        end = None if timeout is None else time.monotonic() + timeout
        try:
            while not box:
                if not self.wait(arrived, None if end is None else max(0, end - time.monotonic())):
                    raise _timed_out(method, params, timeout or 0)
                arrived.clear()
                while reports and on_progress is not None:
                    on_progress(reports.pop(0))
        finally:
            self._forget(number)
        value, error = box[0]
        if error is not None:
            raise error
        return value


def _ignore(_frame: Frame) -> None:
    """Drops frames that arrive before `start`."""


def _settle(answers: list[Answer]) -> None:
    """Sets the results of futures. Runs in the loop's thread."""
    for future, value, error in answers:
        if future.done():
            continue  # Cancelled in the meantime.
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)


def _without_room(size: int) -> MCPError:
    result = f"a result of {size:,} bytes" if size else "the result"
    return MCPError(
        f"the session's memory has no room for {result}",
        "LIMIT_RESULT",
        hint="Delete large variables (del name), or ask the tool for less.",
    )


def _timed_out(method: str, params: dict[str, object], timeout: float) -> MCPError:
    if method != "call_tool":
        return MCPError(f"{method} did not answer within {timeout:g} s", "CALL_TIMEOUT")
    return MCPError(
        f"{params['server']}.{params['tool']} did not answer within {timeout:g} s",
        "CALL_TIMEOUT",
        hint="Give it more time: .with_options(timeout=SECONDS). The call may still have taken effect.",
    )


def _cost(line: bytes) -> int:
    """What the host counts for a call, or a little more: it does not count commas and brackets within strings."""
    values = line.count(b",") + line.count(b"[") + line.count(b"{")
    # The host needs two bytes for each character of a text with one beyond Latin-1.
    text = len(line) if line.isascii() and b"\\u" not in line else 2 * len(line)
    return text + _BYTES_PER_VALUE * min(values, _MAX_VALUES)


def _number(value: object) -> int:
    return value if isinstance(value, int) else -1
