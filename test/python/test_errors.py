"""The exceptions that user code catches. Their codes must equal those of the host."""

from __future__ import annotations

import pickle
import re
import unittest
from pathlib import Path

from bridge_kernel.errors import (
    CODES,
    MCPError,
    PolicyError,
    ServerNotAvailableError,
    ToolError,
    call_of,
    error_from_frame,
)

ERRORS_TS = Path(__file__).parents[2] / "src" / "core" / "base" / "errors.ts"


class Codes(unittest.TestCase):
    def test_codes_equal_those_of_the_host_in_order(self) -> None:
        table = re.search(r"ERROR_CODES = \{\n(.*?)\n\} as const", ERRORS_TS.read_text(), re.DOTALL)
        assert table is not None
        self.assertEqual(list(CODES), re.findall(r"^  ([A-Z_]+): \{", table[1], re.MULTILINE))


class Errors(unittest.TestCase):
    def test_the_text_shows_code_message_and_hint(self) -> None:
        self.assertEqual(str(MCPError("no", "CALL_REFUSED", "ask")), "CALL_REFUSED: no\nHint: ask")
        self.assertEqual(str(MCPError("no", "CALL_REFUSED")), "CALL_REFUSED: no")

    def test_a_frame_becomes_the_class_that_code_can_catch(self) -> None:
        error = error_from_frame({"code": "CALL_TIMEOUT", "message": "slow", "hint": "wait", "data": {"ms": 5}})
        self.assertIs(type(error), MCPError)
        self.assertEqual((error.code, error.message, error.hint), ("CALL_TIMEOUT", "slow", "wait"))
        self.assertEqual(error.data, {"ms": 5})

    def test_a_server_that_is_not_loaded_is_also_a_key_error_with_the_full_text(self) -> None:
        error = error_from_frame({"code": "SERVER_NOT_AVAILABLE", "message": "server 'x' is not loaded"})
        self.assertIsInstance(error, KeyError)
        self.assertEqual(str(error), "SERVER_NOT_AVAILABLE: server 'x' is not loaded")

    def test_refusals_by_policy_or_person_are_policy_errors(self) -> None:
        refused = ("POLICY_DENIED", "POLICY_LIMIT", "APPROVAL_DENIED", "APPROVAL_TIMEOUT", "APPROVAL_UNAVAILABLE")
        for code in (*refused, "TOOL_CHANGED"):
            error = error_from_frame({"code": code, "message": "no", "hint": "ask"})
            self.assertIs(type(error), PolicyError)
            self.assertIsInstance(error, MCPError)
            self.assertEqual(str(error), f"{code}: no\nHint: ask")

    def test_an_empty_error_answer_is_still_an_error(self) -> None:
        self.assertEqual(str(error_from_frame(None)), "INTERNAL: the host gave no reason")

    def test_only_errors_answered_by_the_host_have_a_call(self) -> None:
        error = error_from_frame({"code": "POLICY_DENIED", "message": "no"}, 7)
        self.assertEqual(call_of(error), 7)

        class MineError(MCPError):
            def __init__(self, text: str) -> None:
                self.text = text

        for other in (MCPError("no", "POLICY_DENIED"), MineError("no"), ValueError("no"), error_from_frame(None)):
            self.assertIsNone(call_of(other))
        # The host would drop a frame with such a number, and the cell would never end.
        for number in (-1, 1 << 53, True, 1.5, "7"):
            error.__dict__["_call"] = number
            self.assertIsNone(call_of(error))

    def test_a_tool_error_carries_server_tool_and_result(self) -> None:
        error = ToolError("denied", "files", "read", {"isError": True})
        self.assertEqual(str(error), "TOOL_FAILED: files.read: denied")
        self.assertEqual((error.server, error.tool, error.result), ("files", "read", {"isError": True}))

    def test_errors_can_be_copied_and_classes_name_the_public_module(self) -> None:
        errors = (MCPError("a"), PolicyError("p", "X"), ToolError("b", "s", "t", {}), ServerNotAvailableError("c", "X"))
        for error in errors:
            again = error.__reduce__()
            assert isinstance(again, tuple)
            self.assertEqual(str(again[0](*again[1])), str(error))
            self.assertEqual(type(error).__module__, "mcp.runtime")
        self.assertRaises((pickle.PicklingError, ModuleNotFoundError, ImportError), pickle.dumps, MCPError("a"))
