"""The repr of a value that may be huge: complete if it is small, otherwise its size and both ends.

The full text is never built: a list of millions of items takes a second to render and megabytes to hold, and nearly
all of it would be cut again.
"""

from __future__ import annotations

from bridge_kernel.counted import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeGuard

# A value with more members or characters than this is shortened; its text would be cut in the answer anyway.
_MAX_MEMBERS = 10_000
_MAX_CHARS = 40_000
# The length of a shortened value: enough to see what it is like. Chosen.
_SHORT_CHARS = 6_000
_MAX_DEPTH = 20
_HEAD_SHARE = 0.75
_REPRS: dict[type, object] = {
    kind: vars(kind)["__repr__"] for kind in (str, bytes, bytearray, dict, list, tuple, set, frozenset)
}


def short_repr(value: object) -> str:
    """`repr(value)`, or a shortened form below a line that describes it. Raises whatever a `__repr__` raises."""
    if not _is_large(value):
        return repr(value)
    return f"{_describe(value)}:\n{_short(value, _SHORT_CHARS, 0)}"


def _is_large(value: object) -> bool:
    """Whether the text would be long. Counts members up to the limit and no further."""
    members, chars = 0, 0
    seen: set[int] = set()
    waiting: list[Iterable[object]] = [(value,)]
    while waiting:
        for member in waiting.pop():
            if _is_text(member):
                chars += len(member)
            elif (_is_mapping(member) or _is_collection(member)) and id(member) not in seen:
                seen.add(id(member))
                members += len(member)
                waiting.append(member)
                if _is_mapping(member):
                    waiting.append(member.values())
            if members > _MAX_MEMBERS or chars > _MAX_CHARS:
                return True
    return False


def _describe(value: object) -> str:
    name = type(value).__name__
    if isinstance(value, str):
        return f"{name}, {counted(len(value), 'character')}"
    if isinstance(value, (bytes, bytearray)):
        return f"{name}, {counted(len(value), 'byte')}"
    if _is_collection(value) or _is_mapping(value):
        return f"{name}, {counted(len(value), 'item')}"
    return name


def _short(value: object, budget: int, depth: int) -> str:
    if _is_text(value):
        return _short_text(value, budget)
    if depth >= _MAX_DEPTH:
        return "…"
    if _is_mapping(value):
        # As `__repr__` takes them, whatever a subclass does in `__getitem__` or `items`.
        kind: Any = dict
        items = _ends(_first(kind.items(value)), budget, lambda item, left: _short_item(item, left, depth))
        return f"{{{items}}}"
    if _is_collection(value):
        opening, closing = _brackets(value)
        members = value if isinstance(value, (list, tuple)) else _first(value)
        return opening + _ends(members, budget, lambda item, left: _short(item, left, depth + 1)) + closing
    return repr(value)


def _short_item(item: Any, budget: int, depth: int) -> str:
    return f"{_short(item[0], budget, depth + 1)}: {_short(item[1], budget, depth + 1)}"


def _first(members: Any) -> list[object]:
    """The first members of a collection that has no index, as many as could be shown."""
    from itertools import islice

    first: list[object] = list(islice(members, _SHORT_CHARS))
    total = len(members)
    return first if total == len(first) else _Cut(first, total)


class _Cut(list[object]):
    """The start of a longer collection."""

    def __init__(self, items: list[object], total: int) -> None:
        super().__init__(items)
        self.total = total


def _ends(items: Sequence[object], budget: int, show: Callable[[object, int], str]) -> str:
    """Members from the start and, if the end is known, from the end, in about `budget` characters."""
    total = items.total if isinstance(items, _Cut) else len(items)
    head = _fill(items, int(budget * _HEAD_SHARE), show)
    rest = items[max(len(head), len(items) - _SHORT_CHARS) :]
    tail = [] if isinstance(items, _Cut) else _fill(rest[::-1], budget - int(budget * _HEAD_SHARE), show)
    missing = total - len(head) - len(tail)
    gap = [f"… {missing:,} more …"] if missing else []
    return ", ".join([*head, *gap, *tail[::-1]])


def _fill(items: Iterable[object], budget: int, show: Callable[[object, int], str]) -> list[str]:
    """As many members as fit, but at least one."""
    shown: list[str] = []
    for item in items:
        if budget <= 0:
            break
        text = show(item, budget)
        if shown and len(text) > budget:
            break
        shown.append(text)
        budget -= len(text) + 2
    return shown


def _short_text(value: str | bytes | bytearray, budget: int) -> str:
    if len(value) <= budget:
        return repr(value)
    head = int(budget * _HEAD_SHARE)
    tail = budget - head
    return f"{value[:head]!r} … {len(value) - budget:,} more … {value[len(value) - tail :]!r}"


def _brackets(value: Any) -> tuple[str, str]:
    if isinstance(value, list):
        return "[", "]"
    is_single = len(value) == 1
    if isinstance(value, tuple):
        return "(", ",)" if is_single else ")"
    name = type(value).__name__
    return ("{", "}") if name == "set" else (f"{name}({{", "})")


# By `__repr__` rather than class: a subclass may define its own, and those of results do not.


def _is_text(value: object) -> TypeGuard[str | bytes | bytearray]:
    return _prints_as(value, str, bytes, bytearray)


def _is_mapping(value: object) -> TypeGuard[dict[object, object]]:
    return _prints_as(value, dict)


def _is_collection(
    value: object,
) -> TypeGuard[list[object] | tuple[object, ...] | set[object] | frozenset[object]]:
    return _prints_as(value, list, tuple, set, frozenset)


def _prints_as(value: object, *kinds: type) -> bool:
    kind: Any = type(value)
    return any(parent in kind.__mro__ and kind.__repr__ is _REPRS[parent] for parent in kinds)
