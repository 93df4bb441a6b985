"""Names and calls as in other tools."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from fake_host import FILES, GIT, LIST, OPEN_SPEC, READ_FILE, ApiTestCase

from bridge_kernel.repl import Repl
from bridge_kernel.values import as_list


class HabitTestCase(ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.namespace = {}
        self.repl = Repl(10_000, 100)
        self.api = type(self.api)(self.host, self.repl.namespace)
        self.api.install()
        self.api.describe("the manual", autoload=False)
        self.api.update([FILES, GIT], [FILES, GIT])
        self.host.answers["discovered_servers"] = lambda params: [FILES]
        self.host.answers["search_tool_docs"] = lambda params: {"documents": [dict(READ_FILE)]}
        self.host.answers["tool_specs"] = lambda params: [
            None if name in ("call_tool", "list_tools") else self.host.tool_specs.get(name, OPEN_SPEC)
            for name in as_list(params["tools"])
        ]
        self.cell = 0

    async def run_cell(self, code: str) -> Any:
        self.cell += 1
        with contextlib.redirect_stderr(io.StringIO()):
            return await self.repl.run(self.cell, code, self.api.check)

    def called(self) -> list[tuple[object, object, object]]:
        """Server, tool and arguments of the calls so far."""
        calls = [params for method, params in self.host.asked if method == "call_tool"]
        self.host.asked.clear()
        return [(call["server"], call["tool"], call["arguments"]) for call in calls]


class Names(HabitTestCase):
    async def test_helpers_need_no_runtime(self) -> None:
        self.assertEqual(await self.run_cell("discovered_servers()"), ("files", "git-hub"))
        self.assertEqual((await self.run_cell("await search_tool_docs('x')"))[0].name, "read-file")
        self.assertEqual(await self.run_cell("await call_tool('files', 'list', {})"), "done")
        self.assertEqual(await self.run_cell("def f():\n    return list_servers_sync()\nf()"), ("files", "git-hub"))
        self.assertTrue(await self.run_cell("issubclass(ArgumentError, MCPError)"))

    async def test_mcp_needs_no_import(self) -> None:
        self.assertEqual(await self.run_cell("mcp.runtime.discovered_servers()"), ("files", "git-hub"))
        self.assertEqual(await self.run_cell("mcp.discovered_servers()"), ("files", "git-hub"))
        await self.run_cell("await mcp.files.list()\nawait mcp.servers.files.list()")
        self.assertEqual(self.called(), [("files", "list", {})] * 2)
        with self.assertRaisesRegex(AttributeError, "mcp has no 'nonsense': this is not the MCP SDK"):
            await self.run_cell("mcp.nonsense")
        with self.assertRaisesRegex(ModuleNotFoundError, "'mcp.client': this is not the MCP SDK"):
            await self.run_cell("from mcp.client.stdio import stdio_client")

    async def test_tools_are_found_by_the_names_of_other_tools(self) -> None:
        for code in (
            "await mcp__files__list()",
            "await mcp_files_list()",
            "await mcp_Files.list()",
            "await files.list()",
            "await Files.list()",
            "import mcp_files\nawait mcp_files.list()",
            "from mcp_files import list as tool\nawait tool()",
            "from mcp_files import list\nawait list()\ndel list",
            "async def f():\n    return await files.list()\nawait f()",
        ):
            with self.subTest(code):
                await self.run_cell(code)
                self.assertEqual(self.called(), [("files", "list", {})])
        await self.run_cell("await mcp__git_hub__list()\nawait mcp_git_hub_list()\nawait git_hub.list()")
        self.assertEqual(self.called(), [("git-hub", "list", {})] * 3)

    async def test_star_imports_hide_no_builtin_and_say_so(self) -> None:
        tools = [READ_FILE, *({**LIST, "name": name, "alias": name} for name in ("print", "list", "len", "display"))]
        self.host.answers["list_tools"] = lambda params: tools
        for module, other in (("mcp.servers.files", "TOOLS"), ("mcp_files", "read_file")):
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                # What `print` writes would be lost; `read_file` and the tables are imported.
                code = f"from {module} import *\nprint(len(list('abc')), {other})\nread_file.__name__"
                with contextlib.redirect_stdout(io.StringIO()) as shown:
                    self.assertEqual(await self.repl.run(1, code, self.api.check), "read_file")
            self.assertTrue(shown.getvalue().startswith("3 "))
            for name in ("print", "list", "len", "display"):
                self.assertIn(f"mcp_files.{name}", said.getvalue())
                self.assertNotIn(f"files.{name}", repr(self.repl.namespace.get(name)))
        explicit = "from mcp.servers.files import print, list as l\nawait print()\nawait l()"
        await self.run_cell(f"await mcp_files.print()\n{explicit}")
        self.assertEqual([tool for _, tool, _ in self.called()], ["print", "print", "list"])
        self.assertIn("len", await self.run_cell("from mcp.runtime import *\ndir(mcp_files)"))
        self.assertNotIn("help", self.repl.namespace)
        self.assertTrue(await self.run_cell("from mcp import help\nhelp == runtime.help"))

    async def test_names_of_the_user_and_of_python_come_first(self) -> None:
        self.assertEqual(await self.run_cell("def call_tool(*x):\n    return x\ncall_tool(1)"), (1,))
        self.assertEqual(await self.run_cell("files = [3]\nfiles[0]"), 3)
        for code in ("git_hub", "print(git_hub)", "len(git_hub)", "output(1)", "reset()", "mcp_"):
            with self.subTest(code), self.assertRaises(NameError):
                await self.run_cell(code)
        self.api.update([], [{"name": "json", "alias": "json"}])
        with self.assertRaises(NameError):
            await self.run_cell("json.loads('1')")

    async def test_bound_names_are_not_reported_as_the_users(self) -> None:
        await self.run_cell("await files.list()\ndiscovered_servers()\nx = 1")
        names = self.repl.changed_names(self.api.owns)
        assert names is not None
        self.assertEqual((names["variables"], names["functions"]), (["x"], []))


class Calls(HabitTestCase):
    async def test_call_tool_takes_one_name_for_both_and_arguments_in_any_form(self) -> None:
        for code in (
            "runtime.call_tool('files', 'read_file', {'path': 'a'})",
            "runtime.call_tool('files', 'read_file', path='a')",
            "runtime.call_tool('files', 'read_file', '{\"path\": \"a\"}')",
            "runtime.call_tool('files.read_file', {'path': 'a'})",
            "runtime.call_tool('files/read_file', path='a')",
            "runtime.call_tool('mcp__files__read_file', arguments={'path': 'a'})",
            "runtime.call_tool('mcp_files_read_file', {'path': 'a'})",
            "runtime.call_tool(server='files', tool='read_file', arguments={'path': 'a'})",
            "call_tool('files', 'read_file', path='a')",
            "mcp_files.call_tool('read_file', {'path': 'a'})",
            "mcp_files.call_tool('read_file', arguments={'path': 'a'})",
            "mcp_files.call_tool(name='read_file', arguments={'path': 'a'})",
            "mcp_files.call_tool('read_file', path='a')",
            "mcp_files.server.call_tool('read_file', path='a')",
        ):
            with self.subTest(code):
                self.assertEqual(await self.run_cell(f"await {code}"), "done")
                self.assertEqual(self.called(), [("files", "read_file", {"path": "a"})])
        self.assertEqual(await self.run_cell("mcp_files.call_tool.sync('read_file', path='a')"), "done")

    async def test_a_call_that_names_no_server_says_what_to_write(self) -> None:
        for code in ("call_tool('read_file', {'path': 'a'})", "runtime.call_tool('read_file')"):
            with (
                self.subTest(code),
                self.assertRaisesRegex(TypeError, r"write await runtime.call_tool\('SERVER', 'read_file', \{...\}\)"),
            ):
                await self.run_cell(f"await {code}")
        with self.assertRaisesRegex(TypeError, "arguments must be a dict of names and values, not str"):
            await self.run_cell("await runtime.call_tool('files', 'read_file', 'a')")
        with self.assertRaisesRegex(TypeError, "mcp_files.call_tool takes the name of a tool and a dict"):
            await self.run_cell("await mcp_files.call_tool()")

    async def test_a_proxy_lists_its_tools(self) -> None:
        tools = await self.run_cell("await mcp_files.list_tools()")
        self.assertEqual([tool.name for tool in tools], ["read-file", "list"])
        self.assertEqual(tools[0].inputSchema, READ_FILE["input_schema"])

    async def test_a_tool_of_that_name_comes_first(self) -> None:
        self.host.answers["list_tools"] = lambda params: [{**LIST, "name": "call_tool", "alias": "call_tool"}]
        self.host.answers["tool_specs"] = self.host.specs
        await self.run_cell("await mcp_files.call_tool(x=1)")
        self.assertEqual(self.called(), [("files", "call_tool", {"x": 1})])
