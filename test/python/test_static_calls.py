"""The calls found by reading code, and the sentences about what else it may call."""

from __future__ import annotations

import json
from typing import Any

from fake_host import FILES, GIT, ApiTestCase

from bridge_kernel.static_calls import calls_of


class StaticCalls(ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.api.update([FILES, GIT], [FILES, GIT])

    def read(self, code: str) -> tuple[list[tuple[int, str, str, Any]], list[str]]:
        runtime: Any = self.namespace["runtime"]
        found = json.loads(calls_of(code, runtime))
        calls = [(call["line"], call["server"], call["tool"], call["arguments"]) for call in found["calls"]]
        return calls, found["unknown"]

    def test_every_kind_of_call_is_found_with_its_arguments(self) -> None:
        code = """await mcp_files.read_file(path="a", tail=3)
from mcp.servers.git_hub import create_issue as make
async def f():
    return await make(labels=["x", None])
mcp_files["read-file"].sync(path="b")
await mcp_servers["git-hub"].close.with_options(timeout=3)()
await runtime.call_tool("files", "list")
await runtime.call_tool_raw(server="files", tool="list", arguments={"a": {"b": 1}})
"""
        calls, unknown = self.read(code)
        self.assertEqual(
            [call for call in calls if call[0] != 2],
            [
                (1, "files", "read_file", {"path": "a", "tail": 3}),
                (4, "git-hub", "create_issue", {"labels": ["x", None]}),
                (5, "files", "read-file", {"path": "b"}),
                (6, "git-hub", "close", {}),
                (7, "files", "list", {}),
                (8, "files", "list", {"a": {"b": 1}}),
            ],
        )
        self.assertEqual(unknown, [])

    def test_calls_are_found_as_other_tools_write_them(self) -> None:
        for code in (
            "await runtime.call_tool('files', 'list', {'a': 1})",
            "await runtime.call_tool('files', 'list', a=1)",
            "await runtime.call_tool('files.list', {'a': 1})",
            "await call_tool('mcp__files__list', a=1)",
            "await mcp_files.call_tool('list', {'a': 1})",
            "await mcp_files.call_tool(name='list', arguments={'a': 1})",
            "await mcp_files.call_tool('list', a=1)",
            "await mcp__files__list(a=1)",
            "await files.list(a=1)",
            "```python\nawait mcp.files.list(a=1)\n```",
            "import mcp_files\nawait mcp_files.list(a=1)",
        ):
            with self.subTest(code):
                calls, unknown = self.read(code)
                self.assertEqual([call[1:] for call in calls], [("files", "list", {"a": 1})])
                self.assertEqual(unknown, [])

    def test_computed_arguments_are_unknown(self) -> None:
        for given in ("path=p", "'a'", "**p", "path=b'a'", "path={1, 2}", "path=1e999"):
            with self.subTest(given):
                self.assertEqual(self.read(f"await mcp_files.read_file({given})")[0][0][3], None)

    def test_code_that_may_call_more_is_reported(self) -> None:
        for code, said in (
            ("getattr(mcp_files, name)()", "line 1: getattr picks a name at run time"),
            ("await mcp_servers[name].list()", "line 1: the name in the brackets is computed"),
            ("await mcp_files[name]()", "line 1: the name in the brackets is computed"),
            ("await runtime.call_tool(server, 'list')", "line 1: runtime.call_tool gets computed names"),
            ("await mcp_files.call_tool(tool)", "line 1: mcp_files.call_tool gets computed names"),
            ("await call_tool(name)", "line 1: runtime.call_tool gets computed names"),
            ("exec(text)", "the code can rebind any name"),
            ("await mcp_nowhere.list()", "line 1: no server 'nowhere' is configured"),
        ):
            with self.subTest(code):
                self.assertIn(said, " ".join(self.read(code)[1]))

    def test_nothing_is_run_or_called(self) -> None:
        self.read("made = 1\nmcp_files.list.sync()")
        self.assertNotIn("made", self.namespace)
        self.assertEqual(self.host.asked, [])

    def test_invalid_python_is_refused(self) -> None:
        self.assertRaises(SyntaxError, self.read, "await (")
