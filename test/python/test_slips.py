"""Slips in the text of a cell: those that are repaired, and what is said about the others."""

from __future__ import annotations

import contextlib
import io
import unittest

from bridge_kernel.repl import Repl
from bridge_kernel.tracebacks import traceback_texts

REPAIRED = [
    ("```python\n1 + 1\n```", 2),
    ("\n```py\n1 + 1\n```\n", 2),
    ("```\n1 + 1\n```", 2),
    ("~~~\n1 + 1\n~~~", 2),
    ("1 + 1\n```", 2),
    ("```python\ns = '''\n```\n'''\ns\n```", "\n```\n"),
    ("\ufeff1 + 1", 2),
    ("\ufeff```python\n1 + 1\n```", 2),
    ("    x = 1\n    x + 1", 2),
    ("x\u00a0=\u00a02\nx\u200b", 2),
    ("%matplotlib inline\n1 + 1", 2),
    ("1 + 1;", None),
    ("1 + 1 ; # hidden", None),
    ("1; 1 + 1", 2),
    ("'a;'", "a;"),
    ("%load_ext autoreload\n%autoreload 2\n1 + 1", 2),
    ("return 2", 2),
    ("x = 1\nif x:\n    return 2\nx", 2),
    ("for x in range(9):\n    while x:\n        if x == 2: return x\n        break", 2),
    ("async def f():\n    return 2\nreturn await f()", 2),
    ("def f():\n    return 1\nf()\nreturn", None),
    ("match 1:\n    case 1:\n        return 2", 2),
]
UNCHANGED = [
    ("s = '''\n```python\n!ls\n%pip install x\nx?\n```\n'''\ns.count('```')", 2),
    ("x = 7\n(x\n% 4)", 3),
    ("'\u00a0\ufeff'", "\u00a0\ufeff"),
]
EXPLAINED = [
    ("%pip install -r requirements.txt", "pip cannot be used here: write, for example, await runtime.install("),
    ("!pip list", "pip cannot be used here"),
    ("pip install a && ls", "pip cannot be used here"),
    ("x = 1\n%%R\nlibrary(x)", "there is no magic %%R here, and its cell is no Python"),
    ("%time 1 +", "invalid syntax"),
    ("Here is the code:\n```python\n1\n```", "send what is in one Markdown block, without the text around it"),
    ("```python\n1\n```\nand\n```python\n2\n```", "send what is in one Markdown block"),
    ("const x = 1;", "this is not Python: run_python runs Python only"),
    ("with open('/dev/null'):\n    return 1", "in 'with' or 'try', put the code into a function"),
    ("try:\n    x = 1\nfinally:\n    return 1", "in 'with' or 'try', put the code into a function"),
    ("class A:\n    return 1", "'return' outside function"),
    ("1 +", "invalid syntax"),
]


INSTALLING = [
    ("%pip install pandas", ["pandas"]),
    ("%%pip install pandas", ["pandas"]),
    ("pip install pandas>=2", ["pandas>=2"]),
    ("!pip install -q --upgrade 'pandas>=2' rich  # both", ["pandas>=2", "rich"]),
    ("if True:\n    ! python -m pip install pandas", ["pandas"]),
    ("!uv pip install pandas", ["pandas"]),
    ("x = 1\n%pip install a\n!pip install b[c]==1.*\nx", ["a", "b[c]==1.*"]),
]


class Slips(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.repl = Repl(10_000, 100)

    async def test_slips_that_can_mean_one_thing_are_repaired(self) -> None:
        for number, (code, value) in enumerate(REPAIRED):
            with self.subTest(code=code):
                self.assertEqual(await self.repl.run(number, code), value)

    async def test_python_that_looks_like_a_slip_is_unchanged(self) -> None:
        for number, (code, value) in enumerate(UNCHANGED):
            with self.subTest(code=code):
                self.assertEqual(await self.repl.run(number, code), value)

    async def test_others_are_explained_once(self) -> None:
        for number, (code, said) in enumerate(EXPLAINED):
            with self.subTest(code=code):
                with self.assertRaises(SyntaxError) as caught:
                    await self.repl.run(number, code)
                self.assertIn(said, str(caught.exception))
                self.assertEqual(traceback_texts(caught.exception, 1, only_own=False)[0].count("SyntaxError: "), 1)

    async def test_lines_keep_their_numbers(self) -> None:
        try:
            await self.repl.run(1, "```python\nx = 0\n1 / x\n```")
        except ZeroDivisionError as error:
            shown, _ = traceback_texts(error, 1, only_own=False)
            self.assertIn('File "<cell 1>", line 3, in <module>\n    1 / x', shown)
        else:
            self.fail("nothing was raised")

    async def test_a_question_mark_shows_the_documentation(self) -> None:
        for number, code in enumerate(("len?", "?len", "len??", "  len ?")):
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                await self.repl.run(number, code)
            self.assertIn("Return the number of items in a container", said.getvalue())

    async def test_no_handler_of_the_cell_sees_a_return(self) -> None:
        code = "def f():\n    try:\n        return 1\n    except BaseException:\n        return 2\nreturn f()"
        self.assertEqual(await self.repl.run(1, code), 1)
        self.assertNotIn("return", self.repl.namespace)

    async def test_lines_of_notebooks_install_packages(self) -> None:
        for code, expected in INSTALLING:
            with self.subTest(code=code):
                installed: list[str] = []

                class Runtime:
                    async def install(self, *names: str) -> None:
                        installed.extend(names)  # noqa: B023 Called in this round only.

                self.repl.namespace["runtime"] = Runtime()
                await self.repl.run(1, code)
                self.assertEqual(installed, expected)


if __name__ == "__main__":
    unittest.main()
