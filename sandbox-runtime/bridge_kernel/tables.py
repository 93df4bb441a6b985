"""Short texts for tables and arrays: the rows are always written by the library that made the value.

A pandas frame gets a heading with its shape, types, and the names of columns that the text leaves out. Nothing else is
written here, because every version formats a little differently: lines that were cut or joined here once put each value
of a Series beside the label of another row.

Values are recognized by modules that are loaded, so nothing is imported.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# Options of pandas, each with its default and what it is here; an option that code has set is left alone. Of more than
# 60 rows (`display.max_rows`), 20 are shown. Chosen.
_SERIES_OPTIONS = (("display.min_rows", 10, 20),)
# Long lines are not wrapped, and the heading says the shape.
_FRAME_OPTIONS = (
    *_SERIES_OPTIONS,
    ("display.expand_frame_repr", True, False),
    ("display.show_dimensions", "truncate", False),
    ("display.max_columns", 0, 20),
)
_MAX_NAMED_COLUMNS = 40
_MAX_NAMED_TYPES = 20
_MAX_NAME_CHARS = 40
# numpy's own threshold: larger arrays are summarized.
_MAX_ITEMS = 1000


def table_text(value: object) -> str | None:
    """The text of a pandas frame or series, or of a large array; None for everything else, and if it has no text."""
    try:
        pandas: Any = sys.modules.get("pandas")
        if pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series)):
            return _pandas_text(value, pandas)
        kind = type(value)
        if kind.__name__ == "ndarray" and kind.__module__ == "numpy":
            return _array_text(value)
    except Exception:  # noqa: BLE001 A broken table is shown like any other object.
        pass
    return None


def _pandas_text(value: Any, pandas: Any) -> str:
    # A subclass that has its own text may show something else.
    is_frame = type(value).__repr__ is pandas.DataFrame.__repr__
    options: list[object] = []
    for name, default, ours in _FRAME_OPTIONS if is_frame else _SERIES_OPTIONS:
        if pandas.get_option(name) == default:
            options += [name, ours]
    from contextlib import nullcontext

    with pandas.option_context(*options) if options else nullcontext():
        return f"{_heading(value, pandas)}\n{value!r}" if is_frame else repr(value)


def _heading(frame: Any, pandas: Any) -> str:
    rows, columns = frame.shape
    types = f" ({_some(_runs(str(kind) for kind in frame.dtypes), _MAX_NAMED_TYPES)})" if columns else ""
    heading = f"{type(frame).__name__}, {_count(rows, 'row')} × {_count(columns, 'column')}{types}"
    limit = pandas.get_option("display.max_columns")
    if not rows or not limit or columns <= limit:
        return heading
    # As pandas cuts them: half from each end.
    half = limit // 2
    hidden = frame.columns[half or limit : columns - half]
    names = [_short_name(name) for name in hidden[: _MAX_NAMED_COLUMNS + 1]]
    names += [""] * (len(hidden) - len(names))
    return f"{heading}\nColumns not shown: {_some(names, _MAX_NAMED_COLUMNS)}"


def _runs(types: Iterable[str]) -> list[str]:
    """Each type with the number of columns in a row that have it: `int64`, `float64 × 12`."""
    from itertools import groupby

    counted = [(name, sum(1 for _ in group)) for name, group in groupby(types)]
    return [name if count == 1 else f"{name} × {count:,}" for name, count in counted]


def _some(words: list[str], limit: int) -> str:
    more = [f"… {len(words) - limit:,} more"] if len(words) > limit else []
    return ", ".join([*words[:limit], *more])


def _short_name(name: object) -> str:
    text = name if isinstance(name, str) and name.isprintable() else repr(name)
    return text if len(text) <= _MAX_NAME_CHARS else f"{text[: _MAX_NAME_CHARS - 1]}…"


def _array_text(array: Any) -> str | None:
    if array.size <= _MAX_ITEMS:
        return None
    text = repr(array)
    # numpy says it itself since 2.0.
    if f"shape={array.shape}" in text:
        return text
    shape = " × ".join(f"{length:,}" for length in array.shape)
    return f"array, {shape}, {array.dtype}\n{text}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
