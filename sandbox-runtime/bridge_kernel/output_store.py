"""What cells wrote, kept for `runtime.output(n)`: whatever an answer cuts can be read from the next cell.

Kept as the bytes that came, in memory, within a budget for all cells together; the oldest go first, and a handle says
what is missing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Piece = tuple[int, str, bytes]


class OutputStore:
    """The pieces of all streams, in the order in which they came."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget = budget_bytes
        self._bytes = 0
        self._pieces: list[Piece] = []
        self._first = 0  # Index of the oldest piece; those before it are gone.
        self._dropped: dict[tuple[int, str], int] = {}

    def add(self, cell: int, stream: str, data: bytes) -> None:
        """Keeps a piece; the oldest ones make room."""
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
        """Numbers of the cells of which something is kept."""
        return sorted({cell for cell, _, _ in self._pieces[self._first :]})

    def read(self, cell: int, stream: str) -> CellOutput:
        """The output of one cell. Raises LookupError when nothing of it is there."""
        pieces = [data for number, name, data in self._pieces[self._first :] if (number, name) == (cell, stream)]
        dropped = self._dropped.get((cell, stream), 0)
        if not pieces and not dropped:
            kept = ", ".join(map(str, self.kept()[-20:])) or "none"
            raise LookupError(f"cell {cell} wrote nothing to {stream}, or is no cell of this session; kept are: {kept}")
        return CellOutput(cell, stream, b"".join(pieces).decode("utf-8", "replace"), dropped)


class CellOutput:
    """Text that a cell wrote. `str()` gives all of it; lines count from 0, as in slices."""

    # User code reaches it as `runtime.output(…)`.
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
        """The lines from `start` up to, not including, `end`."""
        return "\n".join(self._all()[start:end])

    def grep(self, pattern: str, limit: int = 100) -> str:
        """The lines in which the regular expression is found, at most `limit`, each with its number."""
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
        gone = f", the first {self.dropped_bytes:,} bytes are gone" if self.dropped_bytes else ""
        return (
            f"<{self.stream} of cell {self.cell}: {len(self):,} lines, {len(self.text):,} characters{gone}; "
            ".head(n) .tail(n) .lines(a, b) .grep(pattern), str()>"
        )
