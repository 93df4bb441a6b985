"""Signatures of tools, also where a server bends JSON Schema."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING

from bridge_kernel.signatures import parameter_names, signature_of, text_of

if TYPE_CHECKING:
    from bridge_kernel.servers import ToolInfo

SEARCH: ToolInfo = {
    "name": "search-issues",
    "alias": "search_issues",
    "description": "Finds issues.",
    "input_schema": {
        "properties": {
            "limit": {"type": "integer", "default": 10},
            "from": {"type": "string", "description": "First day"},
            "state": {"enum": ["open", "closed"], "description": "Which."},
            "order-by": {"type": ["string", "null"]},
        },
        "required": ["from"],
    },
    "parameter_aliases": {"from": "from_", "order-by": "order_by"},
}


class Signatures(unittest.TestCase):
    def test_required_parameters_come_first_and_names_are_those_of_python(self) -> None:
        self.assertEqual(str(signature_of(SEARCH)), "(from_: str, limit: int = 10, state=..., order_by=...)")
        self.assertEqual(parameter_names(SEARCH), ["from", "limit", "state", "order-by"])

    def test_help_shows_signature_description_and_parameters(self) -> None:
        self.assertEqual(
            text_of(SEARCH).splitlines(),
            [
                "search_issues(from_: str, limit: int = 10, state=..., order_by=...)",
                "",
                "Finds issues.",
                "  from_: First day",
                "  limit",
                "  state: Which. One of 'open', 'closed'.",
                "  order_by",
            ],
        )

    def test_a_bent_schema_gives_what_can_be_known(self) -> None:
        for schema in ({}, {"properties": None}, {"properties": [], "required": "x"}, {"type": "object"}):
            self.assertEqual(str(signature_of({"input_schema": schema})), "()")
        self.assertEqual(str(signature_of({"input_schema": {"properties": {"a": True, "b": None}}})), "(a=..., b=...)")
