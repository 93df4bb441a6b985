"""Modules written to the working folder, and explanations of missing ones and of `input()`."""

from __future__ import annotations

import builtins
import getpass
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from bridge_kernel import unavailable


class UnavailableTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        before = (list(sys.meta_path), list(sys.path), set(sys.modules), builtins.input)
        hooks = list(sys.path_hooks)

        def restore() -> None:
            sys.meta_path[:], sys.path[:], modules, builtins.input = before
            sys.path_hooks[:] = hooks
            for name in set(sys.modules) - modules:
                del sys.modules[name]

        self.addCleanup(restore)
        unavailable.install(folder.name)

    def test_a_module_can_be_imported_as_soon_as_it_is_written(self) -> None:
        for number in range(20):
            (self.folder / f"written_{number}.py").write_text(f"x = {number}")
            self.assertEqual(__import__(f"written_{number}").x, number)

    def test_a_module_of_a_package_can_be_written_after_its_package_was_imported(self) -> None:
        (self.folder / "parts").mkdir()
        (self.folder / "parts" / "__init__.py").write_text("")
        __import__("parts")
        for number in range(20):
            (self.folder / "parts" / f"part_{number}.py").write_text(f"x = {number}")
            self.assertEqual(importlib.import_module(f"parts.part_{number}").x, number)

    def test_modules_of_python_come_first(self) -> None:
        (self.folder / "colorsys.py").write_text("x = 1")
        self.assertFalse(hasattr(__import__("colorsys"), "x"))

    def test_modules_of_the_folder_come_before_packages_as_in_a_script(self) -> None:
        packages = self.folder.parent / f"{self.folder.name}-packages" / "site-packages"
        packages.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, packages.parent)
        sys.path.insert(unavailable.place_of_packages(), str(packages))
        sys.path.remove(str(self.folder))
        unavailable.install(str(self.folder))
        self.assertLess(sys.path.index(str(self.folder)), sys.path.index(str(packages)))
        self.assertGreater(sys.path.index(str(self.folder)), sys.path.index(os.path.dirname(os.__file__)))
        for number in range(20):
            # The folder is looked at, and changes at once.
            (packages / f"both_{number}.py").write_text("x = 'package'")
            (packages / f"other_{number}.py").write_text("x = 'package'")
            self.assertEqual(__import__(f"other_{number}").x, "package")
            (self.folder / f"both_{number}.py").write_text("x = 'folder'")
            self.assertEqual(__import__(f"both_{number}").x, "folder")
        # So is a set that the session had before its folder was known.
        sys.path.remove(str(self.folder))
        sys.path.insert(unavailable.place_of_packages(), "/packages/sets/1/lib")
        unavailable.install(str(self.folder))
        self.assertEqual(sys.path.index("/packages/sets/1/lib"), sys.path.index(str(self.folder)) + 1)
        # A folder with data hides no package.
        (packages / "data_like").mkdir()
        (packages / "data_like" / "__init__.py").write_text("x = 'package'")
        (self.folder / "data_like").mkdir()
        self.assertEqual(__import__("data_like").x, "package")

    def test_a_file_that_python_s_own_module_hides_is_reported_once(self) -> None:
        (self.folder / "colorsys.py").write_text("x = 1")
        for expected in (f"import colorsys is Python's own module, not {self.folder}/colorsys.py: rename the file", ""):
            with redirect_stderr(io.StringIO()) as said:
                unavailable.say_if_hidden(["json", "colorsys", "helpers"])
            self.assertEqual(said.getvalue()[: len(expected) or None], expected)

    # A sandbox that was started ahead may have imported the module of the image.
    def test_a_module_that_is_loaded_hides_a_file_which_is_said(self) -> None:
        sys.modules["loaded_ahead"] = type(sys)("loaded_ahead")
        (self.folder / "loaded_ahead.py").write_text("x = 1")
        (self.folder / "own.py").write_text("x = 1")
        self.assertEqual(__import__("own").x, 1)
        with redirect_stderr(io.StringIO()) as said:
            unavailable.say_if_hidden(["own", "loaded_ahead"])
        self.assertRegex(said.getvalue(), "^import loaded_ahead is the module that is loaded already, not .*: rename")

    def test_a_missing_package_is_named_with_a_next_step(self) -> None:
        with self.assertRaises(ModuleNotFoundError) as caught:
            __import__("no_such_package")
        said = "No module named 'no_such_package': install it: await runtime.install('no_such_package')"
        self.assertEqual(str(caught.exception), said)
        self.assertEqual(caught.exception.name, "no_such_package")
        self.assertRegex(unavailable.why_missing("requests"), r"^no sandbox has a network.*install\('requests'\)$")

    def test_a_package_that_could_not_be_installed_is_missing_for_that_reason(self) -> None:
        unavailable.reasons["no_such_package"] = "no network."
        self.addCleanup(unavailable.reasons.clear)
        with self.assertRaisesRegex(ModuleNotFoundError, "^No module named 'no_such_package': no network.$"):
            __import__("no_such_package")

    def said_to_a_cell(self, code: str) -> str:
        # Whatever this machine has.
        sys.path[:] = [entry for entry in sys.path if not entry.endswith(("site-packages", "dist-packages"))]
        with self.assertRaises(ImportError) as caught:
            exec(compile(code, "<cell 1>", "exec"), {"__name__": "__main__"})
        return str(caught.exception)

    # PyPDF2 was there while the answer said to install pypdf, which that machine could not.
    def test_what_is_installed_for_the_same_purpose_is_named_first(self) -> None:
        (self.folder / "PyPDF2.py").write_text("")
        said = self.said_to_a_cell("import pypdf")
        self.assertEqual(
            said,
            "No module named 'pypdf': PyPDF2 is installed here for the same purpose. Otherwise: install it: "
            "await runtime.install('pypdf')",
        )
        self.assertEqual(self.said_to_a_cell("import importlib; importlib.import_module('pypdf')"), said)
        # Libraries look for many modules that they can do without.
        with self.assertRaisesRegex(ModuleNotFoundError, "^No module named 'pypdf': install it"):
            __import__("pypdf")
        self.assertRegex(self.said_to_a_cell("import rapidfuzz"), "difflib is installed here for the same purpose")

    def test_the_name_of_a_package_or_an_old_one_is_not_that_of_its_module(self) -> None:
        for wrong, right in {"beautifulsoup4": "bs4", "pillow": "PIL", "urllib2": "urllib.request"}.items():
            said = f"No module named {wrong!r}: the module is called {right}: import {right}"
            self.assertEqual(self.said_to_a_cell(f"import {wrong}"), said)

    # The answer said to install IPython, which nothing here shows itself with.
    def test_what_notebooks_import_to_show_something_is_already_there(self) -> None:
        said = self.said_to_a_cell("from IPython.display import display, HTML")
        self.assertRegex(said, r"^No module named 'IPython': display\(value\) needs no import .* Otherwise: install it")

    def test_a_misspelled_module_is_corrected(self) -> None:
        (self.folder / "our_tables.py").write_text("")
        self.assertRegex(self.said_to_a_cell("import our_tabels"), r": did you mean 'our_tables'\? Otherwise: install")
        self.assertRegex(self.said_to_a_cell("import statistcs"), r": did you mean 'statistics'\? Otherwise: install")
        self.assertNotIn("did you mean", self.said_to_a_cell("import no_such_package"))

    def test_nothing_is_advised_that_cannot_work(self) -> None:
        self.addCleanup(setattr, unavailable, "wall", "")
        unavailable.wall = "pypi.org cannot be reached"
        said = "No module named 'no_such_package': it cannot be installed now (pypi.org cannot be reached)"
        self.assertEqual(self.said_to_a_cell("import no_such_package"), said)

    def test_find_spec_finds_nothing_but_what_was_written(self) -> None:
        self.assertIsNone(importlib.util.find_spec("no_such_package"))
        (self.folder / "written.py").write_text("")
        self.assertIsNotNone(importlib.util.find_spec("written"))

    def test_a_module_of_a_package_is_left_to_python(self) -> None:
        with self.assertRaises(ModuleNotFoundError) as caught:
            __import__("json.nothing")
        self.assertEqual(str(caught.exception), "No module named 'json.nothing'")

    def test_a_user_whom_the_image_does_not_know_has_a_name(self) -> None:
        before = dict(os.environ)
        self.addCleanup(os.environ.update, before)
        self.addCleanup(os.environ.clear)
        self.addCleanup(setattr, os, "getuid", os.getuid)
        os.getuid = lambda: 4_242_424
        for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
            os.environ.pop(variable, None)
        unavailable.install(str(self.folder))
        self.assertEqual(getpass.getuser(), "sandbox")

    def test_passwords_and_debuggers_say_what_to_do_instead(self) -> None:
        password, debugger = (
            "no password belongs in code: .*secrets set NAME",
            "no one can type at a debugger here",
        )
        script = f"""
import io, sys
from bridge_kernel import unavailable
unavailable.install({str(self.folder)!r})
def fails(code):
    try:
        exec(code)
    except EOFError as error:
        return str(error)
print(fails("import getpass; getpass.getpass()"))
print(fails("from getpass import getpass; getpass(prompt='Password: ')"))
for code in ("breakpoint()", "import pdb; pdb.set_trace()", "import pdb; pdb.Pdb().set_trace(); x = 1",
             "import pdb; pdb.run('1')", "import pdb; pdb.post_mortem()", "x = 1; breakpoint(); y = 2"):
    print(fails(code))
import pdb
pdb.Pdb(stdin=io.StringIO("p 6 * 7\\nc\\n"), stdout=sys.stdout).run("x = 1")
sys.stdin = io.StringIO("secret\\n")
print(getpass.getpass(stream=sys.stdout) if (getpass := __import__("getpass")) else "")
"""
        with open(os.devnull, "rb") as nothing:
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], stdin=nothing, capture_output=True,
                                  text=True, check=False, start_new_session=True)  # fmt: skip
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        said = [line for line in lines if "no one can type" in line]
        self.assertEqual([bool(re.search(password, line)) for line in said], [True] * 2 + [False] * 6)
        self.assertEqual([debugger in line for line in said], [False] * 2 + [True] * 6)
        self.assertIn("42", done.stdout)
        self.assertTrue(lines[-1].endswith("secret"), lines[-1])

    def test_input_says_what_to_do_instead(self) -> None:
        stdin = sys.stdin
        self.addCleanup(setattr, sys, "stdin", stdin)
        self.addCleanup(setattr, sys, "__stdin__", sys.__stdin__)
        sys.stdin = sys.__stdin__ = io.StringIO()
        with redirect_stdout(io.StringIO()), self.assertRaisesRegex(EOFError, "no one can type here. Ask the user"):
            input("Name? ")
        sys.stdin = io.StringIO("Ada")
        self.assertEqual(input(), "Ada")
        with self.assertRaisesRegex(EOFError, "^EOF when reading a line$"):
            input()


if __name__ == "__main__":
    unittest.main()
