"""The cases that `servers call` (`test/unit/terminal/argument-cases.test.ts`) must answer alike.

Each is checked twice: as a call does it, and as the check of a cell does it before the cell runs.
"""

from __future__ import annotations

import ast
import json
import unittest
from pathlib import Path
from typing import Any

from bridge_kernel.check_arguments import explain_tool_call
from bridge_kernel.errors import ArgumentError
from bridge_kernel.specs import ToolSpec

CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "argument-cases.json").read_text("utf-8"))


def answer(spec: ToolSpec, given: dict[str, Any]) -> dict[str, Any]:
    """What is sent, or the place that is refused."""
    try:
        return {"sent": spec.arguments((), given)}
    except ArgumentError as error:
        return {"refused": error.data["argument"]}


class ArgumentCases(unittest.TestCase):
    def check(self, spec: ToolSpec, given: dict[str, Any], expected: dict[str, Any]) -> None:
        with self.subTest(given=given, expected=expected):
            self.assertEqual(answer(spec, given), expected)
            values = [ast.keyword(name, ast.parse(repr(value), mode="eval").body) for name, value in given.items()]
            call = ast.Call(ast.Name("tool"), [], values)
            self.assertEqual(explain_tool_call(spec, call) is not None, "refused" in expected)

    def test_calls(self) -> None:
        for tool in CASES["tools"]:
            spec = ToolSpec({"alias": tool["name"], **tool}, "cases")
            for call in tool["calls"]:
                self.check(spec, call["given"], {key: call[key] for key in ("sent", "refused") if key in call})

    def test_values(self) -> None:
        for case in CASES["values"]:
            facts = {
                "name": "tool",
                "alias": "tool",
                "open": False,
                "parameters": [{"name": "x", "alias": "x", "required": False}],
                "input_schema": {"type": "object", "properties": {"x": case["schema"]}, "$defs": CASES["$defs"]},
            }
            given = {"x": case["value"]}
            self.check(
                ToolSpec(facts, "cases"),
                given,
                {"refused": case["refused"]} if "refused" in case else {"sent": given},
            )
