"""Modules that a sandbox imports until a session needs it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest

import bridge_kernel

_PACKAGES = os.path.dirname(os.path.dirname(bridge_kernel.__file__))
# As in a sandbox: with an importer that records, and without what the tests have loaded.
_PROGRAM = """
import sys
from bridge_kernel import importer
importer.install({})
recorded = importer.installed().recorded
from bridge_kernel import ahead
before = dict(recorded)
{code}
"""
_MODULES = {
    "one": "value = 1",
    "noisy": "import os, sys\nprint('text')\nprint('more', file=sys.stderr)\nos.write(1, b'bytes')",
    "lacking": "import one\nimport no_such_module",
    "failing": "import one\n1 / 0",
    "leaving": "raise SystemExit(0)",
}


class AheadTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, source in _MODULES.items():
            with open(os.path.join(self.folder, f"{name}.py"), "w", encoding="utf-8") as file:
                file.write(source)

    def run_ahead(
        self, modules: list[str], shown: str, memory_bytes: int = 1 << 40, is_needed: str = "False"
    ) -> tuple[int, str]:
        """The exit code and all output, which should be that of the values in `shown`."""
        code = f"ahead.import_ahead({modules}, {memory_bytes}, lambda: {is_needed})\nprint({shown})"
        ended = subprocess.run(
            [sys.executable, "-c", _PROGRAM.replace("{code}", code)],
            env={"PYTHONPATH": f"{_PACKAGES}{os.pathsep}{self.folder}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout

    def test_they_are_there_for_the_session_without_what_they_wrote(self) -> None:
        shown = '"one" in sys.modules, "noisy" in sys.modules'
        self.assertEqual(self.run_ahead(["one", "noisy"], shown), (0, "True True\n"))

    def test_no_other_is_begun_once_a_session_needs_the_sandbox(self) -> None:
        is_needed = '"one" in sys.modules'
        self.assertEqual(self.run_ahead(["one", "failing"], is_needed, is_needed=is_needed), (0, "True\n"))

    def test_none_is_begun_with_too_much_memory_in_use(self) -> None:
        self.assertEqual(self.run_ahead(["one"], '"one" in sys.modules', memory_bytes=1 << 20), (0, "False\n"))

    def test_a_missing_one_is_left_out(self) -> None:
        modules = ["absent", "absent.part", "one.part", "one"]
        self.assertEqual(self.run_ahead(modules, '"one" in sys.modules'), (0, "True\n"))

    def test_half_of_one_is_never_left_to_a_session(self) -> None:
        for name in ("lacking", "failing", "leaving"):
            self.assertEqual(self.run_ahead([name], '"a session"'), (78, ""), name)

    def test_none_comes_into_the_code_pack(self) -> None:
        shown = "importer.installed().recorded is recorded, recorded == before"
        self.assertEqual(self.run_ahead(["one"], shown), (0, "True True\n"))


if __name__ == "__main__":
    unittest.main()
