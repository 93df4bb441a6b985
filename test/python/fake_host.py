"""An in-memory host that answers calls with values set by the test and records the calls."""

from __future__ import annotations

import sys
import unittest
from collections.abc import Callable
from typing import TYPE_CHECKING

from bridge_kernel.api import Api
from bridge_kernel.values import as_list

if TYPE_CHECKING:
    from bridge_kernel.servers import ServerRef

Reports = Callable[[dict[str, object]], None]
Answer = Callable[[dict[str, object]], object]

FILES: ServerRef = {"name": "files", "alias": "files", "description": "Reads files."}
GIT: ServerRef = {"name": "git-hub", "alias": "git_hub", "description": "Issues."}

READ_FILE: dict[str, object] = {
    "name": "read-file",
    "alias": "read_file",
    "description": "Reads one file.",
    "input_schema": {
        "type": "object",
        "properties": {
            "tail": {"type": "integer", "description": "Lines from the end"},
            "path": {"type": "string", "description": "Where it is"},
        },
        "required": ["path"],
    },
}
READ_FILE_SPEC: dict[str, object] = {
    "name": "read-file",
    "alias": "read_file",
    "parameters": [
        {"name": "path", "alias": "path", "annotation": "str", "required": True, "description": "Where it is"},
        {"name": "tail", "alias": "tail", "annotation": "int", "required": False},
    ],
    "open": False,
    "returns": "str",
    "hint": "The signature is read_file(path: str, tail: int = ...).",
    "text": "read_file(path: str, tail: int = ...) -> str\n\nReads one file.\n\nParameters:\n  path: Where it is",
    "input_schema": READ_FILE["input_schema"],
}
LIST: dict[str, object] = {"name": "list", "alias": "list", "description": "Lists.", "input_schema": {}}
OPEN_SPEC: dict[str, object] = {
    "name": "open",
    "alias": "open",
    "parameters": [],
    "open": True,
    "types": [],
    "hint": "The signature is open(**kwargs).",
    "text": "open(**kwargs)",
    "input_schema": {},
}
"""The spec of a tool that accepts any arguments."""


def text_result(text: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text}]}


class FakeHost:
    """The `Host` of a test. A method without an answer fails the test."""

    def __init__(self) -> None:
        self.sent: list[dict[str, object]] = []
        self.asked: list[tuple[str, dict[str, object]]] = []
        self.tool_specs: dict[str, dict[str, object]] = {"read_file": READ_FILE_SPEC, "read-file": READ_FILE_SPEC}
        self.timeouts: list[float | None] = []
        self.reports: list[dict[str, object]] = []
        self.stray_calls = 0
        self.answers: dict[str, Answer] = {
            "call_tool": lambda params: text_result("done"),
            "list_tools": lambda params: [dict(READ_FILE), dict(LIST)],
            "tool_specs": self.specs,
        }

    def send(self, frame: dict[str, object]) -> None:
        self.sent.append(frame)

    def call_sync(
        self, method: str, params: dict[str, object], timeout: float | None = None, on_progress: Reports | None = None
    ) -> object:
        self.asked.append((method, params))
        self.timeouts.append(timeout)
        if on_progress is not None:
            for report in self.reports:
                on_progress(report)
        return self.answers[method](params)

    async def call(
        self, method: str, params: dict[str, object], timeout: float | None = None, on_progress: Reports | None = None
    ) -> object:
        return self.call_sync(method, params, timeout, on_progress)

    def specs(self, params: dict[str, object]) -> object:
        """The answer of `tool_specs`; a tool without a spec accepts any arguments."""
        return [self.tool_specs.get(name.lower(), OPEN_SPEC) for name in as_list(params["tools"])]

    def sent_arguments(self) -> list[object]:
        """The arguments of the tool calls, in order."""
        return [params["arguments"] for method, params in self.asked if method == "call_tool"]

    def methods(self) -> list[str]:
        return [method for method, _ in self.asked]


class ApiTestCase(unittest.IsolatedAsyncioTestCase):
    """A session with two configured servers, of which `files` is loaded."""

    def setUp(self) -> None:
        modules, finders = dict(sys.modules), list(sys.meta_path)

        def restore() -> None:
            for name in [name for name in sys.modules if name == "mcp" or name.startswith("mcp.")]:
                del sys.modules[name]
            sys.modules.update({name: module for name, module in modules.items() if name.startswith("mcp")})
            sys.meta_path[:] = finders

        self.addCleanup(restore)
        self.host = FakeHost()
        self.namespace: dict[str, object] = {"__builtins__": __builtins__}
        self.api = Api(self.host, self.namespace)
        self.api.install()
        self.api.describe("the manual", autoload=False)
        self.api.update([FILES], [FILES, GIT])

    def run_code(self, code: str) -> None:
        exec(compile(code, "<cell 1>", "exec"), self.namespace)
