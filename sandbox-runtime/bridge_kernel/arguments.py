"""Arguments of a call as JSON values: what code has at hand is converted, or refused with its place and a way out."""

from __future__ import annotations

from bridge_kernel.pending import Pending
from bridge_kernel.schema_values import UNKNOWN, is_array, is_object, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_MAX_DEPTH = 150
"""The pipe takes 200 levels in all."""
_PLAIN = (str, int, float, bool, type(None))


class NotJsonError(Exception):
    """A value that has no form in JSON: `path` leads to it, the text says what to write instead."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.path: list[str | int] = []


def to_json(value: object, depth: int = _MAX_DEPTH) -> object:
    """`value` as JSON can hold it: itself if it is that already, else a copy.

    Raises:
        NotJsonError: for what has no obvious form, not numbers, and containers that hold themselves.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None or value is UNKNOWN:
        return value
    if kind is float or isinstance(value, float):
        return _finite(value)
    if depth == 0:
        raise NotJsonError("is nested too deep, or holds itself")
    if is_object(value):
        return _dict_to_json(value, depth)
    if is_array(value):
        return _list_to_json(value, depth)
    if isinstance(value, _PLAIN):
        return _of_enum(value)
    return to_json(_converted(value), depth - 1)


def _dict_to_json(value: dict[Any, object], depth: int) -> dict[Any, object]:
    changed: dict[Any, object] = {}
    for key, member in value.items():
        try:
            plain = to_json(member, depth - 1)
        except NotJsonError as error:
            error.path.insert(0, key if isinstance(key, (str, int)) else str(key))
            raise
        if not isinstance(key, (str, int, float)) and key is not None:
            raise NotJsonError(f"has the key {shown(key)}; keys are text")
        if plain is not member:
            changed[key] = plain
    return {**value, **changed} if changed else value


def _list_to_json(value: Sequence[object], depth: int) -> object:
    changed: list[object] | None = None
    for index, member in enumerate(value):
        try:
            plain = to_json(member, depth - 1)
        except NotJsonError as error:
            error.path.insert(0, index)
            raise
        if plain is not member:
            changed = list(value) if changed is None else changed
            changed[index] = plain
    return value if changed is None else changed


def _finite(value: Any) -> object:
    if value != value or value in (float("inf"), float("-inf")):
        raise NotJsonError(f"is {value}, which JSON cannot express")
    return value if type(value) is float else float(value)  # numpy.float64 is a float, too.


def _of_enum(value: Any) -> object:
    """The value of a `StrEnum` or `IntEnum`; other subclasses of str and int are what they are."""
    return value.value if hasattr(_type_of(value), "__members__") else value


def _type_of(value: object) -> type[object]:
    return type(value)


def _fields(value: Any) -> dict[str, object]:
    names: list[str] = list(value.__dataclass_fields__)
    return {name: getattr(value, name) for name in names}


def _converted(value: Any) -> object:
    """One step towards JSON for the types that code uses most. Nothing is imported: who has such a value has."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise NotJsonError("is bytes; pass text: data.decode(), or base64.b64encode(data).decode()")
    if isinstance(value, Pending):
        raise NotJsonError(f"is a call that was not awaited: {value!r}")
    if isinstance(value, (set, frozenset)):
        raise NotJsonError("is a set, which has no order; pass sorted(...) or list(...)")
    kind = _type_of(value)
    for attribute, convert in _CONVERSIONS:
        if hasattr(kind, attribute):
            return convert(value)
    if kind.__module__ == "uuid":
        return str(value)
    name = kind.__name__
    article = "an" if name[:1] in "AEIOUaeiou" else "a"
    raise NotJsonError(f"is {article} {name}, which has no form in JSON; pass text, numbers, lists or dicts of them")


_CONVERSIONS: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ("__members__", lambda value: value.value),  # Enum.
    ("model_dump", lambda value: value.model_dump(mode="json")),  # A model of pydantic.
    ("__dataclass_fields__", _fields),
    ("__fspath__", lambda value: value.__fspath__()),
    ("isoformat", lambda value: value.isoformat()),  # Dates and times, those of pandas too.
    ("tolist", lambda value: value.tolist()),  # Arrays, scalars and series of numpy and pandas.
)
"""What a type has that can be converted, and how."""
