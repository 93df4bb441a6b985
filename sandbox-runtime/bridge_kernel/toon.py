"""`runtime.to_toon`: a value as TOON, the same text as the encoder of the host writes (TOON specification 4).

TOON spends fewer tokens than JSON on lists of records: their keys are written once, in a header. The host's encoder is
`@toon-format/toon`; golden files made by it are compared with this one by `test/python/test_toon.py`.
"""

from __future__ import annotations

import math
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeGuard

    Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
    # Column name, and the columns inside it when its values are records themselves.
    Columns = list[tuple[str, "Columns | None"]]

_INDENT = "  "
# Integers beyond it are no numbers in JavaScript; its encoder writes them as text.
_MAX_SAFE_INTEGER = 2**53 - 1
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_LIKE_A_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NEEDS_QUOTES = re.compile('[:"\\\\\\[\\]{},\x00-\x1f]')
_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile('[\\\\"\x00-\x1f]')


def to_toon(value: object) -> str:
    """`value` as TOON text.

    Takes what JSON takes, and tuples, sets, dates, dataclasses, numpy numbers and pandas tables. NaN and infinities
    become null, as the host writes them.

    Raises:
        TypeError: something else is in it; the message says where and what.
        ValueError: it contains itself, or text that is no Unicode.
    """
    try:
        return "\n".join(_lines(_plain(value, "value"), 0))
    except RecursionError:
        raise ValueError("the value is nested too deeply, or contains itself") from None


def _plain(value: object, path: str) -> Json:
    """`value` as JSON would hold it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _checked(str(value), path)
    if isinstance(value, int):
        number = int(value)
        return number if abs(number) <= _MAX_SAFE_INTEGER else str(number)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if _is_mapping(value):
        members = {_checked(str(key), path): _plain(member, f"{path}[{key!r}]") for key, member in value.items()}
        return {key: members[key] for key in _as_javascript_orders(members)}
    if _is_sequence(value):
        return [_plain(member, f"{path}[{index}]") for index, member in enumerate(value)]
    return _plain(_converted(value, path), path)


def _converted(value: object, path: str) -> object:
    """What stands for an object of a type that JSON does not have."""
    import dataclasses

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    # By its methods, not its class: that would import the module.
    for name, arguments in (("isoformat", ()), ("to_dict", ("records",)), ("tolist", ())):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            return method(*arguments) if not _is_series(value) else method()
    raise TypeError(f"{path}: {type(value).__name__} has no TOON form; convert it to dict, list, str or a number first")


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
        raise ValueError(f"{path}: text with a lone surrogate at index {error.start} is no Unicode") from None
    return text


def _as_javascript_orders(keys: dict[str, Json]) -> list[str]:
    """Keys that look like array indexes first, ascending: a JavaScript object cannot hold them otherwise (ECMA-262)."""
    indexes = [key for key in keys if _ARRAY_INDEX.fullmatch(key) and int(key) < 2**32 - 1]
    if not indexes:
        return list(keys)
    taken = set(indexes)
    return [*sorted(indexes, key=int), *(key for key in keys if key not in taken)]


def _lines(value: Json, depth: int) -> Iterator[str]:
    """The document."""
    if isinstance(value, list):
        yield from _array("", value, depth)
    elif isinstance(value, dict):
        columns = _keyed_columns(value)
        yield from _keyed("", value, columns, depth) if columns else _members(value, depth)
    elif isinstance(value, str) and value.startswith("\ufeff"):
        yield _quoted(value)  # At the start of a document it would be taken for a byte order mark.
    else:
        yield _primitive(value)


def _members(value: dict[str, Json], depth: int) -> Iterator[str]:
    for key, member in value.items():
        yield from _member(key, member, depth)


def _member(key: str, value: Json, depth: int) -> Iterator[str]:
    name = _key(key)
    if isinstance(value, list):
        yield from _array(name, value, depth)
        return
    if not isinstance(value, dict):
        yield f"{_INDENT * depth}{name}: {_primitive(value)}"
        return
    columns = _keyed_columns(value)
    if columns:
        yield from _keyed(name, value, columns, depth)
        return
    yield f"{_INDENT * depth}{name}:"
    yield from _members(value, depth + 1)


def _array(name: str, values: list[Json], depth: int) -> Iterator[str]:
    """An array after its name, which is empty at the root."""
    start = _INDENT * depth
    columns = _columns(values)
    if not values:
        yield f"{start}{name}: []" if name else f"{start}[]"
    elif _are_primitive(values):
        yield start + _inline(name, values)
    elif columns:
        yield f"{start}{name}[{len(values)}]{_fields(columns)}:"
        yield from _rows(values, columns, depth + 1)
    else:
        yield f"{start}{name}[{len(values)}]:"
        for item in values:
            yield from _item(item, depth + 1)


def _keyed(name: str, value: dict[str, Json], columns: Columns, depth: int) -> Iterator[str]:
    yield f"{_INDENT * depth}{name}[{len(value)}:]{_fields(columns)}:"
    for key, record in value.items():
        yield f"{_INDENT * (depth + 1)}{_key(key)}: {_cells(record, columns)}"


def _rows(records: list[Json], columns: Columns, depth: int) -> Iterator[str]:
    for record in records:
        yield _INDENT * depth + _cells(record, columns)


def _item(value: Json, depth: int) -> Iterator[str]:
    """One item of a list that is no table."""
    start = f"{_INDENT * depth}- "
    if isinstance(value, dict):
        yield from _record_item(value, depth)
    elif not isinstance(value, list):
        yield start + _primitive(value)
    elif _are_primitive(value):
        yield start + _inline("", value)
    else:
        yield f"{start}[{len(value)}]:"
        for member in value:
            yield from _item(member, depth + 1)


def _record_item(value: dict[str, Json], depth: int) -> Iterator[str]:
    """An object in a list: its first member stands on the line of the hyphen, what belongs to that one level deeper."""
    if not value:
        yield f"{_INDENT * depth}-"
        return
    key, first = next(iter(value.items()))
    lines = _first_member(key, first, depth + 1)
    yield f"{_INDENT * depth}- {next(lines).lstrip(' ')}"
    yield from lines
    for other in list(value)[1:]:
        yield from _member(other, value[other], depth + 1)


def _first_member(key: str, value: Json, depth: int) -> Iterator[str]:
    if isinstance(value, list) and value and not _are_primitive(value) and not _columns(value):
        yield f"{_key(key)}[{len(value)}]:"
        for item in value:
            yield from _item(item, depth + 1)
        return
    yield from _member(key, value, depth)


def _inline(name: str, values: list[Json]) -> str:
    joined = ",".join(map(_primitive, values))
    return f"{name}[{len(values)}]: {joined}" if values else f"{name}[0]:"


def _columns(values: list[Json]) -> Columns | None:
    """The columns of a table, when every value is a record with the same keys and plain (or such) values."""
    records = [value for value in values if isinstance(value, dict)]
    if not values or len(records) != len(values) or not records[0]:
        return None
    keys = records[0].keys()
    if any(record.keys() != keys for record in records):
        return None
    columns: Columns = []
    for key in keys:
        column = [record[key] for record in records]
        if _are_primitive(column):
            columns.append((key, None))
            continue
        inner = _columns(column)
        if inner is None:
            return None
        columns.append((key, inner))
    return columns


def _keyed_columns(value: dict[str, Json]) -> Columns | None:
    """The columns of an object of records, when there are at least two."""
    return _columns(list(value.values())) if len(value) > 1 else None


def _fields(columns: Columns) -> str:
    inner = ",".join(_key(name) + (_fields(children) if children else "") for name, children in columns)
    return f"{{{inner}}}"


def _cells(record: Json, columns: Columns) -> str:
    return ",".join(map(_primitive, _leaves(record, columns)))


def _leaves(record: Json, columns: Columns) -> Iterator[Json]:
    if not isinstance(record, dict):
        return
    for name, children in columns:
        if children:
            yield from _leaves(record[name], children)
        else:
            yield record[name]


def _are_primitive(values: list[Json]) -> bool:
    return not any(isinstance(value, (dict, list)) for value in values)


def _primitive(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        return value if _is_plain(value) else _quoted(value)
    return str(value)


def _float(value: float) -> str:
    """As ECMA-262 writes a number: the shortest digits, with an exponent only from 1e21 and below 1e-6."""
    if value == 0:
        return "0"
    text = repr(abs(value))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0") if whole == "0" else whole + fraction
    point = len(whole) + int(exponent or 0) if whole != "0" else len(digits) - len(fraction) + int(exponent or 0)
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"


def _is_plain(text: str) -> bool:
    """Whether a text needs no quotes: it would be read back as the same text."""
    if not text or text[0] in " \t-#" or text[-1] in " \t" or text in ("true", "false", "null"):
        return False
    return _NEEDS_QUOTES.search(text) is None and _LIKE_A_NUMBER.fullmatch(text) is None


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else _quoted(key)


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(lambda found: _escape(found.group()), text)}"'


def _escape(character: str) -> str:
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"
