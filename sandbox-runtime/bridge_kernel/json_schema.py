"""Checks a value against a JSON Schema and explains the first certain violation.

A value that a validator would accept is never refused. Everything doubtful passes and is left to the server: unknown
keywords, references outside the document, patterns that Python may read differently, and anything beyond a bounded
number of steps. Drafts 4 to 2020-12 are supported alike.
"""

from __future__ import annotations

from bridge_kernel.patterns import matches
from bridge_kernel.schema_values import (
    MAX_CHOICES,
    UNKNOWN,
    Problem,
    has_twins,
    is_array,
    is_object,
    literal_problem,
    near,
    number_problem,
    shown,
    size_problem,
    text_problem,
    type_problem,
)
from bridge_kernel.values import as_dict, as_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Facts = dict[str, object]
    Check = Callable[["Checker", object, Facts], Problem | None]

_MAX_STEPS = 10_000
"""Schemas visited by one check, about 15 ms; anything after that passes."""


class _OutOfStepsError(Exception):
    pass


class Checker:
    """Checks values against the schemas of one document, `root`. The checks of each schema are looked up once."""

    def __init__(self, root: dict[str, object]) -> None:
        self._root = root
        self._steps = 0
        # By identity: the schemas live as long as the document.
        self._checks: dict[int, tuple[Check, ...]] = {}

    def find(self, value: object, schema: object) -> Problem | None:
        """The first certain violation in `value`, a JSON value; tuples count as lists."""
        self._steps = _MAX_STEPS
        try:
            return self.problem(value, schema)
        except (_OutOfStepsError, RecursionError):
            return None

    def problem(self, value: object, schema: object) -> Problem | None:
        """Like `find`, for use inside a check."""
        self._steps -= 1
        if self._steps < 0:
            raise _OutOfStepsError
        if value is UNKNOWN:
            return None
        if not is_object(schema):
            return Problem("is not allowed") if schema is False else None
        checks = self._checks.get(id(schema))
        if checks is None:
            checks = self._checks[id(schema)] = self._checks_of(schema)
        for check in checks:
            found = check(self, value, schema)
            if found is not None:
                return found
        return None

    def _checks_of(self, facts: Facts) -> tuple[Check, ...]:
        # An embedded document resolves its own references, which is not supported.
        if facts is not self._root and ("$id" in facts or isinstance(facts.get("id"), str)):
            return ()
        # Only the reference: older drafts ignore its sibling keywords.
        if "$ref" in facts:
            return (_reference_problem,)
        checks = tuple(check for check, keywords in _KEYWORDS if any(keyword in facts for keyword in keywords))
        if facts.get("nullable") is True:
            return (lambda checker, value, facts: None if value is None else _first(checks, checker, value, facts),)
        return checks

    def resolve(self, reference: object) -> object:
        """The schema that a reference into the document points to; None, which allows everything, for any other."""
        return resolve(reference, self._root)


def find_problem(value: object, schema: dict[str, object]) -> Problem | None:
    """The first certain violation in `value`; references are resolved within `schema`."""
    return Checker(schema).find(value, schema)


def _first(checks: tuple[Check, ...], checker: Checker, value: object, facts: Facts) -> Problem | None:
    return next((found for check in checks if (found := check(checker, value, facts)) is not None), None)


def _reference_problem(checker: Checker, value: object, facts: Facts) -> Problem | None:
    return checker.problem(value, checker.resolve(facts["$ref"]))


def _all_problem(checker: Checker, value: object, facts: Facts) -> Problem | None:
    for member in as_list(facts.get("allOf")):
        found = checker.problem(value, member)
        if found is not None:
            return found
    return None


def _any_problem(checker: Checker, value: object, facts: Facts) -> Problem | None:
    for keyword in ("anyOf", "oneOf"):
        problems: list[Problem] = []
        for member in as_list(facts.get(keyword)):
            found = checker.problem(value, member)
            if found is None:
                break
            problems.append(found)
        else:
            if problems:
                return _of_all(problems, value)
    return None


def _list_problem(checker: Checker, value: object, facts: Facts) -> Problem | None:
    if not is_array(value):
        return None
    size = size_problem(len(value), facts, "minItems", "maxItems", "members")
    if size is not None:
        return size
    if facts.get("uniqueItems") is True and has_twins(value):
        return Problem("must not contain the same value twice")
    items, first = facts.get("items"), facts.get("prefixItems")
    if is_array(items):  # Draft 2019-09 and before.
        first, items = items, facts.get("additionalItems")
    places = first if is_array(first) else ()
    if items is None and not places:
        return None
    for index, member in enumerate(value):
        found = checker.problem(member, places[index] if index < len(places) else items)
        if found is not None:
            return found.at(index)
    return None


def _dict_problem(checker: Checker, value: object, facts: Facts) -> Problem | None:
    if not is_object(value):
        return None
    size = size_problem(len(value), facts, "minProperties", "maxProperties", "keys")
    if size is not None:
        return size
    properties = as_dict(facts.get("properties"))
    for name in as_list(facts.get("required")):
        # A server fills in a default itself, even for a required key.
        if isinstance(name, str) and name not in value and "default" not in as_dict(properties.get(name)):
            return Problem("is missing").at(name)
    is_simple = "patternProperties" not in facts and "additionalProperties" not in facts
    for key, member in value.items():
        found = checker.problem(member, properties[key]) if key in properties else None
        if found is None and not is_simple:
            found = _other_key_problem(checker, key, member, facts)
        if found is not None:
            return found.at(key)
    return None


def _other_key_problem(checker: Checker, key: str, member: object, facts: Facts) -> Problem | None:
    """Checks a key against `patternProperties` and `additionalProperties`."""
    patterns = as_dict(facts.get("patternProperties"))
    matched = {pattern: matches(pattern, key) for pattern in patterns}
    for pattern in patterns:
        found = checker.problem(member, patterns[pattern]) if matched[pattern] is True else None
        if found is not None:
            return found
    properties = as_dict(facts.get("properties"))
    # If it is unknown whether a pattern matches, the server decides.
    if key in properties or any(result is not False for result in matched.values()):
        return None
    more = facts.get("additionalProperties")
    if more is not False:
        return checker.problem(member, more)
    names = ", ".join(list(properties)[:MAX_CHOICES])
    known = f".{near(key, properties)} Known: {names}" if names else ""
    return Problem(f"is not a known key{known}")


def _of_all(problems: list[Problem], value: object) -> Problem:
    """The problem to report if no alternative matches: that of the closest one, or else all that would be valid."""
    nearest = max(problems, key=lambda problem: len(problem.path))
    if nearest.path:
        return nearest
    expected = list(dict.fromkeys(problem.expected for problem in problems))
    if not all(expected):
        return nearest
    said = " or ".join(expected[:MAX_CHOICES])
    return Problem(f"must be {said}, not {shown(value)}", said)


_KEYWORDS: tuple[tuple[Check, tuple[str, ...]], ...] = (
    (lambda _, value, facts: literal_problem(value, facts), ("const", "enum")),
    (lambda _, value, facts: type_problem(value, facts), ("type",)),
    (lambda _, value, facts: text_problem(value, facts), ("minLength", "maxLength", "pattern")),
    (
        lambda _, value, facts: number_problem(value, facts),
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    ),
    (_list_problem, ("items", "prefixItems", "minItems", "maxItems", "uniqueItems")),
    (
        _dict_problem,
        ("properties", "required", "patternProperties", "additionalProperties", "minProperties", "maxProperties"),
    ),
    (_all_problem, ("allOf",)),
    (_any_problem, ("anyOf", "oneOf")),
)
"""The checks and their keywords, in the order in which problems are reported."""


def resolve(reference: object, root: dict[str, object]) -> object:
    """The schema that a reference into the same document points to; None, which allows everything, for any other."""
    if reference == "#":
        return root
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    from urllib.parse import unquote

    found: object = root
    for part in unquote(reference[2:]).split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if is_array(found):
            found = found[int(key)] if key.isdecimal() and int(key) < len(found) else None
        else:
            found = as_dict(found).get(key)
        if is_object(found) and "$id" in found:
            return None
    return found
