"""Short texts for tables and arrays: the rows are always written by the library that made the value.

A pandas frame gets a heading with its shape, the types that it does not show, and the names of columns that the text
leaves out. Nothing else is written here, because every version formats a little differently: lines that were cut or
joined here once put each value of a Series beside the label of another row.

Values are recognized by modules that are loaded, so nothing is imported.
"""

from __future__ import annotations

import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
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
# Of wider frames, only the number of the further names is said. Chosen: they take 10 ms.
_MAX_READ_NAMES = 10_000
_MIN_RUN = 4
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)
# Columns of these types look like what they are.
_PLAIN = frozenset({"int64", "float64", "bool"})
_TEXT = frozenset({"object", "str", "string"})
# Text that looks like a number, a date, a list, or a value that is missing.
_LOOKS_OTHERWISE = re.compile(r"\s*([+\-.]*\d|[\[({<]|(true|false|none|nan|nat|inf)\s*\Z)", re.IGNORECASE)
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


_EMPTY = "Empty DataFrame\n"


def _pandas_text(value: Any, pandas: Any) -> str:
    # A subclass that has its own text may show something else.
    is_frame = type(value).__repr__ is pandas.DataFrame.__repr__
    options: list[object] = []
    for name, default, ours in _FRAME_OPTIONS if is_frame else _SERIES_OPTIONS:
        if pandas.get_option(name) == default:
            options += [name, ours]
    from contextlib import nullcontext

    with pandas.option_context(*options) if options else nullcontext():
        # The heading says that there are no rows.
        return f"{_heading(value, pandas)}\n{repr(value).removeprefix(_EMPTY)}" if is_frame else repr(value)


def _heading(frame: Any, pandas: Any) -> str:
    rows, columns = frame.shape
    limit, max_rows = pandas.get_option("display.max_columns"), pandas.get_option("display.max_rows")
    is_cut = columns > limit if limit else False
    is_whole = 0 < rows <= (max_rows or rows) and max_rows != 0 and not is_cut
    types = _types_to_say(frame) if is_whole else _all_types(frame)
    shape = f"{type(frame).__name__}, {_count(rows, 'row')} × {_count(columns, 'column')}"
    heading = f"{shape} ({types})" if types else shape
    if columns == 1:
        heading += separator_in(frame.columns[0])
    if not rows or not is_cut:
        return heading
    # As pandas cuts them: half from each end.
    half = limit // 2
    return f"{heading}\nColumns not shown: {_names(frame.columns[half or limit : columns - half])}"


def _all_types(frame: Any) -> str:
    return _some(_runs(str(kind) for kind in frame.dtypes), _MAX_NAMED_TYPES)


def _types_to_say(frame: Any) -> str:
    """The types that a frame shown whole does not show: with their columns, or all in a row if that is shorter."""
    kinds = [str(kind) for kind in frame.dtypes]
    said = [
        f"{_short_name(frame.columns[at])}: {kind}"
        for at, kind in enumerate(kinds)
        if kind not in _PLAIN and not (kind in _TEXT and _looks_like_text(frame.iloc[:, at]))
    ]
    return min(", ".join(said), _all_types(frame), key=len) if said else ""


def _looks_like_text(column: Any) -> bool:
    texts = [value for value in column if type(value) is str]
    others = [value for value in column if type(value) is not str]
    is_missing = all(value is None or (type(value) is float and value != value) for value in others)
    return bool(texts) and is_missing and not any(map(_LOOKS_OTHERWISE.match, texts))


def separator_in(name: object) -> str:
    """A remark for a file that was read with the wrong separator: the whole first line is the name of a column."""
    if isinstance(name, str):
        for separator, least in (("\t", 1), (";", 2)):
            if name.count(separator) >= least:
                return f"; its name contains {separator!r}: read it with sep={separator!r}"
    return ""


def _names(columns: Sequence[object]) -> str:
    """The names, of which numbered ones become ranges: `a, pixel_10 … pixel_53 (44)`."""
    words: list[str] = []
    covered = 0
    for run in _numbered_runs(columns[:_MAX_READ_NAMES]):
        if len(words) >= _MAX_NAMED_COLUMNS:
            break
        is_range = len(run) >= _MIN_RUN
        room = _MAX_NAMED_COLUMNS - len(words)
        words += [f"{run[0]} … {run[-1]} ({len(run):,})"] if is_range else run[:room]
        covered += len(run) if is_range else min(len(run), room)
    left = len(columns) - covered
    return ", ".join([*words, f"… {left:,} more"] if left else words)


def _numbered_runs(columns: Iterable[object]) -> Iterable[list[str]]:
    """Names whose number is one more than that of the name before, together."""
    run: list[str] = []
    expected = None
    for column in columns:
        name = _short_name(column)
        if run and name != expected:
            yield run
            run = []
        run.append(name)
        found = _NUMBERED.fullmatch(name)
        # As wide as before: `x_08`, `x_09`, `x_10`.
        expected = found and f"{found[1]}{int(found[2]) + 1:0{len(found[2])}}{found[3]}"
    if run:
        yield run


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
