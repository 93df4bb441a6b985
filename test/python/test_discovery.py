"""The helpers of `runtime`. Their names, parameters and results match those of the Python bridge of the same name."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import linecache
import pickle
import time
import unittest.mock
from typing import TYPE_CHECKING, Any

from fake_host import READ_FILE, ApiTestCase, text_result

from bridge_kernel import unavailable
from bridge_kernel.errors import MCPError, ServerNotAvailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DOCUMENT = {"server": "files", "serverAlias": "files", "tool": "read-file", "toolAlias": "read_file"}


class RuntimeTestCase(ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.runtime: Any = self.namespace["runtime"]


class ServerHelpers(RuntimeTestCase):
    async def test_servers_are_tuples_of_names(self) -> None:
        self.assertEqual(self.runtime.discovered_servers(), ("files", "git-hub"))
        self.assertEqual(self.runtime.list_servers_sync(), ("files",))
        self.assertEqual(await self.runtime.list_servers(), ("files",))

    async def test_an_empty_list_of_loaded_servers_names_the_configured_ones_once(self) -> None:
        self.api.update([], None)
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            self.assertEqual(self.runtime.list_servers_sync(), ())
            self.assertEqual(await self.runtime.list_servers(), ())
        said = "No server is loaded. Configured: files, git-hub; load with servers=['files'].\n"
        self.assertEqual(stderr.getvalue(), said)

    def test_details_are_dicts_with_name_and_description(self) -> None:
        state = {"name": "files", "description": "Reads files.", "loaded": True, "tool_count": 2, "last_error": None}
        self.host.answers["discovered_servers"] = lambda params: [state]
        (only,) = self.runtime.discovered_servers(detailed=True)
        self.assertEqual(
            (only["name"], only.description, only.loaded, only.tool_count), ("files", "Reads files.", True, 2)
        )

    def test_metadata_of_one_and_of_all_loaded_servers(self) -> None:
        described = {"name": "files", "alias": "files", "tools": [dict(READ_FILE)], "cwd": "/srv"}
        self.host.answers["describe_server"] = lambda params: described if params else [described]
        self.assertEqual(self.runtime.describe_server("FILES")["cwd"], "/srv")
        (only,) = self.runtime.list_loaded_server_metadata()
        self.assertEqual(only.tools[0].alias, "read_file")
        self.assertEqual(self.host.asked, [("describe_server", {"server": "files"}), ("describe_server", {})])


class NewServers(RuntimeTestCase):
    async def test_found_servers_have_attributes_and_sources_are_said_once(self) -> None:
        found = {"servers": [{"name": "a/b", "needs": [{"name": "KEY"}]}], "sources": ["From x, as of today."]}
        self.host.answers["find_new_servers"] = lambda params: found
        with contextlib.redirect_stderr(io.StringIO()) as said:
            servers = [await self.runtime.find_new_servers("mail") for _ in range(2)][1]
        self.assertEqual((servers[0].name, servers[0].needs[0].name), ("a/b", "KEY"))
        self.assertEqual(said.getvalue(), "From x, as of today.\n")
        self.assertEqual(self.host.asked[-1], ("find_new_servers", {"query": "mail", "limit": 5}))

    async def test_a_proposal_passes_its_values_on(self) -> None:
        self.host.answers["propose_server"] = lambda params: {"server": params["alias"], "missing_secrets": []}
        added = await self.runtime.propose_server("a/b", alias="c", values={"path": "/x"})
        self.assertEqual(added.server, "c")
        sent = {"name": "a/b", "alias": "c", "values": {"path": "/x"}}
        self.assertEqual(self.host.asked[-1], ("propose_server", sent))


class Documents(RuntimeTestCase):
    async def test_tools_have_their_schema_under_both_names(self) -> None:
        for tools in (await self.runtime.list_tools("files"), self.runtime.list_tools_sync("files")):
            self.assertEqual(tools[0]["inputSchema"], tools[0]["input_schema"])
            self.assertEqual(tools[0].alias, "read_file")

    async def test_docs_of_one_tool_are_a_document_or_a_list_with_one(self) -> None:
        self.host.answers["query_tool_docs"] = lambda params: {"documents": [dict(DOCUMENT)], "notices": []}
        self.assertEqual(await self.runtime.query_tool_docs("files", "read_file"), DOCUMENT)
        self.assertEqual(await self.runtime.query_tool_docs("files"), [DOCUMENT])
        self.assertEqual(self.runtime.query_tool_docs_sync("files", tool="read_file", detail="full"), [DOCUMENT])
        self.assertEqual(
            [params for _, params in self.host.asked],
            [
                {"server": "files", "detail": "summary", "tool": "read_file"},
                {"server": "files", "detail": "summary"},
                {"server": "files", "detail": "full", "tool": "read_file"},
            ],
        )

    async def test_search_returns_documents_and_reports_skipped_servers_once(self) -> None:
        missed = [{"server": "git-hub", "reason": "did not start"}]
        self.host.answers["search_tool_docs"] = lambda params: {"documents": [dict(DOCUMENT)], "not_searched": missed}
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            self.assertEqual(await self.runtime.search_tool_docs("read a file", limit=20), [DOCUMENT])
            self.assertEqual(self.runtime.search_tool_docs_sync("read", detail="full")[0].tool, "read-file")
            missed[0]["reason"] = "did not start; the next attempt is in 9 s"
            self.runtime.search_tool_docs_sync("read")
        self.assertEqual(stderr.getvalue(), "not searched: git-hub (did not start)\n")
        self.assertEqual(self.host.asked[0][1], {"query": "read a file", "limit": 20, "detail": "summary"})

    def test_notices_of_a_server_are_reported_once(self) -> None:
        cut = [{"server": "files", "notice": "only the first 10,000 tools were kept"}]
        self.host.answers["query_tool_docs"] = lambda params: {"documents": [dict(DOCUMENT)], "notices": cut}
        self.host.answers["search_tool_docs"] = self.host.answers["query_tool_docs"]
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            self.runtime.query_tool_docs_sync("files")
            self.runtime.search_tool_docs_sync("read")
        self.assertEqual(stderr.getvalue(), "server files: only the first 10,000 tools were kept\n")

    def find(self, *documents: Mapping[str, object]) -> Any:
        self.host.answers["search_tool_docs"] = lambda params: {"documents": [dict(one) for one in documents]}
        return self.runtime.search_tool_docs_sync("read")

    def test_hits_print_one_line_for_each(self) -> None:
        signature = "read_file(path: str) -> str"
        hit = {**DOCUMENT, "signature": signature, "description": "Reads\n one file", "loaded": True, "score": 7}
        far = {**hit, "server": "git-hub", "serverAlias": "git_hub", "description": "x" * 200, "loaded": False}
        bare = {**DOCUMENT, "signature": "list()", "loaded": True}
        found = self.find(hit, far, bare)
        first = f"await mcp_files.{signature}  # Reads one file."
        second = f"await mcp_git_hub.{signature}  # {'x' * 159}… Not loaded: servers=['git-hub']."
        self.assertEqual(repr(found), f"{first}\n{second}\nawait mcp_files.list()")
        self.assertEqual(repr(found[:1]), first)
        self.assertEqual(str(found[1]), second.replace("…", "x" * 41 + "."))
        self.assertEqual(repr(self.find()), "[]")

    def test_a_document_with_its_schema_prints_all_of_it(self) -> None:
        types = ["class ReadFileAt(TypedDict): line: int"]
        full = {**DOCUMENT, "signature": "read_file(at: ReadFileAt)", "description": "Reads.\n\nAll.", "types": types}
        full = {**full, "inputSchema": {"type": "object"}, "loaded": True}
        found = self.find(full, full)
        head = "await mcp_files.read_file(at: ReadFileAt)"
        rest = "Types:\n  class ReadFileAt(TypedDict): line: int\ninputSchema: {'type': 'object'}"
        text = f"{head}\nReads.\n\nAll.\n{rest}"
        self.assertEqual((repr(found[0]), repr(found)), (text, f"{text}\n\n{text}"))
        self.host.answers["list_tools"] = lambda params: [{**full, "input_schema": {}}]
        self.assertEqual(repr(self.runtime.list_tools_sync("files")), f"{head}  # Reads. All.")

    def test_hits_are_plain_data_for_json_and_pickle(self) -> None:
        found = self.find({**DOCUMENT, "loaded": True})
        self.assertEqual(json.loads(json.dumps(found)), [{**DOCUMENT, "loaded": True}])
        for value in (found, found[0]):
            copied = pickle.loads(pickle.dumps(value))
            self.assertEqual((copied, type(copied)), (value, type(value)))

    def test_a_missing_key_names_the_keys(self) -> None:
        (hit,) = self.find(DOCUMENT)
        keys = "Keys: server, serverAlias, tool, toolAlias"
        with self.assertRaisesRegex(KeyError, "no key 0: this is one tool, not a list. Keys: server, "):
            _ = hit[0]
        with self.assertRaisesRegex(KeyError, f"no key 'alias'. Did you mean 'toolAlias' or 'serverAlias'\\? {keys}"):
            _ = hit["alias"]
        with self.assertRaisesRegex(AttributeError, "no key 'alias'; keys: server, "):
            _ = hit.alias
        self.assertIsNone(hit.get("alias"))
        self.assertFalse(hasattr(hit, "alias"))

    def test_servers_print_one_line_for_each(self) -> None:
        server = {"server": "files", "description": "Reads files", "loaded": True, "tool_count": 2}
        found = [
            {**server, "matching_tools": ["read_file", "list"]},
            {"server": "git-hub", "description": "", "loaded": False, "tool_count": None, "last_error": "no\n key"},
        ]
        self.host.answers["discovered_servers"] = lambda params: [dict(one) for one in found]
        self.assertEqual(
            repr(self.runtime.discovered_servers(detailed=True)),
            "files (2 tools, such as read_file, list): Reads files.\n"
            "git-hub (tools unknown). Not loaded: servers=['git-hub']. Failed: no key",
        )

    def test_a_described_server_prints_its_folder_and_its_tools(self) -> None:
        tool = {**DOCUMENT, "signature": "read_file()", "description": "Reads.", "input_schema": {}}
        described = {"server": "files", "description": "", "loaded": True, "tool_count": 1, "tools": [tool]}
        self.host.answers["describe_server"] = lambda params: {**described, "cwd": "/srv", "instructions": None}
        self.assertEqual(
            repr(self.runtime.describe_server("files")),
            "files (1 tool)\ncwd: /srv\nawait mcp_files.read_file()  # Reads.",
        )

    def test_a_search_names_servers_that_are_late_in_one_line(self) -> None:
        late = [{"server": name, "reason": "it is late", "late": True} for name in ("files", "git")]
        answer = {"documents": [], "not_searched": late, "unmatched": [{"word": "quux", "nearest": []}]}
        self.host.answers["search_tool_docs"] = lambda params: answer
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            self.runtime.search_tool_docs_sync("quux")
        self.assertEqual(stderr.getvalue(), "not searched: files, git (it is late)\nno searched tool mentions 'quux'\n")

    async def test_a_search_reports_words_that_match_no_tool(self) -> None:
        unmatched = [{"word": "quux", "nearest": ["queue", "quote"]}, {"word": "zorg", "nearest": []}]
        self.host.answers["search_tool_docs"] = lambda params: {"documents": [], "unmatched": unmatched}
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            self.assertEqual(await self.runtime.search_tool_docs("quux zorg"), [])
            self.assertEqual(self.runtime.search_tool_docs_sync("quux zorg"), [])
        line = "no tool mentions 'quux' (nearest: 'queue', 'quote'); 'zorg'\n"
        self.assertEqual(stderr.getvalue(), line * 2)

    def test_wrong_arguments_fail_before_the_host_is_asked(self) -> None:
        with self.assertRaisesRegex(ValueError, "detail must be 'summary' or 'full', not 'all'"):
            self.runtime.query_tool_docs_sync("files", detail="all")
        for limit in (0, 21, True, "5"):
            with self.assertRaisesRegex(ValueError, "limit must be a whole number from 1 to 20"):
                self.runtime.search_tool_docs_sync("x", limit=limit)
        with self.assertRaisesRegex(TypeError, r"a name \(str\), not int"):
            self.runtime.list_tools_sync(3)
        self.assertEqual(self.host.asked, [])

    def test_the_repr_of_stubs_is_their_text(self) -> None:
        self.host.answers["stubs"] = lambda params: "# mcp_files\n"
        text = self.runtime.stubs(self.namespace["mcp_files"], tools=["read_file"])
        self.assertEqual((text, repr(text)), ("# mcp_files\n", "# mcp_files\n"))
        self.runtime.stubs("FILES")
        self.runtime.stubs("files", tools="list")
        self.runtime.stubs("files", "log", ["list", "a file"], max_tokens=4000)
        self.assertEqual(
            [params for _, params in self.host.asked],
            [
                {"server": "files", "tools": ["read_file"]},
                {"server": "files"},
                {"server": "files", "tools": ["list"]},
                {"server": "files", "tools": ["log", "list", "a file"], "max_tokens": 4000},
            ],
        )


class Calls(RuntimeTestCase):
    async def test_call_tool_returns_a_value_and_accepts_any_server_name(self) -> None:
        self.host.answers["call_tool"] = lambda params: text_result('{"id": 7}')
        self.assertEqual((await self.runtime.call_tool("Files", "read-file", {"path": "a"})).id, 7)
        called = ("call_tool", {"server": "files", "tool": "read-file", "arguments": {"path": "a"}})
        self.assertEqual(self.host.asked[-1], called)
        await self.runtime.call_tool("files", "list")
        self.assertEqual(self.host.asked[-1][1]["arguments"], {})

    async def test_call_tool_raw_returns_a_failure_unchanged(self) -> None:
        failure = {**text_result("no"), "isError": True}
        self.host.answers["call_tool"] = lambda params: failure
        self.assertIs(await self.runtime.call_tool_raw("files", "list", {"any": 1}), failure)
        self.assertEqual(self.host.methods(), ["call_tool"])
        with self.assertRaisesRegex(self.runtime.ToolError, "no"):
            await self.runtime.call_tool("files", "list")

    async def test_arguments_must_be_a_dict(self) -> None:
        with self.assertRaisesRegex(TypeError, "arguments must be a dict"):
            await self.runtime.call_tool("files", "list", ["a"])
        with self.assertRaisesRegex(TypeError, "tial is not a parameter of this tool. Did you mean 'tail'?"):
            await self.runtime.call_tool("files", "read_file", {"path": "a", "tial": 1})
        self.assertNotIn("call_tool", self.host.methods())


class Self(RuntimeTestCase):
    def test_manual_and_errors_are_available(self) -> None:
        manual = self.runtime.capability_summary()
        here = r"\n\*\*Here:\*\* servers files \(loaded\): Reads files\., git-hub: Issues\.; the folder \S+\n"
        self.assertRegex(manual, rf"^the manual{here}(\n\*\*Packages here now:\*\* [^\n]+\.\n)?$")
        self.assertIs(self.runtime.MCPError, MCPError)
        self.assertIs(self.runtime.ServerNotAvailableError, ServerNotAvailableError)
        self.assertIn("ServerNotAvailableError", dir(self.runtime))
        self.run_code("assert MCPError is runtime.MCPError and issubclass(ToolError, MCPError)")

    def test_an_unknown_helper_suggests_similar_names(self) -> None:
        with self.assertRaisesRegex(AttributeError, "runtime has no 'search_tools'. Did you mean 'search_tool_docs"):
            _ = self.runtime.search_tools
        with self.assertRaisesRegex(AttributeError, "runtime has no 'search'. Did you mean 'search_tool_docs"):
            _ = self.runtime.search
        with self.assertRaisesRegex(AttributeError, r"runtime.help\(\) lists"):
            _ = self.runtime.zzz

    def test_help_is_found_from_every_wrong_name_and_prints_no_none(self) -> None:
        # Agents found it only with `dir(runtime)`, and `print(runtime.help())` added "None".
        with self.assertRaisesRegex(AttributeError, r"Did you mean .*\? runtime.help\(\) lists"):
            _ = self.runtime.search
        with contextlib.redirect_stdout(io.StringIO()) as stdout:
            print(self.runtime.help())
        self.assertFalse(stdout.getvalue().strip().endswith("None"))
        self.assertIn("runtime.capability_summary()", stdout.getvalue().splitlines()[0])
        self.assertIn("Here: servers files (loaded): Reads files., git-hub: Issues.; the folder ", stdout.getvalue())

    def test_the_manual_names_servers_up_to_a_limit(self) -> None:
        many = [{"name": f"s{n}", "alias": f"s{n}", "description": "x" * 200} for n in range(50)]
        self.api.update([], many)  # pyright: ignore[reportArgumentType]
        manual = self.runtime.capability_summary()
        self.assertIn("s19: ", manual)
        self.assertIn(", … (50 in all)", manual)
        self.assertNotIn("s20", manual)
        self.assertNotIn("x" * 100, manual)
        self.api.update([], [])
        self.assertIn("**Here:** no servers; ", self.runtime.capability_summary())

    def test_help_lists_every_helper(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as stdout:
            self.runtime.help()
        for name in self.runtime.__all__:
            if callable(getattr(self.runtime, name)) and not inspect.isclass(getattr(self.runtime, name)):
                self.assertIn(f"runtime.{name}(", stdout.getvalue())

    def test_signatures_match_existing_programs(self) -> None:
        signatures = {
            "query_tool_docs": ["server", "tool", "detail"],
            "query_tool_docs_sync": ["server", "tool", "detail"],
            "search_tool_docs": ["query", "limit", "detail"],
            "search_tool_docs_sync": ["query", "limit", "detail"],
            "call_tool": ["server", "tool", "arguments", "named"],
            "discovered_servers": ["detailed"],
            "list_tools": ["server"],
            "describe_server": ["name"],
            "save_tool": ["func"],
        }
        for name, parameters in signatures.items():
            self.assertEqual(list(inspect.signature(getattr(self.runtime, name)).parameters), parameters)

    def test_reset_calls_the_host(self) -> None:
        self.host.answers["reset"] = lambda params: None
        self.assertIn("next cell", self.runtime.reset())
        self.assertEqual(self.host.methods(), ["reset"])


class SavedTools(RuntimeTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.host.answers["save_tool"] = lambda params: None

    def define(self, code: str) -> None:
        linecache.cache["<cell 1>"] = (len(code), None, code.splitlines(keepends=True), "<cell 1>")
        self.run_code(code)

    def test_source_and_name_are_sent_and_confirmed(self) -> None:
        self.define("def add(a, b=1):\n    return a + b\n")
        answer = self.runtime.save_tool(self.namespace["add"])
        self.assertEqual(answer, "Saved 'add'. Later sessions define it under that name.")
        source = "def add(a, b=1):\n    return a + b\n"
        self.assertEqual(self.host.asked, [("save_tool", {"name": "add", "source": source})])
        self.run_code("save_tool('add')")
        self.assertEqual(len(self.host.asked), 2)

    def test_names_that_only_this_session_has_are_reported(self) -> None:
        self.define(
            "import math\nlimit = 3\nasync def area(r):\n    await mcp_files.list()\n    return math.pi * r ** limit\n"
        )
        self.assertIn("only this session has: limit.", self.runtime.save_tool(self.namespace["area"]))
        source = str(self.host.asked[0][1]["source"])
        self.assertEqual(source.splitlines()[:2], ["import math", "async def area(r):"])

    def test_local_imports_and_attributes_are_not_reported(self) -> None:
        self.define(
            "import re\nlimit = 3\ndef count(t):\n    import re\n    return [re.search(x, t.limit) for x in t]\n"
        )
        self.assertNotIn("only this session", self.runtime.save_tool(self.namespace["count"]))

    def test_functions_that_are_not_self_contained_are_refused(self) -> None:
        self.define(
            "f = lambda: 1\ndef outer():\n    x = 1\n    def inner():\n        return x\n    return inner\n"
            "inner = outer()\nclass C:\n    def m(self): pass\n"
        )
        f, inner = self.namespace["f"], self.namespace["inner"]
        for func, reason in ((f, "lambda"), (inner, r"\(x\)"), (len, "not builtin")):
            with self.assertRaisesRegex(TypeError, reason):
                self.runtime.save_tool(func)
        with self.assertRaisesRegex(ValueError, "no function 'nope'"):
            self.runtime.save_tool("nope")
        self.assertEqual(self.host.asked, [])

    def load(self, **sources: str) -> str:
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            self.api.define_saved_tools([{"name": name, "source": source} for name, source in sources.items()])
        return stderr.getvalue()

    def test_saved_functions_are_defined_and_a_broken_one_is_reported(self) -> None:
        source = 'import math\ndef good():\n    "Doc."\n    return math.floor(5.5)\n'
        reported = self.load(good=source, bad="def bad(:\n")
        self.assertNotIn("math", self.namespace)
        self.run_code("assert good() == 5 and good.__doc__ == 'Doc.'\nsave_tool(good)")
        self.assertEqual(self.host.asked[0][1]["source"], source)
        self.assertIn("'bad' could not be defined", reported)

    def test_loading_runs_nothing_and_replaces_nothing(self) -> None:
        ran: list[int] = []
        self.namespace["ran"] = ran
        sources = {
            "statement": "ran.append(1)\ndef statement(): pass",
            "after": "def after(): pass\nran.append(1)",
            "loop": "while True: pass\ndef loop(): pass",
            "decorator": "@ran.append\ndef decorator(): pass",
            "default": "def default(a=ran.append(1)): pass",
            "keyword": "def keyword(*, a=ran.append(1)): pass",
            "walrus": "def walrus(a=[ran.append(1)]): pass",
            "other": "def another(): pass",
            "klass": "class klass: ran.append(1)",
            "guarded": "if True:\n    def guarded(): pass",
            "hidden": "import math; ran.append(1)\ndef hidden(): pass",
            "shadows": "import math\ndef shadows(math): pass",
            "deep": f"def deep(): return {'-' * 60_000}1",
            "nested": f"def nested(): return {'(' * 30_000}{')' * 30_000}",
            "empty": "",
            # Names that every session has.
            "print": "def print(*a): ran.append(1)",
            "runtime": "def runtime(): pass",
            "mcp_files": "def mcp_files(): pass",
            "__build_class__": "def __build_class__(*a): pass",
        }
        before = {name: self.namespace.get(name) for name in sources}
        reported = self.load(**sources, fine="def fine(): return 1")
        self.assertEqual(ran, [])
        for name, value in before.items():
            self.assertIs(self.namespace.get(name), value, name)
            self.assertIn(f"The saved function {name!r} could not be defined", reported)
        self.run_code("assert fine() == 1")

    def test_annotations_are_not_evaluated(self) -> None:
        ran: list[int] = []
        self.namespace["ran"] = ran
        reported = self.load(noted="def noted(a: ran.append(1) = -1, *b: ran.append(1)) -> ran.append(1): return a")
        self.run_code("assert noted() == -1")
        self.assertEqual((ran, reported), ([], ""))

    def test_imports_run_when_the_function_is_called(self) -> None:
        reported = self.load(late="import no_such_module\nfrom os import path as p\ndef late(): return p.sep")
        self.assertEqual(reported, "")
        with self.assertRaises(ModuleNotFoundError):
            self.run_code("late()")

    def test_loading_ends_in_time_and_names_the_rest(self) -> None:
        large = "def large{0}():\n" + "    a = [1, 2, 3, 4]\n" * 3_000
        sources = {f"large{number}": large.format(number) for number in range(200)}
        start = time.monotonic()
        reported = self.load(**sources)
        self.assertLess(time.monotonic() - start, 10)
        self.assertIn("large0", self.namespace)
        self.assertRegex(reported, r"not defined, because it would take more than 2 s: large\d+, .*large199")

    def test_kept_functions_are_names_of_a_module(self) -> None:
        self.load(twice="def twice(n): return 2 * n")
        self.run_code("from user_tools import twice as t\nimport user_tools\nassert t(4) == user_tools.twice(4) == 8")
        self.define("def thrice(n): return 3 * n\n")
        self.runtime.save_tool(self.namespace["thrice"])
        self.run_code("assert user_tools.__all__ == dir(user_tools) == ['thrice', 'twice']")
        self.run_code("from user_tools import *\nfrom user_tools import thrice\nassert thrice(2) == 6")

    def test_one_saved_later_is_loaded_when_it_is_named(self) -> None:
        source = "def later(n): return later(n - 1) + mcp_x if n else 0"
        self.namespace["mcp_x"] = 5
        self.host.answers["load_tool"] = lambda params: {"name": "later", "source": source}
        self.run_code("from user_tools import later\nassert later(2) == 10")
        self.run_code("from user_tools import later")
        self.assertEqual(self.host.asked, [("load_tool", {"name": "later"})])

    def test_what_the_host_sends_is_checked_as_at_the_start(self) -> None:
        ran: list[int] = []
        self.namespace["ran"] = ran
        self.host.answers["load_tool"] = lambda params: {"source": "ran.append(1)\ndef late(): pass"}
        with self.assertRaisesRegex(ValueError, "only imports may stand before"):
            self.run_code("from user_tools import late")
        self.assertEqual(ran, [])

    def test_a_missing_name_says_which_there_are(self) -> None:
        def refuse(params: object) -> object:
            raise MCPError("no function 'nope' is kept.", "CALL_REFUSED", hint="There are: twice.")

        self.host.answers["load_tool"] = refuse
        for code, kind in (("from user_tools import nope", ImportError),
                           ("import user_tools\nuser_tools.nope", AttributeError)):  # fmt: skip
            with self.assertRaisesRegex(kind, "no function 'nope' is kept. There are: twice."):
                self.run_code(code)
        self.run_code("import user_tools\nassert not hasattr(user_tools, '_x') and not hasattr(user_tools, 'nope')")

    def test_packages_that_a_function_imports_are_sent(self) -> None:
        names = {"no_such_module": ["No-Such"]}
        with (
            unittest.mock.patch("importlib.metadata.packages_distributions", return_value=names),
            unittest.mock.patch("importlib.metadata.version", return_value="1.2"),
        ):
            self.define("def parse(text):\n    import json, no_such_module.part\n    return json.loads(text)\n")
            self.runtime.save_tool(self.namespace["parse"])
        self.assertEqual(self.host.asked[0][1]["packages"], ["No-Such==1.2"])

    def test_hits_print_as_the_call_of_the_function(self) -> None:
        hit = {"server": "user_tools", "serverAlias": "user_tools", "tool": "total", "signature": "total(n: int)",
               "description": "Adds up", "loaded": True, "kind": "function", "awaited": True}  # fmt: skip
        self.host.answers["search_tool_docs"] = lambda params: {"documents": [dict(hit)]}
        found = self.runtime.search_tool_docs_sync("add")
        self.assertEqual(repr(found), "from user_tools import total; await total(n: int)  # Adds up.")
        self.load(total="async def total(n): pass")
        found = self.runtime.search_tool_docs_sync("add")
        self.assertEqual(repr(found), "await total(n: int)  # Adds up.")

    def test_functions_whose_definition_has_effects_are_not_saved(self) -> None:
        self.define(
            "import functools\n@functools.lru_cache\ndef cached(): pass\n"
            "def stamped(now=print): pass\ndef plain(a=(1, -2.5), *, b={'x': [None]}): pass\n"
        )
        with self.assertRaisesRegex(TypeError, "decorator"):
            self.runtime.save_tool(self.namespace["cached"])
        with self.assertRaisesRegex(ValueError, "its default print is not a literal"):
            self.runtime.save_tool(self.namespace["stamped"])
        self.assertEqual(self.host.asked, [])
        self.runtime.save_tool(self.namespace["plain"])


class Progress(ApiTestCase):
    def test_is_sent_without_waiting(self) -> None:
        self.run_code("runtime.progress(1, 4, 'pages')")
        self.assertEqual(self.host.sent, [{"type": "progress", "done": 1.0, "total": 4.0, "message": "pages"}])
        self.assertEqual(self.host.asked, [])

    def test_the_last_report_is_sent_at_the_end_of_the_cell(self) -> None:
        self.run_code("for step in range(1_000): runtime.progress(step)")
        self.api.end_cell()
        self.assertEqual(self.host.sent[-1], {"type": "progress", "done": 999.0})

    def test_a_fast_loop_is_rate_limited_except_for_its_end(self) -> None:
        self.run_code("for step in range(100_001): runtime.progress(step, 100_000)")
        self.assertLess(len(self.host.sent), 1_000)
        self.assertEqual(self.host.sent[-1], {"type": "progress", "done": 100_000.0, "total": 100_000.0})

    def test_refuses_values_that_are_not_finite_numbers(self) -> None:
        with self.assertRaisesRegex(ValueError, "done must be a finite number, not nan"):
            self.run_code("runtime.progress(float('nan'))")


class WithoutServers(RuntimeTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.api.update([], [])
        self.host.answers["find_servers"] = lambda params: []
        self.host.answers["search_tool_docs"] = lambda params: {"documents": []}

    async def assert_says_once(self, look: Callable[[], Any]) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            for _ in range(2):
                found = look()
                self.assertEqual(len(await found if inspect.isawaitable(found) else found), 0)
        self.assertRegex(said.getvalue(), r"\ANo server is configured\. .*install CLIENT --import.*\n\Z")

    async def test_the_command_is_the_one_that_started_the_bridge(self) -> None:
        # It was a name that the user's shell need not have.
        self.addCleanup(setattr, unavailable, "command", unavailable.command)
        unavailable.command = "node /app/cli.js"
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.runtime.discovered_servers()
        self.assertIn("'node /app/cli.js servers add NAME -- COMMAND'", said.getvalue())
        self.assertIn("'node /app/cli.js install CLIENT --import'", said.getvalue())

    async def test_the_list_of_servers_explains_how_to_add_one(self) -> None:
        await self.assert_says_once(self.runtime.discovered_servers)

    async def test_the_list_of_loaded_servers_explains_how_to_add_one(self) -> None:
        await self.assert_says_once(self.runtime.list_servers)

    async def test_a_search_for_servers_explains_how_to_add_one(self) -> None:
        await self.assert_says_once(lambda: self.runtime.find_servers("x"))

    async def test_a_search_for_tools_explains_how_to_add_one(self) -> None:
        await self.assert_says_once(lambda: self.runtime.search_tool_docs("x"))
