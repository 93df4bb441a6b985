"""Command lines in the sandbox: `runtime.sh`, and lines that start with `!`."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import tempfile
import time
import unittest
from types import SimpleNamespace
from typing import Any

from bridge_kernel import pending, shell
from bridge_kernel.repl import Repl
from bridge_kernel.shell import RunResult, Shell

sh: Any = Shell()


class CommandLines(unittest.IsolatedAsyncioTestCase):
    async def test_output_and_end_are_told_apart(self) -> None:
        result = await sh("printf out; printf err >&2; exit 3")
        told = (result.stdout, result.stderr, result.exit_code, result.status)
        self.assertEqual(told, ("out", "err", 3, "error"))
        self.assertEqual(repr(result), "out\n--- stderr ---\nerr\n[exit code 3]")
        self.assertEqual(repr(await sh("true")), "[no output]")
        self.assertEqual(sh.sync("echo a | tr a b").stdout, "b\n")

    async def test_input_folder_and_environment_reach_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            large = "x" * 3_000_000
            result = await sh("wc -c; pwd", stdin=large, cwd=folder)
            self.assertEqual(result.stdout.split(), ["3000000", os.path.realpath(folder)])
        self.assertEqual((await sh("exec <&-; exit 0", stdin=large)).status, "success")

    async def test_a_deadline_ends_it_with_what_it_has_started(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            result = await sh("echo $$; sleep 60 & sleep 60; echo late", timeout=0.5, cwd=folder)
            self.assertLess(time.monotonic() - began, 20)
        self.assertEqual((result.status, result.exit_code), ("timeout", None))
        self.assertRegex(repr(result), r"^\d+\n\[ended at its timeout, after 0\.\d+ s\]$")
        group = int(result.stdout)
        for _ in range(200):
            try:
                os.killpg(group, 0)
            except ProcessLookupError:
                break
            await asyncio.sleep(0.05)
        else:
            self.fail("a process is left")

    async def test_an_interrupted_cell_ends_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            task = asyncio.ensure_future(sh("sleep 2; touch late", cwd=folder))
            await asyncio.sleep(0.3)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            await asyncio.sleep(2.2)
            self.assertEqual(os.listdir(folder), [])

    async def test_a_process_in_the_background_does_not_hold_it(self) -> None:
        began = time.monotonic()
        result = await sh("sleep 30 & echo started $!")
        self.assertLess(time.monotonic() - began, 20)
        self.assertTrue(result.stdout.startswith("started "))
        os.kill(int(result.stdout.split()[1]), 9)

    async def test_output_beyond_the_limit_is_counted(self) -> None:
        result = await sh("head -c 40000000 /dev/zero")
        self.assertEqual((len(result.stdout), result.dropped_bytes), (32 << 20, 40_000_000 - (32 << 20)))
        self.assertIn("[6,445,568 further bytes of output are not kept]", repr(result)[-60:])

    async def test_many_run_at_once(self) -> None:
        results = await asyncio.gather(*(sh(f"sleep 0.2; echo {n}") for n in range(8)))
        self.assertEqual([int(result.stdout) for result in results], list(range(8)))

    def test_only_a_text_is_taken(self) -> None:
        with self.assertRaisesRegex(TypeError, r"sh takes a command line \(str\), not list"):
            sh(["ls"])


class Lines(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.repl = Repl(10_000, 100)
        self.repl.namespace["runtime"] = SimpleNamespace(sh=sh)

    async def run_cell(self, code: str) -> tuple[object, str, str]:
        out, err = io.StringIO(), io.StringIO()
        asyncio.get_running_loop().slow_callback_duration = 60  # Its remarks would be output of the cell.
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            pending.begin_cell("<cell 1>")
            value = await self.repl.run(1, code)
        return value, out.getvalue(), err.getvalue()

    async def test_a_line_prints_its_output(self) -> None:
        self.assertEqual(await self.run_cell("!echo hi; echo no >&2; exit 2"), (None, "hi\n", "no\n[exit code 2]\n"))
        self.assertEqual(await self.run_cell("if True:\n    ! echo 'a b' | wc -w\n    x = 1\nx"), (1, "2\n", ""))

    async def test_a_variable_gets_the_result(self) -> None:
        value, out, _ = await self.run_cell("found = !echo one two\nfound.stdout.split()")
        self.assertEqual((value, out), (["one", "two"], ""))
        self.assertIsInstance(self.repl.namespace["found"], RunResult)

    # Code of notebooks loops over what `x = !command` gives; it was no list of lines.
    async def test_a_result_is_its_lines(self) -> None:
        await self.run_cell("found = !printf 'alpha 1\\nbeta 2\\n'\nnone = !true")
        for code, value in (
            ("[line.upper() for line in found]", ["ALPHA 1", "BETA 2"]), ("found[1], len(found)", ("beta 2", 2)),
            ("found.s, found.n, found.l == list(found)", ("alpha 1 beta 2", "alpha 1\nbeta 2", True)),
            ("found.grep('ta').l, found.grep('ta', prune=True).l", (["beta 2"], ["alpha 1"])),
            ("found.grep(r'^2$', field=1).l, found.fields(0).l", (["beta 2"], ["alpha", "beta"])),
            ("found.fields(1, 0).s, 'beta 2' in found, bool(none)", ("1 alpha 2 beta", True, False)),
        ):  # fmt: skip
            with self.subTest(code):
                self.assertEqual((await self.run_cell(code))[0], value)
        self.assertEqual((await self.run_cell("!!printf 'a\\nb\\n'"))[0], ["a", "b"])

    # `!echo {name}` went to the shell as it was; the answer looked like a result.
    async def test_values_are_filled_in_as_in_ipython(self) -> None:
        os.environ["FILLED"] = "env"
        self.addCleanup(os.environ.pop, "FILLED")
        for line, said in (
            ("echo {6 * 7} {'a' + 'b'}", "42 ab"), ("echo $name-{name}.txt", "value-value.txt"),
            ("echo $FILLED ${FILLED} $$FILLED", "env env env"), ("echo '$name'", "value"),
            ("echo a b | awk '{print $2}'", "b"), ("echo x{1,2} y{1..2}", "x1 x2 y1 y2"),
            ("echo {missing} {}", "{missing} {}"),
            ("echo '{\"a\": 1}'", '{"a": 1}'), ("echo a | awk '{print}'", "a"), ("echo {name.upper()[:2]}", "VA"),
        ):  # fmt: skip
            with self.subTest(line):
                self.assertEqual((await self.run_cell(f"name = 'value'\n!{line}"))[1], f"{said}\n")
        code = "async def f(inner):\n    for i in range(2):\n        x = !echo $inner {i}\n    return x.s\nawait f('a')"
        self.assertEqual((await self.run_cell(code))[0], "a 1")

    async def test_the_exit_code_of_a_line_is_kept(self) -> None:
        await self.run_cell("!exit 3")
        self.assertEqual((await self.run_cell("_exit_code"))[0], 3)

    async def test_python_is_no_command_line(self) -> None:
        self.assertEqual((await self.run_cell("x = 1\nx != 2"))[0], True)
        with self.assertRaises(SyntaxError):
            await self.run_cell("x !== 2")

    async def test_the_embedded_engine_says_what_to_use(self) -> None:
        shell.unavailable.is_embedded = True
        try:
            with self.assertRaisesRegex(SyntaxError, "has no shell: use os, pathlib and shutil"):
                await self.run_cell("!ls")
        finally:
            shell.unavailable.is_embedded = False


if __name__ == "__main__":
    unittest.main()
