"""Signatures of tools, and how arguments of a call are bound, converted and checked."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import inspect
import pathlib
import unittest
import uuid
from typing import Any, Literal

from bridge_kernel.attr_dict import AttrDict
from bridge_kernel.errors import ArgumentError, MCPError
from bridge_kernel.pending import Pending
from bridge_kernel.schema_values import UNKNOWN
from bridge_kernel.specs import ToolSpec


def parameter(name: str, annotation: str, default: str | None = None, **more: object) -> dict[str, object]:
    facts: dict[str, object] = {"name": name, "alias": name, "annotation": annotation, "required": False, **more}
    return facts if default is None else {**facts, "default": default}


SEARCH: dict[str, Any] = {
    "name": "search-issues",
    "alias": "search_issues",
    "parameters": [
        parameter("from", "str", alias="from_", required=True),
        parameter("limit", "int", "10"),
        parameter("state", "Literal['open', 'closed']", "'open'"),
        parameter("x-loc-lat", "float | None", alias="x_loc_lat"),
        parameter("where", "SearchIssuesWhere"),
        parameter("any", "Any"),
    ],
    "open": False,
    "returns": "list[SearchIssuesResult]",
    "hint": "The signature is search_issues(from_: str, …).",
    "text": "the text",
    "input_schema": {
        "properties": {
            "from": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
            "state": {"enum": ["open", "closed"]},
            "x-loc-lat": {"type": ["number", "null"]},
            "where": {
                "properties": {"labels": {"type": "array", "items": {"type": "string"}}},
                "additionalProperties": False,
            },
        },
        "required": ["from"],
    },
}
SPEC = ToolSpec(SEARCH, "github")
ANY = ToolSpec({"name": "any", "alias": "any", "open": True, "parameters": [], "input_schema": {}}, "files")


class Signatures(unittest.TestCase):
    def test_it_prints_like_the_host_text(self) -> None:
        self.assertEqual(
            str(SPEC.signature()),
            "(from_: str, limit: int = 10, state: Literal['open', 'closed'] = 'open', x_loc_lat: float | None = ..., "
            "where: SearchIssuesWhere = ..., any=...) -> list[SearchIssuesResult]",
        )

    def test_annotations_and_defaults_are_real_objects_if_possible(self) -> None:
        parameters = SPEC.signature().parameters
        self.assertIs(parameters["from_"].annotation, str)
        self.assertEqual(parameters["state"].annotation, Literal["open", "closed"])
        self.assertEqual((parameters["limit"].default, parameters["state"].default), (10, "open"))
        self.assertIs(parameters["from_"].default, inspect.Parameter.empty)
        self.assertIs(parameters["any"].annotation, inspect.Parameter.empty)

    def test_an_open_tool_shows_kwargs(self) -> None:
        self.assertEqual(str(ANY.signature()), "(**kwargs)")
        facts = {**SEARCH, "open": True, "parameters": [parameter("kwargs", "str")], "returns": None}
        self.assertEqual(str(ToolSpec(facts, "x").signature()), "(kwargs: str = ..., **kwargs_)")

    def test_host_text_is_not_executed(self) -> None:
        facts = {**SEARCH, "parameters": [parameter("a", "__import__('os')", "__import__('os')")]}
        self.assertIn("a: __import__('os') = __import__('os')", str(ToolSpec(facts, "x").signature()))


class Binding(unittest.TestCase):
    def test_both_spellings_are_accepted_and_the_original_is_sent(self) -> None:
        self.assertEqual(SPEC.arguments((), {"from_": "a", "x_loc_lat": 1}), {"from": "a", "x-loc-lat": 1})
        self.assertEqual(SPEC.arguments((), {"from": "a", "x-loc-lat": 1}), {"from": "a", "x-loc-lat": 1})

    def test_positions_follow_the_signature_and_a_dict_provides_all_arguments(self) -> None:
        self.assertEqual(SPEC.arguments(("a", 3), {"state": "open"}), {"from": "a", "limit": 3, "state": "open"})
        self.assertEqual(SPEC.arguments(({"from": "a", "x_loc_lat": 2},), {}), {"from": "a", "x-loc-lat": 2})

    def test_none_omits_an_optional_parameter_unless_it_allows_null(self) -> None:
        given = SPEC.arguments(("a",), {"limit": None, "x_loc_lat": None, "any": None})
        self.assertEqual(given, {"from": "a", "x-loc-lat": None, "any": None})
        with self.assertRaisesRegex(ArgumentError, "from_ must be str, not None"):
            SPEC.arguments((), {"from_": None})

    def test_wrong_calls_are_explained(self) -> None:
        cases: tuple[tuple[tuple[object, ...], dict[str, object], str], ...] = (
            ((), {}, "from_ is missing"),
            (("a",), {"from": "b"}, "from was given twice"),
            ((), {"from": "b", "from_": "a"}, "from_ was given twice"),
            (("a",), {"limti": 3}, "limti is not a parameter of this tool. Did you mean 'limit'?"),
            (("a",), {"zzz": 3}, "zzz is not a parameter of this tool"),
            (
                ("a",),
                {"zzz": 3, "limti": 1},
                "zzz is not a parameter of this tool; limti is not .* Did you mean 'limit'",
            ),
            (
                ("a",),
                {"limit": 0, "state": "x", "where": {"labels": [1]}},
                r"limit must .*; state must .*; where.labels\[0\] must",
            ),
            (tuple("abcdefg"), {}, r"takes at most 6 arguments \(from_, limit, state, .*\), but 7 were given"),
            (("a",), {"limit": 0}, r"limit must be at least 1, not 0 \(int\)"),
            (
                ("a",),
                {"state": "opened"},
                r"state must be one of 'open', 'closed', not 'opened' \(str\). Did you mean 'op",
            ),
            (("a",), {"where": {"labels": ["x", 5]}}, r"where.labels\[1\] must be str, not 5 \(int\)"),
            (
                ("a",),
                {"where": {"lables": []}},
                "where.lables is not a known key. Did you mean 'labels'\\? Known: labels",
            ),
        )
        for args, kwargs, said in cases:
            with self.subTest(said), self.assertRaisesRegex(ArgumentError, f"github.search-issues: {said}"):
                SPEC.arguments(args, kwargs)

    def test_the_error_is_a_type_and_value_error_with_the_signature(self) -> None:
        with self.assertRaises(ArgumentError) as caught:
            SPEC.arguments((), {"from_": 1})
        error = caught.exception
        self.assertIsInstance(error, TypeError)
        self.assertIsInstance(error, ValueError)
        self.assertIsInstance(error, MCPError)
        self.assertEqual((error.code, error.data), ("TOOL_ARGUMENT_INVALID", {"argument": "from_"}))
        self.assertEqual(error.hint, "The signature is search_issues(from_: str, …).")

    def test_a_tool_without_a_spec_accepts_any_keyword(self) -> None:
        self.assertEqual(ANY.arguments((), {"from": 1, "self": 2}), {"from": 1, "self": 2})
        with self.assertRaisesRegex(ArgumentError, "takes no positional arguments, but 1 was given"):
            ANY.arguments((1,), {})

    def test_unknown_values_pass(self) -> None:
        given = SPEC.arguments((UNKNOWN,), {"limit": UNKNOWN, "where": {"labels": [UNKNOWN]}})
        self.assertIs(given["from"], UNKNOWN)
        with self.assertRaisesRegex(ArgumentError, "is missing"):
            SPEC.arguments((), {"limit": UNKNOWN})

    def test_a_required_parameter_with_a_default_may_be_omitted(self) -> None:
        schema = {"properties": {"a": {"type": "string", "default": "x"}}, "required": ["a"]}
        spec = ToolSpec({**SEARCH, "parameters": [parameter("a", "str", "'x'")], "input_schema": schema}, "x")
        self.assertEqual(spec.arguments((), {}), {})


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    when: dt.date


class Model:
    """The method that pydantic models have."""

    def model_dump(self, mode: str) -> dict[str, object]:
        return {"mode": mode}


class Array:
    """The method that numpy arrays and pandas series have."""

    def tolist(self) -> list[int]:
        return [1, 2]


class NaTType:
    """The missing time of pandas, which has a text."""

    def isoformat(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "NaT"


class Timedelta(dt.timedelta):
    """The duration of pandas, which has a text in ISO 8601."""

    def isoformat(self) -> str:
        return "P0DT0H0M1S"


class timedelta64:  # noqa: N801 The name that NumPy has.
    def tolist(self) -> int:
        return 1


class Text(str):
    __slots__ = ()


class Conversions(unittest.TestCase):
    def sent(self, value: object) -> object:
        return ANY.arguments((), {"value": value})["value"]

    def test_json_values_are_returned_unchanged(self) -> None:
        for value in ("a", 1, 1.5, True, None, [1, {"a": [None]}], (1, 2), {1: "a"}, AttrDict(a=1)):
            self.assertIs(self.sent(value), value)

    def test_common_types_are_converted(self) -> None:
        day = dt.date(2026, 1, 2)
        identifier = uuid.UUID(int=0)
        for value, converted in (
            (dt.datetime(2026, 1, 2, 3, tzinfo=dt.timezone.utc), "2026-01-02T03:00:00+00:00"),
            (day, "2026-01-02"),
            (pathlib.PurePosixPath("/a/b"), "/a/b"),
            (identifier, str(identifier)),
            (Colour.RED, "red"),
            (Level.HIGH, 3),
            (Point(1, day), {"x": 1, "when": "2026-01-02"}),
            (Model(), {"mode": "json"}),
            (Array(), [1, 2]),
            ([day, {"a": (day,)}], ["2026-01-02", {"a": ["2026-01-02"]}]),
            (Text("a"), "a"),
        ):
            self.assertEqual(self.sent(value), converted)

    def test_other_types_are_refused_with_location_and_alternative(self) -> None:
        circle: list[object] = []
        circle.append(circle)

        async def run() -> object:
            return None

        for value, said in (
            (b"x", r"value is bytes; pass a str: data.decode\(\), or base64"),
            ({"a": [0, {1}]}, r"value.a\[1\] is a set, which has no order; pass sorted"),
            (object(), "value is an object, which JSON cannot represent"),
            ([float("nan")], r"value\[0\] is nan, a missing value, which JSON cannot represent; pass None, or leave"),
            ({"a": [NaTType()]}, r"value.a\[0\] is NaT, a missing value, which JSON cannot represent"),
            (float("-inf"), "value is -inf"),
            # Only that of pandas was sent, as text.
            ([dt.timedelta(1)], r"value\[0\] is a timedelta, .* pass its total_seconds\(\), or the text that the tool"),
            ([Timedelta(1)], r"value\[0\] is a Timedelta, .* pass its total_seconds\(\), or the text that the tool"),
            (timedelta64(), r"value is a timedelta64, .* pass value / numpy.timedelta64\(1, 's'\), or the text"),
            ({float("nan"): 3}, r"value has the key nan \(float\); keys must be str"),
            ({"1": 2, 1: 3}, r"value has the keys 1 and '1', which are the same in JSON"),
            ({(1, 2): 3}, r"value has the key \(1, 2\); keys must be str"),
            (circle, "nested too deeply, or contains itself"),
            (Pending("mcp_x.y(...)", run, depth=1), "value is a call that was not awaited: .*write 'await mcp_x.y"),
        ):
            with self.subTest(said), self.assertRaisesRegex(ArgumentError, said):
                self.sent(value)
