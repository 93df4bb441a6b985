"""Captures descriptors 1 and 2, so that output of child processes and of C code belongs to the cell too.

Each stream is a pipe, made by the supervisor, whose write end stands at its descriptor; `sys.stdout` and `sys.stderr`
write there as well, so the order within a stream is the order of writing. A thread drains the pipes; the main thread
drains them once more at the end of a cell, under the same lock, so that all output precedes the result.

What a cell prints is sent as it comes, up to a budget from the start; of the rest as much is kept from the end, and the
bytes between are counted. Output that arrives while no cell runs belongs to the next one.
"""

from __future__ import annotations

import codecs
import fcntl
import io
import os
import select
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# The largest pipe an unprivileged process may have by default (pipe(7)).
_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031
# A woken drainer waits this long, so that a program printing line by line is not switched away from at every line.
_BATCH_SECONDS = 0.02
_NAMES = ("stdout", "stderr")


class _Stream:
    """One captured stream: its pipe, its decoder, and what is kept of the current cell."""

    def __init__(self, name: str, descriptor: int, pipe: tuple[int, int], budget: int) -> None:
        self.name = name
        self.budget = budget
        self.read_end, write_end = pipe
        os.set_blocking(self.read_end, False)
        try:
            fcntl.fcntl(write_end, _F_SETPIPE_SZ, _PIPE_BYTES)
        except OSError:
            pass  # The user's share of pipe memory is spent: the default size is slower and right all the same.
        os.dup2(write_end, descriptor)
        os.close(write_end)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.reset()

    def reset(self) -> None:
        """Begins anew, for the next cell."""
        self.head_left = self.budget
        self.tail: list[bytes] = []
        self.tail_bytes = 0
        self.dropped_bytes = 0
        self.dropped_lines = 0

    def read(self) -> bytes:
        """What the pipe holds now, empty when nothing."""
        try:
            return os.read(self.read_end, _PIPE_BYTES)
        except BlockingIOError:
            return b""

    def take_head(self, data: bytes) -> str:
        """The part of `data` within the budget, as text; the rest goes to the tail."""
        head, rest = data[: self.head_left], data[self.head_left :]
        self.head_left -= len(head)
        if rest:
            self._keep(rest)
        return self.decoder.decode(head) if head else ""

    def _keep(self, data: bytes) -> None:
        self.tail.append(data)
        self.tail_bytes += len(data)
        while self.tail and self.tail_bytes - len(self.tail[0]) >= self.budget:
            self._drop(self.tail.pop(0))

    def _drop(self, piece: bytes) -> None:
        self.tail_bytes -= len(piece)
        self.dropped_bytes += len(piece)
        self.dropped_lines += piece.count(b"\n")

    def take_tail(self) -> tuple[str, int, int]:
        """The kept end of the output, and the bytes and lines dropped before it."""
        kept = b"".join(self.tail)
        cut = max(0, len(kept) - self.budget)
        # Not in the middle of a character: continuation bytes begin with 10 (RFC 3629).
        while self.dropped_bytes + cut and cut < len(kept) and kept[cut] & 0xC0 == 0x80:
            cut += 1
        self.dropped_bytes += cut
        self.dropped_lines += kept.count(b"\n", 0, cut)
        if self.dropped_bytes:
            self.decoder.reset()
        text = self.decoder.decode(kept[cut:], final=True)
        dropped = (self.dropped_bytes, self.dropped_lines)
        self.reset()
        return (text, *dropped)


class Capture:
    """Both streams. `emit(stream, text, dropped_bytes, dropped_lines)` is called in order, never concurrently."""

    def __init__(
        self, emit: Callable[[str, str, int, int], None], pipes: tuple[tuple[int, int], tuple[int, int]], budget: int
    ) -> None:
        self._emit = emit
        self._lock = threading.Lock()
        self._in_cell = False
        self._streams = tuple(_Stream(name, index + 1, pipes[index], budget) for index, name in enumerate(_NAMES))
        self._held: list[tuple[str, str]] = []
        self._files = tuple(_open_text(index + 1) for index in range(len(_NAMES)))
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = self._files
        threading.Thread(target=self._drain_forever, name="bridge-output", daemon=True).start()

    def begin_cell(self) -> None:
        """From now on output is sent at once; first what came since the last cell."""
        with self._lock:
            self._in_cell = True
            for name, text in self._held:
                self._emit(name, text, 0, 0)
            self._held.clear()

    def flush(self) -> None:
        """Writes what the streams hold back, the user's own too."""
        for file in (*self._files, getattr(sys, "stdout", None), getattr(sys, "stderr", None)):
            try:
                if file is not None:
                    file.flush()
            except Exception:  # noqa: BLE001
                pass  # The user replaced or closed the stream; what it holds is the user's.

    def end_cell(self) -> None:
        """Sends all that was written so far."""
        self.flush()
        with self._lock:
            self._drain()
            for stream in self._streams:
                text, dropped_bytes, dropped_lines = stream.take_tail()
                if text or dropped_bytes:
                    self._emit(stream.name, text, dropped_bytes, dropped_lines)
            self._in_cell = False

    def _drain(self) -> bool:
        """Empties both pipes; whether one was nearly full, so that its writer may be waiting. Lock held."""
        busy = False
        for stream in self._streams:
            while data := stream.read():
                busy = busy or len(data) >= _PIPE_BYTES // 2
                text = stream.take_head(data)
                if text:
                    self._pass_on(stream.name, text)
                if len(data) < _PIPE_BYTES // 2:
                    break
        return busy

    def _pass_on(self, name: str, text: str) -> None:
        if self._in_cell:
            self._emit(name, text, 0, 0)
        else:
            self._held.append((name, text))

    def _drain_forever(self) -> None:
        poll = select.poll()
        for stream in self._streams:
            poll.register(stream.read_end, select.POLLIN)
        busy = False
        while True:
            poll.poll()
            if not busy:
                time.sleep(_BATCH_SECONDS)
            with self._lock:
                busy = self._drain()


def _open_text(descriptor: int) -> io.TextIOWrapper:
    raw = io.FileIO(descriptor, "w", closefd=False)
    raw.name = f"<{_NAMES[descriptor - 1]}>"  # As the interpreter's own streams are called.
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)
