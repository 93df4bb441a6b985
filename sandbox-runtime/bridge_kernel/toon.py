"""`runtime.to_toon`: converts a value to JSON types, which the host formats as TOON.

The host needs an encoder anyway, for answers; a second one in Python would have to match it.
"""

from __future__ import annotations

import math
import sys

from bridge_kernel.arguments import is_duration, is_missing, plain_array
from bridge_kernel.errors import MCPError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeGuard

    from bridge_kernel.servers import Host

_MAX_DEPTH = 150
"""The pipe accepts 200 levels in total."""


def to_toon(host: Host, value: object) -> str:
    """`value` as TOON text.

    Accepts JSON types, tuples, sets, dates, dataclasses, numpy numbers, and tables of pandas and polars. The index of a
    table is a column, unless it only numbers the rows. Missing values (NaN, NaT, NA) and infinities become null;
    integers beyond 2**53 become text.

    Raises:
        TypeError: it contains another type; the message says where and which.
        ValueError: it contains itself, text with lone surrogates, or two keys or columns that are the same as text.
        MCPError: it, or its text, is too large for the pipe.
    """
    plain = _plain(value, "value", _MAX_DEPTH)
    try:
        return str(host.call_sync("to_toon", {"value": plain}))
    except MCPError as error:
        if error.code == "LIMIT_FRAME":
            message = f"the value passed to runtime.to_toon is too large: {error.message}"
            raise MCPError(message, error.code, "Write fewer rows at once.") from None
        raise


def _plain(value: object, path: str, depth: int) -> object:
    """`value` as JSON types."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _checked(str(value), path)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if depth == 0:
        raise ValueError(f"the value is nested more than {_MAX_DEPTH} levels deep, or contains itself")
    if _is_mapping(value):
        plain = {
            _checked(str(key), path): _plain(member, f"{path}[{key!r}]", depth - 1) for key, member in value.items()
        }
        if len(plain) < len(value):
            raise ValueError(f"{path}: two keys are the same as text, such as 1 and '1', so one would be lost")
        return plain
    if _is_sequence(value):
        return [_plain(member, f"{path}[{index}]", depth - 1) for index, member in enumerate(value)]
    return _plain(_converted(value, path), path, depth - 1)


def _converted(value: object, path: str) -> object:
    """The replacement for an object of a type that JSON lacks."""
    import dataclasses

    if is_missing(value):
        return None
    if is_duration(value):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series)):
        return _rows_of(value, pandas, path)
    # By method rather than class, which would mean importing its module.
    for name, convert in _CONVERSIONS:
        if callable(getattr(type(value), name, None)):
            return convert(value)
    raise TypeError(f"{path}: {type(value).__name__} has no TOON form; convert it to a dict, list, str or number")


_CONVERSIONS: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ("isoformat", lambda value: value.isoformat()),
    ("to_dicts", lambda value: value.to_dicts()),  # Frames of polars.
    ("to_dict", lambda value: value.to_dict("records")),
    ("tolist", plain_array),
    ("to_list", lambda value: value.to_list()),  # Series of polars.
)


def _rows_of(table: Any, pandas: Any, path: str) -> object:
    """The rows of a pandas table, with its index unless that only numbers them; a Series as a dict if it can be one."""
    index, is_series, is_nested = table.index, table.ndim == 1, table.index.nlevels > 1
    if is_series and not is_nested and index.is_unique:
        return table.to_dict()
    if is_series:
        table = table.to_frame("value" if table.name is None else table.name)
    rows: Any = table.itertuples(index=False, name=None)
    keys = [str(name) for name in table.columns]
    is_numbered = isinstance(index, pandas.RangeIndex) and index.start == 0 and index.step == 1 and index.name is None
    if not is_numbered:
        rows = ((*(label if is_nested else (label,)), *row) for label, row in zip(index, rows, strict=True))
        unnamed = [f"level_{level}" for level in range(index.nlevels)] if is_nested else ["index"]
        labels = zip(index.names, unnamed, strict=True)
        keys = [*(other if name is None else str(name) for name, other in labels), *keys]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ValueError(f"{path}: two columns are named {twice!r}, so one would be lost; rename one first")
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _is_mapping(value: object) -> TypeGuard[dict[object, object]]:
    return isinstance(value, dict)


def _is_sequence(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, (list, tuple, set, frozenset))


def _checked(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{path}: text with a lone surrogate at index {error.start} is not Unicode") from None
    return text
