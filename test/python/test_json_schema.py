"""The check of values: certain violations are reported. Doubtful values pass, in `test_argument_cases.py`."""

from __future__ import annotations

import unittest
from typing import Any

from bridge_kernel.json_schema import find_problem
from bridge_kernel.patterns import matches

NODE: dict[str, Any] = {
    "$defs": {
        "node": {"properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "integer"}}, "required": ["v"]},
    },
    "$ref": "#/$defs/node",
}


def problem(value: object, schema: dict[str, Any]) -> str | None:
    """`path: text`, or None if the value passes."""
    found = find_problem(value, schema)
    return None if found is None else f"{'.'.join(map(str, found.path))}: {found.text}"


class Checks(unittest.TestCase):
    def test_violations_are_reported(self) -> None:
        for value, schema, said in (
            ("x", {"type": "integer"}, ": must be int, not 'x' (str)"),
            (True, {"type": "integer"}, ": must be int, not True"),
            (1.5, {"type": "integer"}, ": must be int, not 1.5 (float)"),
            (1, {"type": ["string", "null"]}, ": must be str or None, not 1 (int)"),
            ("c", {"const": "a"}, ": must be 'a', not 'c' (str)"),
            (True, {"enum": [1, 2]}, ": must be one of 1, 2, not True"),
            ("abc", {"maxLength": 2}, ": must have at most 2 characters, not 3"),
            ([], {"minItems": 1}, ": must have at least 1 members, not 0"),
            ([1, 1.0], {"uniqueItems": True}, ": must not contain the same value twice"),
            (5, {"exclusiveMaximum": 5}, ": must be below 5, not 5 (int)"),
            (7, {"multipleOf": 5}, ": must be a multiple of 5, not 7 (int)"),
            ("abc", {"pattern": "^[0-9]+$"}, ": must match the pattern '^[0-9]+$', not 'abc' (str)"),
            ([1, "a"], {"items": {"type": "integer"}}, "1: must be int, not 'a' (str)"),
            ([1, 2, "a"], {"prefixItems": [{}], "items": {"type": "integer"}}, "2: must be int, not 'a' (str)"),
            ([1, 2], {"items": [{}], "additionalItems": False}, "1: is not allowed"),
            ({}, {"required": ["a"]}, "a: is missing"),
            ({"a": 1}, {"properties": {"a": False}}, "a: is not allowed"),
            ({"x": 1}, {"additionalProperties": {"type": "string"}}, "x: must be str, not 1 (int)"),
            ({"x-a": 1}, {"patternProperties": {"^x-": {"type": "string"}}}, "x-a: must be str, not 1 (int)"),
            ({"v": 1, "next": {"v": "a"}}, NODE, "next.v: must be int, not 'a' (str)"),
            (1, {"anyOf": [{"type": "string"}, {"enum": ["a"]}]}, ": must be str or 'a', not 1 (int)"),
            (
                {"a": 1},
                {"oneOf": [{"type": "null"}, {"properties": {"a": {"type": "string"}}}]},
                "a: must be str, not 1 (int)",
            ),
            (1, {"allOf": [{}, {"minimum": 2}]}, ": must be at least 2, not 1 (int)"),
        ):
            with self.subTest(said):
                self.assertEqual(problem(value, schema), said)

    def test_schema_bombs_pass_quickly(self) -> None:
        levels = {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(60)}
        self.assertIsNone(problem("x", {"$defs": levels, "$ref": "#/$defs/0"}))
        deep: list[object] = []
        for _ in range(5_000):
            deep = [deep]
        self.assertIsNone(problem(deep, {"items": {"$ref": "#"}, "type": "array"}))
        long = ["a"] * 20_000
        self.assertIsNone(problem([*long, 5], {"items": {"type": "string"}}))


class Patterns(unittest.TestCase):
    def test_patterns_that_both_languages_read_alike_are_matched(self) -> None:
        for pattern, text, expected in (
            ("^[a-z0-9_-]{1,5}$", "ab_1", True),
            ("^[a-z0-9_-]{1,5}$", "abcdef", False),
            ("^a$", "a\n", False),
            ("b", "abc", True),
            (r"^\d{4}-\d{2}$", "2026-01", True),
            (r"^\w+@\w+\.com$", "me@x.org", False),
            ("^(?:a|b)c*?$", "bcc", True),
            (r"^[^\s/]+\/x$", "a/x", True),
            (r"^(ab){2}$", "abab", True),
            (r"^\x41\u0042$", "AB", True),
            ("[$[]", "$", True),
            ("^[[:a]$", "[", True),
            ("", "a", True),
        ):
            self.assertIs(matches(pattern, text), expected, pattern)

    def test_uncertain_or_slow_patterns_are_left_to_the_server(self) -> None:
        for pattern in (
            *("(a+)+$", "(a|a)*$", "(a*)*b", "((a{9}){9}){9}", "(?=a)b", "(?!a)", "(?<n>a)", "(?P<n>a)", r"(a)\1"),
            *(r"\p{L}", "[]a]", "[^]", "a{,3}", "a{", "a**", "a++", "*a", "^*", r"\b+", "a)", "(a", r"\A", r"\Z"),
            *("x" * 600, "é", r"\u{41}", r"\cA", r"[\b]", "a}", "a]"),
        ):
            with self.subTest(pattern):
                self.assertIsNone(matches(pattern, "a" * 40))
        self.assertIsNone(matches("^a*a*a*b$", "a" * 1_000))
        self.assertIsNone(matches("a", "é"))
