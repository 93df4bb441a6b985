"""Keeps the output of cells for `runtime.output(n)`, so the next cell can read what an answer cut.

Output is kept in memory as raw bytes, within one budget for all cells. The oldest is dropped first, and a handle
reports what is missing.
"""

from __future__ import annotations

from bridge_kernel.counted import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Piece = tuple[int, str, bytes]


class OutputStore:
    """The pieces of all streams, in order of arrival."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget = budget_bytes
        self._bytes = 0
        self._pieces: list[Piece] = []
        self._first = 0  # Index of the oldest kept piece.
        self._dropped: dict[tuple[int, str], int] = {}

    def add(self, cell: int, stream: str, data: bytes) -> None:
        """Keeps a piece, dropping the oldest ones if needed."""
        self._pieces.append((cell, stream, data))
        self._bytes += len(data)
        while self._bytes > self._budget:
            self._drop_oldest()
        if self._first > 1_000 and self._first * 2 > len(self._pieces):
            del self._pieces[: self._first]
            self._first = 0

    def _drop_oldest(self) -> None:
        cell, stream, data = self._pieces[self._first]
        self._pieces[self._first] = (cell, stream, b"")
        self._first += 1
        self._bytes -= len(data)
        self._dropped[cell, stream] = self._dropped.get((cell, stream), 0) + len(data)

    def kept(self) -> list[int]:
        """Numbers of the cells with kept output."""
        return sorted({cell for cell, _, _ in self._pieces[self._first :]})

    def read(self, cell: int, stream: str) -> CellOutput:
        """The output of one cell. Raises LookupError if there is none."""
        pieces = [data for number, name, data in self._pieces[self._first :] if (number, name) == (cell, stream)]
        dropped = self._dropped.get((cell, stream), 0)
        if not pieces and not dropped:
            kept = ", ".join(map(str, self.kept()[-20:])) or "none"
            raise LookupError(f"no output of cell {cell} on {stream}; cells with output: {kept}")
        return CellOutput(cell, stream, b"".join(pieces).decode("utf-8", "replace"), dropped)


class CellOutput:
    """Text that a cell wrote. `str()` returns all of it; lines count from 0, as in slices."""

    # User code gets it from `runtime.output(…)`.
    __module__ = "mcp.runtime"

    def __init__(self, cell: int, stream: str, text: str, dropped_bytes: int) -> None:
        self.cell = cell
        self.stream = stream
        self.text = text
        self.dropped_bytes = dropped_bytes

    def head(self, lines: int = 20) -> str:
        """The first lines."""
        return self.lines(0, lines)

    def tail(self, lines: int = 20) -> str:
        """The last lines."""
        return "\n".join(self._all()[-lines:]) if lines > 0 else ""

    def lines(self, start: int = 0, end: int | None = None) -> str:
        """The lines from `start` up to but excluding `end`."""
        return "\n".join(self._all()[start:end])

    def grep(self, pattern: str, limit: int = 100) -> str:
        """The lines that match the regular expression, with their numbers; at most `limit`."""
        import re
        from itertools import islice

        found = re.compile(pattern)
        matching = (f"{number}: {line}" for number, line in enumerate(self._all()) if found.search(line))
        return "\n".join(islice(matching, limit))

    def _all(self) -> list[str]:
        lines = self.text.split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    def __str__(self) -> str:
        return self.text

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __contains__(self, text: str) -> bool:
        return text in self.text

    def __repr__(self) -> str:
        were = "was" if self.dropped_bytes == 1 else "were"
        gone = f", the first {counted(self.dropped_bytes, 'byte')} {were} dropped" if self.dropped_bytes else ""
        size = f"{counted(len(self), 'line')}, {counted(len(self.text), 'character')}{gone}"
        return f"<{self.stream} of cell {self.cell}: {size}; .head(n) .tail(n) .lines(a, b) .grep(pattern), str()>"
