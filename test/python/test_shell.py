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
