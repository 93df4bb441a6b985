"""The `mcp_<alias>` objects, `mcp_servers`, the `mcp` package, and calls without `await`."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import inspect
import pickle
import pydoc
import warnings
from typing import TYPE_CHECKING, Any

from fake_host import FILES, GIT, READ_FILE_SPEC, ApiTestCase, text_result

from bridge_kernel.attr_dict import attribute_access
from bridge_kernel.errors import ArgumentError, MCPError, ToolError

if TYPE_CHECKING:
    from bridge_kernel.servers import ServerRef


class ProxyTestCase(ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.files: Any = self.namespace["mcp_files"]


class Calls(ProxyTestCase):
    async def test_a_call_fetches_the_spec_once_and_sends_the_name_as_written(self) -> None:
        self.assertEqual(await self.files.Read_File(path="a"), "done")
        await self.files.Read_File(path="b")
        spec = ("tool_specs", {"server": "files", "tools": ["Read_File"]})
        calls = [("call_tool", {"server": "files", "tool": "Read_File", "arguments": {"path": path}}) for path in "ab"]
        self.assertEqual(self.host.asked, [spec, *calls])

    async def test_brackets_take_names_that_are_not_identifiers(self) -> None:
        await self.files["read-file"](path="a")
        self.assertEqual(self.host.asked[-1][1]["tool"], "read-file")

    def test_sync_needs_no_loop(self) -> None:
        self.assertEqual(self.files.read_file.sync(path="a"), "done")

    async def test_calls_are_coroutines_to_asyncio(self) -> None:
        together = await asyncio.gather(self.files.a(), self.files.b())
        task = asyncio.create_task(self.files.c())
        waited = await asyncio.wait_for(self.files.d(), 5)
        self.assertEqual([*together, await task, waited], ["done"] * 4)
        self.assertTrue(inspect.isawaitable(pending := self.files.e()))
        await pending

    async def test_a_cancelled_call_ends_without_a_warning(self) -> None:
        task = asyncio.create_task(self.files.a())
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task

    async def test_positional_arguments_take_required_parameters_first(self) -> None:
        await self.files.read_file("a", 3)
        self.files.read_file.sync("b", tail=4)
        self.assertEqual(self.host.sent_arguments(), [{"path": "a", "tail": 3}, {"path": "b", "tail": 4}])
        self.assertEqual(self.host.methods(), ["tool_specs", "call_tool", "call_tool"])

    async def test_a_single_dict_provides_all_arguments(self) -> None:
        await self.files.read_file({"path": "a", "tail": 1})
        self.assertEqual(self.host.asked[-1][1]["arguments"], {"path": "a", "tail": 1})

    async def test_wrong_arguments_fail_before_the_call(self) -> None:
        with self.assertRaisesRegex(TypeError, r"files.read-file: takes at most 2 arguments \(path, tail\), but 3"):
            await self.files.read_file(1, 2, 3)
        with self.assertRaisesRegex(
            ArgumentError, r"tail must be int, not 'x' \(str\)\nHint: The signature is read_file"
        ):
            await self.files.read_file("a", tail="x")
        with self.assertRaisesRegex(ValueError, "path is missing"):
            self.files.read_file.sync()
        self.assertNotIn("call_tool", self.host.methods())

    async def test_concurrent_calls_fetch_the_spec_once(self) -> None:
        await asyncio.gather(*(self.files.read_file(path="a") for _ in range(100)))
        self.assertEqual(self.host.methods().count("tool_specs"), 1)

    async def test_cancelling_one_call_does_not_cancel_the_shared_fetch(self) -> None:
        first = asyncio.ensure_future(self.files.read_file(path="a"))
        second = asyncio.ensure_future(self.files.read_file(path="b"))
        await asyncio.sleep(0)
        first.cancel()
        self.assertEqual(await second, "done")
        self.assertEqual(self.host.sent_arguments(), [{"path": "b"}])

    async def test_the_running_server_is_asked_once_per_cell_before_a_refusal(self) -> None:
        await self.files.read_file(path="a")
        self.api.update([FILES], None)
        await self.files.read_file(path="a")
        self.assertEqual(self.host.methods().count("tool_specs"), 1)
        for _ in range(2):
            with self.assertRaises(ArgumentError):
                await self.files.read_file(path="a", new=1)
        asked = [params for method, params in self.host.asked if method == "tool_specs"]
        self.assertEqual(asked[1:], [{"server": "files", "tools": ["read_file"], "fresh": True}])

    async def test_an_outdated_spec_does_not_refuse_a_call(self) -> None:
        await self.files.read_file(path="a")
        self.host.tool_specs["read_file"] = {**READ_FILE_SPEC, "open": True}
        await self.files.read_file(path="a", new=1)
        self.files.read_file.sync(path="a", new=2)
        self.assertEqual(self.host.sent_arguments()[1:], [{"path": "a", "new": 1}, {"path": "a", "new": 2}])

    async def test_parameters_may_be_named_self_or_like_kernel_parameters(self) -> None:
        await self.files.open(self=1, args=2, kwargs=3, server=4, tool=5)
        self.assertEqual(self.host.sent_arguments(), [{"self": 1, "args": 2, "kwargs": 3, "server": 4, "tool": 5}])

    async def test_a_server_that_is_not_loaded_is_not_asked(self) -> None:
        git: Any = self.namespace["mcp_git_hub"]
        await git.anything(a=1)
        self.assertEqual(self.host.methods(), ["call_tool"])
        with self.assertRaisesRegex(TypeError, "pass arguments by name"):
            await git.anything(1)


class ForgottenAwait(ProxyTestCase):
    def test_it_is_reported_at_the_line_of_the_call(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.run_code("x = 1\n\nmcp_files.read_file(path='a')\n")
            self.run_code("\nruntime.list_servers()\n")
            gc.collect()
        expected = [
            ("<cell 1>", 3, "mcp_files.read_file(...) was never awaited: write 'await mcp_files.read_file(...)'"),
            ("<cell 1>", 2, "runtime.list_servers(...) was never awaited: write 'await runtime.list_servers(...)'"),
        ]
        self.assertEqual([(w.filename, w.lineno, str(w.message)) for w in caught], expected)
        self.assertEqual({w.category for w in caught}, {RuntimeWarning})
        self.assertEqual(self.host.asked, [])

    def test_using_the_missing_result_names_the_fix_once(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for code, kind in (
                ("mcp_files.a()[0]", TypeError),
                ("for line in mcp_files.a(): pass", TypeError),
                ("'TODO' in mcp_files.a()", TypeError),
                ("len(mcp_files.a())", TypeError),
                ("if mcp_files.a(): pass", TypeError),
                ("mcp_files.a().title", AttributeError),
            ):
                with self.subTest(code), self.assertRaisesRegex(kind, r"write 'await mcp_files.a\(...\)'"):
                    self.run_code(code)
            gc.collect()
        self.assertEqual(caught, [])

    def test_the_repr_replaces_the_warning(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            text = repr(self.files.a())
            self.api.end_cell()
        self.assertEqual(text, "<mcp_files.a(...), not awaited: write 'await mcp_files.a(...)'>")
        self.assertEqual(caught, [])

    def test_a_stored_call_is_reported_at_the_end_of_the_cell_and_can_still_be_awaited(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.run_code("\nkept = mcp_files.a()")
            self.api.end_cell()
            self.api.end_cell()
        self.assertEqual([warning.lineno for warning in caught], [2])
        self.assertIn("mcp_files.a(...) was not awaited in this cell, so nothing was sent", str(caught[0].message))

        async def wait() -> object:
            return await self.namespace["kept"]  # pyright: ignore[reportGeneralTypeIssues]

        self.assertEqual(asyncio.run(wait()), "done")

    async def test_awaited_calls_are_not_reported(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            await self.files.a()
            await asyncio.gather(self.files.b(), self.files.c())
            self.api.end_cell()
        self.assertEqual(caught, [])


class Knowledge(ProxyTestCase):
    def test_inspecting_a_proxy_makes_no_calls(self) -> None:
        self.assertEqual(repr(self.files), "<mcp_files: tools of the MCP server 'files', loaded>")
        self.assertEqual(
            repr(self.namespace["mcp_git_hub"]),
            "<mcp_git_hub: tools of the MCP server 'git-hub', not loaded: call run_python with servers=['git-hub']>",
        )
        self.assertIn("await mcp_files.read_file", repr(self.files.read_file))
        self.assertEqual(self.files.__doc__, "Reads files.")
        self.assertFalse(hasattr(self.files, "__deepcopy__"))
        self.assertEqual(self.host.asked, [])

    def test_dir_iteration_and_help_fetch_once_per_cell(self) -> None:
        self.assertEqual(dir(self.files), ["list", "read_file"])
        self.assertEqual(list(self.files), ["read_file", "list"])
        text = pydoc.plain(pydoc.render_doc(self.files.read_file))
        self.assertIn("read_file(path: str, tail: int = ...)", text)
        self.assertIn("Reads one file.", text)
        self.assertIn("path: Where it is", text)
        self.assertEqual(list(inspect.signature(self.files.read_file).parameters), ["path", "tail"])
        self.assertEqual(self.host.methods(), ["list_tools", "tool_specs"])
        self.api.update([FILES], None)
        dir(self.files)
        self.assertIsNotNone(self.files.read_file.__doc__)
        self.assertEqual(self.host.methods(), ["list_tools", "tool_specs"] * 2)

    def test_a_missing_tool_suggests_similar_names(self) -> None:
        self.assertIsNotNone(self.files.reed_file)
        dir(self.files)
        with self.assertRaisesRegex(AttributeError, "mcp_files has no tool 'reed_file'. Did you mean 'read_file'"):
            _ = self.files.reed_file
        self.assertIsNotNone(self.files.READ_FILE)

    def test_a_failing_host_does_not_break_dir_or_help(self) -> None:
        def fail(params: dict[str, object]) -> object:
            raise MCPError("did not start", "SERVER_START_FAILED")

        self.host.answers["list_tools"] = self.host.answers["tool_specs"] = fail
        self.assertEqual(dir(self.files), [])
        self.assertIn("did not start", self.files.read_file.__doc__)
        self.assertEqual(
            str(inspect.signature(self.files.read_file)).split(" ->")[0], "(*args: 'object', **kwargs: 'object')"
        )


class Names(ProxyTestCase):
    def test_every_configured_server_has_a_name_and_loaded_ones_are_listed(self) -> None:
        self.assertEqual(self.namespace["LOADED_MCP_SERVERS"], ("files",))
        self.run_code("assert list(mcp_servers) == ['files'] and mcp_servers['Files'] is mcp_files")

    def test_a_server_that_is_not_loaded_explains_how_to_load_it(self) -> None:
        servers: Any = self.namespace["mcp_servers"]
        hint = r"Server 'git-hub' is not available: it is not loaded in this session\nHint: .*servers=\['git-hub'\]"
        with self.assertRaisesRegex(KeyError, hint):
            servers["git-hub"]
        with self.assertRaisesRegex(MCPError, "no server 'fils' is configured\nHint: Did you mean 'files'"):
            servers["fils"]
        self.assertIsNone(servers.get("git-hub"))
        self.assertNotIn("git-hub", servers)

    def test_a_name_reassigned_by_the_user_is_kept(self) -> None:
        self.run_code("mcp_files = 1")
        self.api.update([FILES, GIT], None)
        self.assertEqual(self.namespace["mcp_files"], 1)
        self.assertFalse(self.api.owns("mcp_files"))
        self.assertTrue(self.api.owns("mcp_git_hub"))
        self.run_code("del mcp_files")
        self.api.update([FILES, GIT], None)
        self.assertIs(self.namespace["mcp_files"], self.files)

    def test_removing_a_server_removes_its_names(self) -> None:
        self.api.update([FILES], [FILES])
        self.assertNotIn("mcp_git_hub", self.namespace)
        with self.assertRaises(ImportError):
            self.run_code("import mcp.servers.git_hub")

    def test_adding_a_server_keeps_the_other_proxies(self) -> None:
        new: ServerRef = {"name": "new", "alias": "new"}
        self.api.update([FILES, new], [FILES, GIT, new])
        self.assertIs(self.namespace["mcp_files"], self.files)
        self.run_code("from mcp.servers.new import anything\nassert LOADED_MCP_SERVERS == ('files', 'new')")


class Package(ProxyTestCase):
    def test_all_forms_of_import(self) -> None:
        self.run_code(
            "from mcp import runtime as one\nimport mcp.runtime as two\nfrom mcp.runtime import call_tool\n"
            "import mcp.servers\nfrom mcp.servers import files\nimport mcp.servers.git_hub\n"
            "assert one is two is runtime and mcp.servers.files is files"
        )

    def test_libraries_that_look_for_an_optional_package_find_it(self) -> None:
        for name in ("mcp", "mcp.runtime", "mcp.servers", "mcp.servers.files"):
            self.assertIsNotNone(importlib.util.find_spec(name), name)

    def test_results_and_errors_can_be_pickled(self) -> None:
        value = attribute_access({"user": {"login": "me"}})
        self.assertEqual(pickle.loads(pickle.dumps(value)).user.login, "me")
        error = pickle.loads(pickle.dumps(ToolError("no", "files", "list", {"isError": True})))
        self.assertEqual((error.server, str(error)), ("files", "TOOL_FAILED: files.list: no"))

    def test_star_import_includes_tools_and_tables(self) -> None:
        self.run_code("from mcp.servers.files import *\nnames = [read_file.__name__, [*TOOL_MAP], TOOLS[0].name]")
        self.assertEqual(self.namespace["names"], ["read_file", ["read-file", "list"], "read-file"])

    async def test_an_imported_tool_is_called_like_any_other(self) -> None:
        self.host.answers["call_tool"] = lambda params: text_result(str(params["tool"]))
        self.run_code("from mcp.servers.files import read_file")
        self.assertEqual(await self.namespace["read_file"](path="a"), "read_file")  # pyright: ignore[reportCallIssue]

    def test_an_unknown_server_lists_the_configured_ones(self) -> None:
        with self.assertRaisesRegex(ImportError, "no server 'nope' is configured\nHint: Configured: files, git-hub."):
            self.run_code("import mcp.servers.nope")
        with self.assertRaisesRegex(ImportError, "import 'mcp.servers.files'"):
            self.run_code("import mcp.servers.Files")
        with self.assertRaisesRegex(ImportError, "cannot import name 'nope'"):
            self.run_code("from mcp.servers import nope")
