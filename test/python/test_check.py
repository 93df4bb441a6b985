"""The check before running: no false alarms on valid cells, the right finding on wrong ones, nothing run before it."""

from __future__ import annotations

import ast
import contextlib
import io
from typing import Any

from check_cells import VALID, WRONG
from fake_host import FILES, GIT, OPEN_SPEC, READ_FILE_SPEC, ApiTestCase

from bridge_kernel.errors import CheckError, MCPError, PolicyError
from bridge_kernel.repl import Repl
from bridge_kernel.text_result import TextResult

ISSUES: Any = {"name": "issues", "alias": "issues"}
CREATE_ISSUE: dict[str, object] = {
    "name": "create-issue",
    "alias": "create_issue",
    "parameters": [
        {"name": "title", "alias": "title", "annotation": "str", "required": True},
        {"name": "body", "alias": "body", "annotation": "str", "required": False},
        {"name": "labels", "alias": "labels", "annotation": "list[str]", "required": False},
        {"name": "state", "alias": "state", "annotation": "Literal['open', 'closed']", "required": False},
        {"name": "from", "alias": "from_", "annotation": "str", "required": False},
    ],
    "open": False,
    "hint": "The signature is create_issue(title: str, body: str = ...).",
    "input_schema": {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "body": {"type": "string"},
            "labels": {"type": "array", "items": {"type": "string"}},
            "state": {"enum": ["open", "closed"]},
            "from": {"type": "string"},
        },
        "required": ["title"],
    },
}
ENABLE: dict[str, object] = {**OPEN_SPEC, "name": "enable_toolset", "alias": "enable_toolset"}
SPECS: dict[str, list[dict[str, object]]] = {
    "files": [READ_FILE_SPEC, {**OPEN_SPEC, "name": "list", "alias": "list"}],
    "issues": [CREATE_ISSUE, ENABLE],
}


def specs_of(params: dict[str, Any]) -> object:
    """The host's answer: tools by name or alias, ignoring case."""
    tools = SPECS[params["server"]]
    return [
        next((tool for tool in tools if name.lower() in (tool["name"], tool["alias"])), None)
        for name in params["tools"]
    ]


class CheckTestCase(ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.host.answers["tool_specs"] = specs_of
        self.host.answers["list_tools"] = lambda params: SPECS[str(params["server"])]
        self.api.update([FILES, ISSUES], [FILES, ISSUES, GIT])
        files: Any = self.namespace["mcp_files"]
        self.namespace.update(files=files, read=files.read_file, fake=object(), mcp_fake=object(), rows=["a"])

    async def check(self, code: str) -> tuple[str, bool]:
        """The check's output for a cell, and whether it stopped the cell."""
        tree = ast.parse(code)
        used = set(compile(code, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT).co_names)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                checking = self.api.check(tree, code, used)
                if checking is not None:
                    await checking
            except CheckError as error:
                return str(error), True
        return said.getvalue(), False


class Corpus(CheckTestCase):
    def test_corpus_is_complete(self) -> None:
        self.assertGreaterEqual(len(set(VALID)), 100)
        self.assertGreaterEqual(len({code for code, _, _ in WRONG}), 40)

    async def test_valid_cells_pass_without_output(self) -> None:
        for code in VALID:
            with self.subTest(code=code):
                self.assertEqual(await self.check(code), ("", False))

    async def test_wrong_cells_get_the_right_finding(self) -> None:
        for code, expected, stops in WRONG:
            with self.subTest(code=code):
                said, stopped = await self.check(code)
                self.assertIn(expected, said)
                self.assertEqual(stopped, stops)


class Running(CheckTestCase):
    async def test_a_stopped_cell_has_no_effect(self) -> None:
        repl = Repl(1000, 10)
        with self.assertRaises(CheckError) as caught:
            await repl.run(1, "x = 1\nawait mcp_files.nonsense()", self.api.check)
        self.assertNotIn("x", repl.namespace)
        self.assertEqual(caught.exception.code, "CHECK_FAILED")
        said = "CHECK_FAILED: the cell did not run and had no effect. The check found 1 mistake.\n"
        self.assertTrue(str(caught.exception).startswith(said))
        self.assertFalse(repl.has_begun)
        self.assertNotIn("call_tool", self.host.methods())

    async def test_a_server_that_is_not_loaded_is_a_problem_with_one_next_step(self) -> None:
        with self.assertRaises(CheckError) as caught:
            await Repl(1000, 10).run(1, "await mcp_git_hub.list()", self.api.check)
        self.assertEqual(
            str(caught.exception),
            "CHECK_FAILED: the cell did not run and had no effect. The check found 1 problem.\n"
            "  line 1: await mcp_git_hub.list()\n"
            "    SERVER_NOT_AVAILABLE: Server 'git-hub' is not available: it is not loaded in this session\n"
            "    Hint: Call run_python again with servers=['git-hub'].",
        )
        with self.assertRaises(CheckError) as caught:
            await Repl(1000, 10).run(
                1, "a = mcp_git_hub\nawait a.list()\nawait a.log()\nawait a.tags()", self.api.check
            )
        self.assertEqual(str(caught.exception).count("SERVER_NOT_AVAILABLE"), 1)
        self.assertIn("1 problem.\n  line 2, also at lines 3, 4: await a.list()\n", str(caught.exception))
        self.assertIsNone(caught.exception.hint)
        with self.assertRaises(CheckError) as caught:
            await Repl(1000, 10).run(1, "await mcp_git_hub.list()\nawait mcp_files.nonsense()", self.api.check)
        self.assertIn("The check found 2 mistakes.", str(caught.exception))
        self.assertEqual(caught.exception.hint, "Fix the code and run the whole cell again.")

    async def test_code_that_raises_check_error_itself_counts_as_run(self) -> None:
        repl = Repl(1000, 10)
        with self.assertRaises(CheckError):
            await repl.run(1, "from bridge_kernel.errors import CheckError\nraise CheckError('no')", self.api.check)
        self.assertTrue(repl.has_begun)

    async def test_a_cell_without_servers_makes_no_calls(self) -> None:
        self.assertEqual(await self.check("x = 1\nprint(x)"), ("", False))
        self.assertEqual(self.host.asked, [])

    async def test_a_server_that_cannot_list_is_left_to_the_call(self) -> None:
        def fail(params: dict[str, object]) -> object:
            raise MCPError("it does not start", "SERVER_START_FAILED")

        self.host.answers["tool_specs"] = fail
        self.assertEqual(await self.check("await mcp_files.nonsense()"), ("", False))

    async def test_a_tool_hidden_by_policy_stops_the_cell_with_the_host_message(self) -> None:
        refused = {"code": "POLICY_DENIED", "message": "files.wipe was not called: a rule denies it", "hint": "Ask."}
        self.host.answers["tool_specs"] = lambda _: [{"refused": refused}]
        said, stopped = await self.check("await mcp_files.wipe()")
        self.assertTrue(stopped)
        self.assertIn("POLICY_DENIED: files.wipe was not called: a rule denies it\n    Hint: Ask.", said)
        self.assertEqual(self.host.methods(), ["tool_specs"])
        self.assertFalse((await self.check("try:\n    await mcp_files.wipe()\nexcept PolicyError:\n    pass"))[1])

    async def test_a_call_of_a_tool_hidden_by_policy_reaches_the_host_and_is_refused(self) -> None:
        refused = {"code": "POLICY_DENIED", "message": "files.wipe was not called: a rule denies it", "hint": "Ask."}

        def refuse(params: dict[str, object]) -> object:
            raise PolicyError(f"{params['server']}.{params['tool']} was not called: by the host", "POLICY_DENIED")

        self.host.answers.update(tool_specs=lambda _: [{"refused": refused}], call_tool=refuse)
        files: Any = self.namespace["mcp_files"]
        with self.assertRaisesRegex(PolicyError, "by the host"):
            await files.wipe(path="/")
        with self.assertRaisesRegex(PolicyError, "by the host"):
            files.wipe.sync(path="/")
        # Positional arguments cannot be sent without parameter names.
        with self.assertRaisesRegex(PolicyError, "a rule denies it"):
            await files.wipe("/")
        self.assertEqual(self.host.methods().count("call_tool"), 2)

    async def test_a_bug_in_the_check_is_reported_and_the_cell_runs(self) -> None:
        del self.host.answers["tool_specs"]
        said, stopped = await self.check("await mcp_files.nonsense()")
        self.assertIn("the cell runs unchecked", said)
        self.assertFalse(stopped)

    async def test_specs_from_the_check_can_change_while_the_cell_runs(self) -> None:
        await self.check("await mcp_files.list()")
        files: Any = self.namespace["mcp_files"]
        self.assertEqual(await files.made_meanwhile(), "done")


TEXT_SPEC: dict[str, object] = {**OPEN_SPEC, "name": "tree", "alias": "tree", "returns": "str"}


class TextLoops(CheckTestCase):
    def setUp(self) -> None:
        super().setUp()
        SPECS["files"].append(TEXT_SPEC)
        self.addCleanup(SPECS["files"].remove, TEXT_SPEC)
        self.namespace["listing"] = TextResult("[FILE] a")

    async def test_a_loop_over_text_gets_a_warning_and_the_cell_runs(self) -> None:
        for code in (
            "r = await mcp_files.tree()\nfor name in r: print(name)",
            "names = [x for x in await mcp_files.tree()]",
            "for name in listing: print(name)",
        ):
            said, is_stopped = await self.check(code)
            self.assertIn("the result is text, so this loop goes over its characters", said, code)
            self.assertFalse(is_stopped)

    async def test_other_loops_do_not(self) -> None:
        for code in (
            "r = await mcp_files.tree()\nfor name in r.lines(): print(name)",
            "r = await mcp_files.list()\nfor name in r: print(name)",
            "r = await mcp_files.tree()\nr = r.split()\nfor name in r: print(name)",
            "listing = ['a']\nfor name in listing: print(name)",
            "for char in listing: print(char)",
        ):
            self.assertEqual(await self.check(code), ("", False), code)
