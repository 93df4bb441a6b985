"""Short texts for tables and arrays: shape and types first, then the start and end of the data.

Values are recognized by the module of their class, so nothing is imported.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Enough to see what the data is like. Chosen.
_MAX_ROWS = 20
_MAX_COLUMNS = 16
_MAX_CELL_CHARS = 60
_MAX_NAMED_COLUMNS = 40
# numpy's own threshold: larger arrays are summarized.
_MAX_ITEMS = 1000


def table_text(value: object) -> str | None:
    """The text of a DataFrame, Series or array; None for everything else."""
    kind = type(value)
    module = kind.__module__.partition(".")[0]
    if module == "pandas" and kind.__name__ == "DataFrame":
        return _frame_text(value)
    if module == "pandas" and kind.__name__ == "Series":
        return _series_text(value)
    if module == "numpy" and kind.__name__ == "ndarray":
        return _array_text(value)
    return None


def _frame_text(frame: Any) -> str:
    rows, columns = frame.shape
    named = [f"{name} {kind}" for name, kind in list(frame.dtypes.items())[:_MAX_NAMED_COLUMNS]]
    more = "" if columns <= _MAX_NAMED_COLUMNS else f", … {columns - _MAX_NAMED_COLUMNS:,} more"
    heading = f"DataFrame, {_count(rows, 'row')} × {_count(columns, 'column')} ({', '.join(named)}{more})"
    if not rows or not columns:
        return heading
    options = {"max_rows": _MAX_ROWS, "max_cols": _MAX_COLUMNS, "max_colwidth": _MAX_CELL_CHARS}
    return f"{heading}\n{frame.to_string(show_dimensions=False, **options)}"


def _series_text(series: Any) -> str:
    name = "" if series.name is None else f" {series.name}"
    heading = f"Series{name}, {_count(len(series), 'row')}, {series.dtype}"
    # Only a frame shortens long cells.
    return f"{heading}\n{series.to_frame().to_string(header=False, max_rows=_MAX_ROWS, max_colwidth=_MAX_CELL_CHARS)}"


def _array_text(array: Any) -> str | None:
    if array.size <= _MAX_ITEMS:
        return None
    shape = " × ".join(f"{length:,}" for length in array.shape)
    return f"array, {shape}, {array.dtype}\n{array!r}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
