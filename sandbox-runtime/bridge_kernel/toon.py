"""`runtime.to_toon`: converts a value to JSON types, which the host formats as TOON."""

from __future__ import annotations

import math

from bridge_kernel.arguments import is_missing, plain_array
from bridge_kernel.errors import MCPError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeGuard

    from bridge_kernel.servers import Host

_MAX_DEPTH = 150
"""The pipe accepts 200 levels in total."""


def to_toon(host: Host, value: object) -> str:
    """`value` as TOON text.

    Accepts JSON types, tuples, sets, dates, dataclasses, numpy numbers and pandas tables. Missing values (NaN, NaT, NA)
    and infinities become null; integers beyond 2**53 become text.

    Raises:
        TypeError: it contains another type; the message says where and which.
        ValueError: it contains itself, or text with lone surrogates.
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
        return {
            _checked(str(key), path): _plain(member, f"{path}[{key!r}]", depth - 1) for key, member in value.items()
        }
    if _is_sequence(value):
        return [_plain(member, f"{path}[{index}]", depth - 1) for index, member in enumerate(value)]
    return _plain(_converted(value, path), path, depth - 1)


def _converted(value: object, path: str) -> object:
    """The replacement for an object of a type that JSON lacks."""
    import dataclasses

    if is_missing(value):
        return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    # By method rather than class, which would mean importing its module.
    for name, arguments in (("isoformat", ()), ("to_dict", ("records",)), ("tolist", ())):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type) and type(value).__name__ != "timedelta64":
            if name == "tolist":
                return plain_array(value)
            return method(*arguments) if not _is_series(value) else method()
    raise TypeError(f"{path}: {type(value).__name__} has no TOON form; convert it to a dict, list, str or number")


def _is_series(value: object) -> bool:
    return type(value).__name__ == "Series"


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
