"""Converts the arguments of a call to JSON values, or refuses them with their location and a way to fix them."""

from __future__ import annotations

from bridge_kernel.pending import Pending
from bridge_kernel.schema_values import UNKNOWN, is_array, is_object, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_MAX_DEPTH = 150
"""The pipe accepts 200 levels in total."""
_MISSING_TYPES = ("NaTType", "NAType", "MaskedConstant")
_PLAIN = (str, int, float, bool, type(None))


class NotJsonError(Exception):
    """A value that JSON cannot represent. `path` leads to it; the message says what to write instead."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.path: list[str | int] = []


def to_json(value: object, depth: int = _MAX_DEPTH) -> object:
    """`value` as a JSON value: unchanged if it already is one, otherwise a converted copy.

    Raises:
        NotJsonError: for types without an obvious JSON form, NaN, infinities, and containers that contain themselves.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None or value is UNKNOWN:
        return value
    if kind is float or isinstance(value, float):
        return _finite(value)
    if depth == 0:
        raise NotJsonError("is nested too deeply, or contains itself")
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
        # `key - key` is not 0 for NaN and infinities, which JSON would write as text.
        if key is not None and not (isinstance(key, (str, int)) or (isinstance(key, float) and key - key == 0)):
            raise NotJsonError(f"has the key {shown(key)}; keys must be str")
        if isinstance(key, int) and str(key) in value:
            raise NotJsonError(f"has the keys {key} and '{key}', which are the same in JSON")
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
    if value != value:
        raise _missing(value)
    if value in (float("inf"), float("-inf")):
        raise NotJsonError(f"is {value}, which JSON cannot represent")
    return value if type(value) is float else float(value)  # numpy.float64 is a subclass of float.


def _missing(value: object) -> NotJsonError:
    return NotJsonError(f"is {value}, a missing value, which JSON cannot represent; pass None, or leave it out")


def is_missing(value: Any) -> bool:
    """Whether it is NaT or NA of pandas or NumPy, or a masked entry. A NaN is a float, which callers look at first."""
    name = _type_of(value).__name__
    return name in _MISSING_TYPES or (name in ("datetime64", "timedelta64") and value != value)


def is_duration(value: object) -> bool:
    """Whether it is a duration of Python, pandas or NumPy, though no index of them."""
    kind = _type_of(value)
    return kind.__name__ == "timedelta64" or (hasattr(kind, "total_seconds") and not hasattr(kind, "tolist"))


def _duration(value: object) -> NotJsonError:
    """Tools take seconds, milliseconds or ISO 8601, and rarely say so in their schema."""
    name = _type_of(value).__name__
    seconds = "value / numpy.timedelta64(1, 's')" if name == "timedelta64" else "its total_seconds()"
    return NotJsonError(f"is a {name}, which JSON cannot represent; pass {seconds}, or the text that the tool expects")


def plain_array(value: Any) -> object:
    """An array, Series or scalar of NumPy or pandas as a list or a Python object.

    `tolist` makes numbers of times in nanoseconds, and None of NaT and of masked entries. Such members are taken one
    by one instead.
    """
    kind = _type_of(value)
    if kind.__name__ == "datetime64":
        moment = value.item()
        if not isinstance(moment, int):
            return moment
        text = str(value)
        return text.rstrip("0").removesuffix(".") if "." in text else text
    dtype: Any = getattr(value, "dtype", None)
    names = getattr(dtype, "names", None)
    if names is None and getattr(dtype, "kind", "") not in ("m", "M") and not hasattr(kind, "mask"):
        return value.tolist()
    if getattr(value, "shape", None) != ():
        return list(value)
    return value[()] if names is None else tuple(value[name] for name in names)


def _of_enum(value: Any) -> object:
    """The value of a `StrEnum` or `IntEnum`; other subclasses of str and int stay as they are."""
    return value.value if hasattr(_type_of(value), "__members__") else value


def _type_of(value: object) -> type[object]:
    return type(value)


def _fields(value: Any) -> dict[str, object]:
    names: list[str] = list(value.__dataclass_fields__)
    return {name: getattr(value, name) for name in names}


def _converted(value: Any) -> object:
    """One step towards JSON for common types. Recognizes them by attributes, so nothing has to be imported."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise NotJsonError("is bytes; pass a str: data.decode(), or base64.b64encode(data).decode()")
    if isinstance(value, Pending):
        raise NotJsonError(f"is a call that was not awaited: {value!r}")
    if isinstance(value, (set, frozenset)):
        raise NotJsonError("is a set, which has no order; pass sorted(...) or list(...)")
    if is_missing(value):
        raise _missing(value)
    if is_duration(value):
        raise _duration(value)
    kind = _type_of(value)
    for attribute, convert in _CONVERSIONS:
        if hasattr(kind, attribute):
            return convert(value)
    if kind.__module__ == "uuid":
        return str(value)
    name = kind.__name__
    article = "an" if name[:1] in "AEIOUaeiou" else "a"
    raise NotJsonError(f"is {article} {name}, which JSON cannot represent; pass str, numbers, lists or dicts")


_CONVERSIONS: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ("__members__", lambda value: value.value),  # Enum.
    ("model_dump", lambda value: value.model_dump(mode="json")),  # Pydantic models.
    ("__dataclass_fields__", _fields),
    ("__fspath__", lambda value: value.__fspath__()),
    ("isoformat", lambda value: value.isoformat()),  # Dates and times, including those of pandas.
    ("tolist", plain_array),  # numpy and pandas arrays, scalars and series.
)
"""The attribute by which a convertible type is recognized, and its conversion."""
