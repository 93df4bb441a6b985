"""JSON Schema keywords that concern a single value, and the messages for a value that violates them."""

from __future__ import annotations

from bridge_kernel.near import close_names
from bridge_kernel.patterns import matches
from bridge_kernel.values import as_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeGuard

_MAX_UNIQUE = 1_000
_MAX_SHOWN = 80
MAX_CHOICES = 20
"""Values or names listed in one message at most."""
_TYPE_NAMES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}
_EXACT = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}

UNKNOWN = object()
"""A value that is not known yet; it passes every check."""


class Problem:
    """What is wrong, and where: `path` leads from the checked value to the wrong part."""

    __slots__ = ("expected", "path", "text")

    def __init__(self, text: str, expected: str = "") -> None:
        self.path: list[str | int] = []
        self.text = text
        self.expected = expected
        """What would be valid, if the value as a whole is wrong."""

    def at(self, key: str | int) -> Problem:
        """The same problem, seen from one level up."""
        self.path.insert(0, key)
        return self


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether the value is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[Sequence[object]]:
    """Whether the value is a JSON array; tuples count."""
    return isinstance(value, (list, tuple))


def shown(value: object) -> str:
    """A value as shown in messages: short, and with its type unless that is obvious."""
    from reprlib import Repr

    short = Repr()
    short.maxstring = short.maxother = _MAX_SHOWN
    text = short.repr(value)
    return text if value is None or isinstance(value, (bool, list, tuple, dict)) else f"{text} ({type(value).__name__})"


def literal_problem(value: object, facts: dict[str, object]) -> Problem | None:
    """Checks `const` and `enum`."""
    if "const" in facts:
        choices = [facts["const"]]
    elif "enum" in facts and as_list(facts["enum"]):
        choices = as_list(facts["enum"])
    else:
        return None
    if any(_same(value, choice) for choice in choices):
        return None
    expected = ", ".join(_short(choice) for choice in choices[:MAX_CHOICES])
    if len(choices) > MAX_CHOICES:
        expected += f", … ({len(choices)} in total)"
    hint = near(value, [choice for choice in choices if isinstance(choice, str)]) if isinstance(value, str) else ""
    said = expected if len(choices) == 1 else f"one of {expected}"
    return Problem(f"must be {said}, not {shown(value)}.{hint}".removesuffix("."), said)


def type_problem(value: object, facts: dict[str, object]) -> Problem | None:
    """Checks `type`. An unknown type allows everything."""
    types = facts.get("type")
    if isinstance(types, str) and type(value) is _EXACT.get(types):
        return None
    names = [types] if isinstance(types, str) else as_list(types)
    known = [name for name in names if isinstance(name, str) and name in _TYPES]
    if not names or len(known) < len(names) or any(_TYPES[name](value) for name in known):
        return None
    expected = " or ".join(_TYPE_NAMES[name] for name in known)
    return Problem(f"must be {expected}, not {shown(value)}", expected)


def _is_integer(value: object) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


_TYPES: dict[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, (list, tuple)),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def text_problem(value: object, facts: dict[str, object]) -> Problem | None:
    """Checks the length and pattern of a string."""
    if not isinstance(value, str):
        return None
    size = size_problem(len(value), facts, "minLength", "maxLength", "characters")
    if size is not None:
        return size
    pattern = facts.get("pattern")
    if isinstance(pattern, str) and matches(pattern, value) is False:
        expected = f"text like {_short(pattern)}"
        return Problem(f"must match the pattern {_short(pattern)}, not {shown(value)}", expected)
    return None


def number_problem(value: object, facts: dict[str, object]) -> Problem | None:
    """Checks the bounds of a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    for keyword, words, is_right in _BOUNDS:
        bound = facts.get(keyword)
        if isinstance(bound, (int, float)) and not isinstance(bound, bool) and not is_right(value, bound):
            return Problem(f"must be {words} {bound}, not {shown(value)}", f"{words} {bound}")
    step = facts.get("multipleOf")
    # Fractions are left to the server, because the result depends on rounding.
    if isinstance(step, int) and isinstance(value, int) and step > 0 and value % step:
        return Problem(f"must be a multiple of {step}, not {shown(value)}", f"a multiple of {step}")
    return None


_BOUNDS: tuple[tuple[str, str, Callable[[float, float], bool]], ...] = (
    ("minimum", "at least", lambda value, bound: value >= bound),
    ("maximum", "at most", lambda value, bound: value <= bound),
    ("exclusiveMinimum", "above", lambda value, bound: value > bound),
    ("exclusiveMaximum", "below", lambda value, bound: value < bound),
)


def size_problem(size: int, facts: dict[str, object], least: str, most: str, unit: str) -> Problem | None:
    """Checks a count of `unit` against the keywords named by `least` and `most`."""
    low, high = facts.get(least), facts.get(most)
    if isinstance(low, (int, float)) and size < low:
        return Problem(f"must have at least {low} {unit}, not {size}", f"at least {low} {unit}")
    if isinstance(high, (int, float)) and size > high:
        return Problem(f"must have at most {high} {unit}, not {size}", f"at most {high} {unit}")
    return None


def has_twins(value: Sequence[object]) -> bool:
    """Whether two members are equal. Compares only scalars, and a limited number of them."""
    seen: set[tuple[bool, object]] = set()
    for member in value[:_MAX_UNIQUE]:
        if isinstance(member, (str, int, float)):
            key = (isinstance(member, bool), member)
            if key in seen:
                return True
            seen.add(key)
    return False


def _same(left: object, right: object) -> bool:
    """JSON equality: 1 equals 1.0, and True does not equal 1."""
    if left is UNKNOWN:
        return True
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if is_array(left) and is_array(right):
        return len(left) == len(right) and all(map(_same, left, right))
    if is_object(left) and is_object(right):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return left == right


def near(word: str, known: Iterable[str]) -> str:
    """`" Did you mean 'a'?"`, or an empty string."""
    return close_names(word[:_MAX_SHOWN], list(known)[:_MAX_UNIQUE])


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
