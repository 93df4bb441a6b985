"""Captures descriptors 1 and 2, so that a cell's output includes that of child processes and C code.

Each descriptor is a pipe; `sys.stdout` and `sys.stderr` write to it as well, so the order within a stream is the order
of writing. When the pipes are drained depends on the platform (`threaded.py`, `embedded.py`); the main thread drains
them once more at the end of a cell, so that all output precedes the result.

Output is sent as it arrives, up to a budget. After that, as much again is kept from the end, and the bytes in between
are only counted. Output that arrives while no cell runs belongs to the next cell.
"""

from __future__ import annotations

import codecs
import io
import sys
import threading

from bridge_kernel import memory_reserve
from bridge_kernel.output_store import CellOutput, OutputStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # Called with stream, text, dropped_bytes, dropped_lines.
    Emit = Callable[[str, str, int, int], None]

PIPE_BYTES = 1 << 20
"""The largest pipe an unprivileged process may have by default (pipe(7))."""
# What is kept of output before the host's greeting. Chosen: usually there is none.
_EARLY_BYTES = 1 << 16
_NAMES = ("stdout", "stderr")


class _Stream:
    """One captured stream: its pipe, its decoder, and what is kept of the current cell."""

    def __init__(self, name: str, read_end: int, budget: int) -> None:
        self.name = name
        self.budget = budget
        self.read_end = read_end
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.reset()

    def reset(self) -> None:
        """Resets the stream for the next cell."""
        self.head_left = self.budget
        self.tail: list[bytes] = []
        self.tail_bytes = 0
        self.dropped_bytes = 0
        self.dropped_lines = 0

    def read(self) -> bytes:
        """The current contents of the pipe; empty if there are none."""
        try:
            return memory_reserve.read(self.read_end, PIPE_BYTES)
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
        if self.head_left == self.budget and not self.tail and not self.dropped_bytes:
            return "", 0, 0  # Nothing was written, as in most cells.
        kept = b"".join(self.tail)
        cut = max(0, len(kept) - self.budget)
        # Do not start within a character: continuation bytes begin with the bits 10 (RFC 3629).
        while self.dropped_bytes + cut and cut < len(kept) and kept[cut] & 0xC0 == 0x80:
            cut += 1
        self.dropped_bytes += cut
        self.dropped_lines += kept.count(b"\n", 0, cut)
        if self.dropped_bytes:
            # The head may have ended within a character whose rest was dropped.
            self.dropped_bytes += len(self.decoder.getstate()[0])
            self.decoder.reset()
        text = self.decoder.decode(kept[cut:], final=True)
        dropped = (self.dropped_bytes, self.dropped_lines)
        self.reset()
        return (text, *dropped)


class _Output(io.BufferedWriter):
    """Is never closed: a wrapper that code puts around it closes it when nothing refers to the wrapper any more."""

    def close(self) -> None:
        """Only flushes."""
        self.flush()


class Capture:
    """Both streams. Base class of the two platforms. `emit` is called in order, never concurrently."""

    def __init__(self, emit: Emit, read_ends: tuple[int, int]) -> None:
        self._emit = emit
        self.read_ends = read_ends
        self.store = OutputStore(_EARLY_BYTES)
        self.cell = 0
        self._lock = threading.Lock()
        self._in_cell = False
        self._streams = tuple(_Stream(name, read_ends[index], _EARLY_BYTES) for index, name in enumerate(_NAMES))
        self._held: list[tuple[str, str]] = []
        self._files = [self._open_text(index) for index in range(len(_NAMES))]
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = self._files

    def open(self, budget: int, store: OutputStore) -> None:
        """Sets, before the first cell, how many bytes of a stream are sent and where output is kept."""
        with self._lock:
            self.store = store
            for stream in self._streams:
                stream.budget = budget
                stream.reset()

    def begin_cell(self, cell: int) -> None:
        """Starts sending output at once, beginning with what arrived since the last cell."""
        with self._lock:
            self.cell = cell
            self._in_cell = True
            for name, text in self._held:
                self._emit(name, text, 0, 0)
            self._held.clear()
        self.repair()

    def repair(self) -> None:
        """Makes output whole again if code has closed it, and says so on stderr. Called before and after each cell."""
        notes = self._repair_descriptors()
        for index, name in enumerate(_NAMES):
            if _is_closed(self._files[index]):
                self._files[index] = self._open_text(index)
                setattr(sys, f"__{name}__", self._files[index])
            if _is_closed(getattr(sys, name, None)):
                setattr(sys, name, self._files[index])
                how = f"To redirect output, use contextlib.redirect_{name}"
                notes.append(f"sys.{name} was closed and works again. {how}.")
        for note in notes:
            self._files[1].write(f"{note}\n")

    def _repair_descriptors(self) -> list[str]:
        """Where Python has pipes, opens those again that code has closed; returns what it did."""
        return []

    def flush(self) -> None:
        """Flushes the streams, including ones set by the user."""
        for file in (*self._files, getattr(sys, "stdout", None), getattr(sys, "stderr", None)):
            try:
                if file is not None:
                    file.flush()
            except Exception:  # noqa: BLE001
                pass  # The user replaced or closed the stream, so its buffer is the user's business.

    def end_cell(self) -> None:
        """Sends everything written so far."""
        self.repair()
        self.flush()
        with self._lock:
            self._drain()
            for stream in self._streams:
                text, dropped_bytes, dropped_lines = stream.take_tail()
                if text or dropped_bytes:
                    self._emit(stream.name, text, dropped_bytes, dropped_lines)
            self._in_cell = False

    def output(self, cell: int, stream: str) -> CellOutput:
        """What a cell has written so far. Raises LookupError if none of it is kept."""
        self.flush()
        with self._lock:
            self._drain()
            return self.store.read(cell, stream)

    def drain(self) -> None:
        """Empties both pipes."""
        with self._lock:
            self._drain()

    def _drain(self) -> None:
        for stream in self._streams:
            while data := stream.read():
                self.store.add(self.cell, stream.name, data)
                text = stream.take_head(data)
                if text:
                    self._pass_on(stream.name, text)
                if len(data) < PIPE_BYTES // 2:
                    break

    def _pass_on(self, name: str, text: str) -> None:
        if self._in_cell:
            self._emit(name, text, 0, 0)
        else:
            self._held.append((name, text))

    def _open_text(self, index: int) -> io.TextIOWrapper:
        raw = self._open_raw(index + 1)
        raw.name = f"<{_NAMES[index]}>"  # The names of the interpreter's own streams.
        return io.TextIOWrapper(_Output(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)

    def _open_raw(self, descriptor: int) -> io.FileIO:
        return io.FileIO(descriptor, "w", closefd=False)


def _is_closed(file: object) -> bool:
    """Whether nothing can be written to a stream; also if it was deleted or set to None."""
    try:
        return file is None or getattr(file, "closed", False) is True
    except Exception:  # noqa: BLE001 It was detached, or a class of the user raises.
        return True
