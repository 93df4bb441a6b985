"""Magics: what they print, which names they bind and what they return. Expected values are those of IPython 9."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import sys
import tempfile
import unittest
from typing import Any

from fake_host import FILES, ApiTestCase

from bridge_kernel.errors import CheckError
from bridge_kernel.repl import Repl
from bridge_kernel.tracebacks import traceback_texts

TIME = r"CPU times: user [\d.e+-]+ .?s, sys: [\d.e+-]+ .?s, total: [\d.e+-]+ .?s\nWall time: [\d.e+-]+ .?s\n"
PER_LOOP = r"[\d.e+-]+ .?s ± [\d.e+-]+ .?s per loop \(mean ± std\. dev\. of 2 runs, 3 loops each\)\n"
SCRIPT = "import sys\nname = __name__\nargs = sys.argv[1:]\ndef scripted():\n    return name\n"


class MagicTestCase(ApiTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.repl = Repl(10_000, 100)
        self.api = type(self.api)(self.host, self.repl.namespace)
        self.api.install()
        self.api.update([FILES], [FILES])
        self.repl.mark_own()
        self.cell = 0
        before, environment = os.getcwd(), dict(os.environ)
        folder = tempfile.TemporaryDirectory()
        self.folder = os.path.realpath(folder.name)
        os.chdir(self.folder)
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, before)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(environment)))

    async def run_cell(self, code: str) -> tuple[Any, str, str]:
        """The value of the cell, and what it wrote to stdout and stderr."""
        self.cell += 1
        asyncio.get_running_loop().slow_callback_duration = 60  # Its remarks would be output of the cell.
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            value = await self.repl.run(self.cell, code, self.api.check)
        return value, out.getvalue(), err.getvalue()

    def has(self, name: str) -> bool:
        return name in self.repl.namespace


class Times(MagicTestCase):
    async def test_time_prints_its_times_and_has_the_value_of_its_code(self) -> None:
        for code, value in (
            ("%time x = sum(range(9))\nx", 36), ("%time 1 + 1", 2), ("y = %time 2 + 2\ny", 4),
            ("%%time\nz = 3\n\nz + 1", 4), ("%%time z = 5\nz + 1", 6), ("%%time\nz = 3", None), ("%time", None),
            ("async def g():\n    return 5\n%time await g()", 5), ("%%time\nasync def h(): return 5\nawait h()", 5),
            ("def f():\n    %time a = 5\n    return a\nf()", 5), ("%time for i in range(3): last = i\nlast", 2),
            ("# A comment.\nb = 7\n%%time\nb", 7), ("%%time\n%time 1", 1), ("%time 1 + 1  # two", 2),
            ("s = %time '''a'''\nt = '''\n%time\n'''\ns + t", "a\n%time\n"), ("%%time\n'''\n  a\n'''", "\n  a\n"),
        ):  # fmt: skip
            with self.subTest(code):
                found, out, _ = await self.run_cell(code)
                self.assertEqual(found, value)
                self.assertRegex(out, rf"\A(?:{TIME})+\Z")
        self.assertTrue(self.has("x") and self.has("z"))

    async def test_times_of_code_that_raises_are_printed_and_its_line_is_shown(self) -> None:
        for code, line, text in (("%time 1 / 0", 1, "%time 1 / 0"), ("%%time\nq = 1\n1 / 0", 3, "1 / 0"),
                                 ("\n%timeit -n1 -r1 1 / 0", 2, "%timeit -n1 -r1 1 / 0"),
                                 ("%cd nowhere", 1, "%cd nowhere")):  # fmt: skip
            with self.subTest(code):
                try:
                    await self.run_cell(code)
                except (ZeroDivisionError, OSError) as error:
                    shown, _ = traceback_texts(error, self.cell, only_own=False)
                    self.assertIn(f'File "<cell {self.cell}>", line {line}, in <module>\n    {text}\n', shown)
                else:
                    self.fail("nothing was raised")
        self.assertTrue(self.has("q"))

    async def test_timeit_measures_and_binds_no_names(self) -> None:
        for code in (
            "%timeit -n 3 -r 2 new = 5", "%timeit -n3 -r2 sum(range(9))", "%%timeit -n 3 -r 2 new = 5\nother = new + 1",
            "%%timeit -n 3 -r 2\nnew = 1\nfor i in range(2):\n    new += i",
            "async def g(): return 5\n%timeit -n3 -r2 await g()", "for i in [1]:\n    %timeit -n 3 -r 2 i",
        ):  # fmt: skip
            with self.subTest(code):
                value, out, _ = await self.run_cell(code)
                self.assertIsNone(value)
                self.assertRegex(out, rf"\A(?:The slowest run .*\n)?{PER_LOOP}\Z")
        self.assertFalse(self.has("new") or self.has("other") or self.has("%timeit"))
        value, out, _ = await self.run_cell("r = %timeit -o -q -n 3 -r 2 1 + 1\nr")
        self.assertRegex(repr(value), r"<TimeitResult : .* per loop \(mean .* 2 runs, 3 loops each\)>")
        self.assertEqual((out, value.loops, len(value.all_runs)), ("", 3, 2))
        _, out, _ = await self.run_cell("calls = []\n%timeit -r 1 calls.append(1)\nassert len(calls) > 1000")
        self.assertRegex(out, r"of 1 run, [\d,]+ loops each\)")


class Commands(MagicTestCase):
    async def test_the_environment_and_the_folder(self) -> None:
        for code, value, said in (
            ("%env AAA=5", None, "env: AAA=5\n"), ("%env AAA", "5", ""), ("%env AAA 6", None, "env: AAA=6\n"),
            ("x = %env AAA\nx", "6", ""), ("%set_env AAA=a=b", None, "env: AAA=a=b\n"), ("%env AAA", "a=b", ""),
            ("import os\nos.mkdir('sub')\n%cd sub", None, f"{self.folder}/sub\n"), ("%cd -", None, f"{self.folder}\n"),
            ("where = 'sub'\n%cd {where}", None, f"{self.folder}/sub\n"), ("%pwd", f"{self.folder}/sub", ""),
            ("%cd ..", None, f"{self.folder}\n"), ("p = %pwd\np", self.folder, ""),
        ):  # fmt: skip
            with self.subTest(code):
                self.assertEqual(await self.run_cell(code), (value, said, ""))
        self.assertEqual((await self.run_cell("%env"))[0]["AAA"], "a=b")

    async def test_scripts_run_as_main_and_give_their_names(self) -> None:
        with open("a.py", "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        for code in ("%run a.py 1 'b c'", "%run a 1 'b c'", "%run -i a.py 1 'b c'"):
            await self.run_cell(code)
            self.assertEqual((await self.run_cell("name, args, scripted()"))[0], ("__main__", ["1", "b c"], "__main__"))
        with open("b.py", "w", encoding="utf-8") as file:
            file.write("import sys, a\nkept = a.name\nsys.exit(0)\n")
        self.assertEqual((await self.run_cell("%run b.py\nkept"))[0], "a")
        with self.assertRaises(FileNotFoundError):
            await self.run_cell("%run none.py")

    async def test_files_programs_and_captured_output(self) -> None:
        for code, value, said in (
            ("%%writefile a.txt\nhello\n  %time you", None, "Writing a.txt\n"),
            ("%%writefile a.txt\n# Title\n```python\nhello\n```", None, "Overwriting a.txt\n"),
            ("%%writefile -a a.txt\nmore\n", None, "Appending to a.txt\n"),
            ("import pathlib\npathlib.Path('a.txt').read_text()", "# Title\n```python\nhello\n```\nmore\n", ""),
            ("```\n%%file b.txt\nx\n```", None, "Writing b.txt\n"), ("pathlib.Path('b.txt').read_text()", "x\n", ""),
            ("%%bash\nfor i in 1 2; do\n  echo $i\ndone", None, "1\n2\n"), ("%%sh\necho {a}", None, "{a}\n"),
            ("n = 1\n%%bash --out o --err e\necho hi; echo no >&2", None, ""),
            ("(o, e)", ("hi\n", "no\n"), ""),
            ("%%script sed s/a/b/\na\n", None, "b\n"), ("%ls", None, "a.txt\nb.txt\n"), ("%cat b.txt", None, "x\n"),
            ("%sx echo ${HOME:+set} | awk '{print $1}'", ["set"], ""),
            ("d = {'k': 'b.txt'}\n%cat {d['k']}", None, "x\n"),
            ("f = %ls\nf", ["a.txt", "b.txt"], ""), ("f = 'b.txt'\n%rm {f}\n%sx ls", ["a.txt"], ""),
            ("%%capture out\nprint('a')\n5 + 5", None, ""),
            ("(out.stdout, str(out), out.stderr)", ("a\n", "a\n", ""), ""),
            ("%%capture --no-stdout\nprint('a')", None, "a\n"), ("out.show()", None, "a\n"),
            ("%%capture\n%time 1\nafter = 3", None, ""), ("after", 3, ""),
        ):  # fmt: skip
            with self.subTest(code):
                self.assertEqual(await self.run_cell(code), (value, said, ""))
        with self.assertRaisesRegex(Exception, r"exit 3\s' returned non-zero exit status 3"):
            await self.run_cell("%%bash\nexit 3")
        self.assertIsNone((await self.run_cell("%%bash --no-raise-error\nexit 3"))[0])

    async def test_the_names_of_the_session(self) -> None:
        await self.run_cell("n = [1, 2]\ntext = 'a' * 90\ndef f(): pass\n_hidden = 1")
        self.assertEqual((await self.run_cell("%who_ls"))[0], ["f", "n", "text"])
        self.assertEqual((await self.run_cell("%who"))[1], "f\t n\t text\t \n")
        _, table, _ = await self.run_cell("%whos")
        self.assertRegex(table, r"\AVariable   Type       Data/Info\n-{31}\nf          function   <function f.*\n")
        self.assertRegex(table, r"\nn          list       n=2\ntext       str        a+<\.\.\.>a+\n\Z")
        self.assertEqual(await self.run_cell("%reset -f\n%who"), (None, "Interactive namespace is empty.\n", ""))
        self.assertTrue(self.has("runtime") and self.has("mcp_files"))

    # `%xdel` was left out, `%who str` listed everything, `%run -n` ran as __main__.
    async def test_names_are_listed_by_type_and_deleted(self) -> None:
        await self.run_cell("old_a = old_b = 1\nnew_a = 'x'")
        self.assertEqual(await self.run_cell("%who str"), (None, "new_a\t \n", ""))
        self.assertEqual((await self.run_cell("%who_ls int"))[0], ["old_a", "old_b"])
        self.assertEqual((await self.run_cell("%xdel new_a\n%reset_selective -f b$\n%who_ls"))[0], ["old_a"])
        with open("named.py", "w", encoding="utf-8") as file:
            file.write("print(__name__)\n")
        self.assertEqual(await self.run_cell("%run -n named.py"), (None, "named\n", ""))


class Help(MagicTestCase):
    # `name??` showed the documentation without the source.
    async def test_documentation_sources_and_signatures_are_shown(self) -> None:
        await self.run_cell("def shown(first, second=2):\n    return 'source'")
        for code in ("shown??", "??shown", "%psource shown", "%pinfo2 shown"):
            self.assertEqual((await self.run_cell(code))[1], "def shown(first, second=2):\n    return 'source'\n")
        for code in ("len?", "?len", "%pinfo len", "%pdoc len", "len??"):
            self.assertIn("number of items", (await self.run_cell(code))[1])
        self.assertEqual((await self.run_cell("%pdef shown"))[1], "shown(first, second=2)\n")
        self.assertEqual((await self.run_cell("str.*find*?"))[1], "str.find\nstr.rfind\n")
        self.assertEqual((await self.run_cell("%psearch sho*"))[1], "shown\n")
        self.assertRegex((await self.run_cell("%lsmagic"))[1], r"%timeit .*\n.*%%writefile")

    async def test_a_profile_is_sorted_by_time(self) -> None:
        value, out, _ = await self.run_cell("%prun kept = sum(range(10))\nkept")
        self.assertEqual(value, 45)
        self.assertRegex(out, r"\d+ function calls[\s\S]*\n   Ordered by: internal time\n")


class Others(MagicTestCase):
    async def test_those_without_effect_say_nothing(self) -> None:
        code = "%load_ext autoreload\n%autoreload 0\n%matplotlib inline\n%config A.b = 'c'\n%pdb on\n1 + 1\n"
        self.assertEqual(await self.run_cell(f"{code}%xmode Plain\n"), (2, "", ""))
        self.assertEqual(await self.run_cell("if True:\n    %matplotlib inline\n2"), (2, "", ""))

    # It had no effect, so cells went on with the old code and did not say so.
    async def test_changed_modules_are_reloaded(self) -> None:
        def write(text: str) -> None:
            with open("reloaded.py", "w", encoding="utf-8") as file:
                file.write(text)

        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        self.addCleanup(sys.modules.pop, "reloaded", None)
        write("value = 1\ndef f(): return 1\n")
        await self.run_cell("%load_ext autoreload\n%autoreload 2\nimport reloaded as r\nfrom reloaded import f\nf()")
        write("value = 22\ndef f(): return 22\n")
        self.assertEqual((await self.run_cell("r.value, r.f(), f()"))[0], (22, 22, 22))
        write("value = (\n")
        value, _, said = await self.run_cell("r.value")
        self.assertEqual(value, 22)
        self.assertIn("reloaded was not reloaded: SyntaxError: ", said)
        await self.run_cell("%autoreload 0")
        write("value = 4444\n")
        self.assertEqual((await self.run_cell("r.value"))[0], 22)

    async def test_cells_in_other_languages_are_shown(self) -> None:
        self.repl.namespace["display"] = lambda value: print(value._repr_mimebundle_())
        for name, kind in (
            ("html", "text/html"),
            ("markdown", "text/markdown"),
            ("latex", "text/latex"),
            ("svg", "image/svg+xml"),
        ):
            self.assertEqual((await self.run_cell(f"%%{name}\n<b>\n"))[1], f"{{'{kind}': '<b>\\n'}}\n")

    async def test_an_unknown_one_is_left_out_and_the_rest_of_the_cell_runs(self) -> None:
        code = "def kept():\n    return 4\n%sql select 1\nx = %sql kept()\nkept()"
        value, _, said = await self.run_cell(code)
        self.assertEqual(value, 4)
        self.assertEqual(
            said,
            "line 3 was left out: there is no magic %sql here; write it in Python\n"
            "line 4 was left out: there is no magic %sql here; write it in Python\n",
        )

    async def test_many_in_one_cell(self) -> None:
        code = "".join(f"x{number} = %env PATH\n" for number in range(60))
        self.assertEqual((await self.run_cell(f"{code}x59 == x0"))[0], True)

    async def test_calls_in_them_are_checked_before_anything_runs(self) -> None:
        for magic in ("%time ", "%%time\n", "%%capture\n"):
            code = f"ran = 1\n{magic}await mcp_files.read_file(1, 2, 3)"
            with self.subTest(code), self.assertRaisesRegex(CheckError, "takes at most 2 arguments"):
                await self.run_cell(code)
        self.assertFalse(self.has("ran"))
        for code in ("if 0:\n    %timeit await", "def f():\n    %time"):
            code += " mcp_files.read_file(1, 2, 3)"  # noqa: PLW2901
            said = (await self.run_cell(code))[2]
            self.assertRegex(said, r"line 2 \(probable\): %time.*\n.*takes at most 2 arguments")

    async def test_imports_in_them_are_seen_by_what_installs_packages(self) -> None:
        wanted: list[str] = []

        class Packages:
            def wanted(self, tree: Any, code: str) -> None:
                import ast

                imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
                wanted.extend(name.name for node in imports for name in node.names)

        self.api._packages = Packages()  # pyright: ignore[reportAttributeAccessIssue] # noqa: SLF001
        await self.run_cell("%time import json\n%%time\nimport math")
        self.assertEqual(sorted(wanted), ["json", "math"])

    async def test_error_texts_name_the_line(self) -> None:
        for code in ("x = 1\n%time 1 +", "x = 1\n%%timeit 1 +\nx"):
            with self.subTest(code), self.assertRaises(SyntaxError) as caught:
                await self.run_cell(code)
            self.assertEqual(caught.exception.lineno, 2)
            self.assertTrue(re.match(r"%%?time", caught.exception.text or ""))


if __name__ == "__main__":
    unittest.main()
