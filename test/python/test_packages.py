from __future__ import annotations

import ast
import asyncio
import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
import unittest
from typing import Any
from unittest import mock

from bridge_kernel import unavailable
from bridge_kernel.errors import CheckError, MCPError
from bridge_kernel.packages import Packages


class FakeHost:
    """Answers `install_packages` with what a test sets."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.answers: list[Any] = []

    async def call(self, method: str, params: dict[str, Any], *_: object) -> object:
        self.calls.append({"method": method, **params})
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def wanted(code: str) -> tuple[list[str], list[str]]:
    found = Packages(FakeHost()).wanted(ast.parse(code), code)  # pyright: ignore[reportArgumentType]
    return ([], []) if found is None else (sorted(found.modules), found.requirements)


class LoadingTest(unittest.TestCase):
    def test_a_start_does_not_load_it(self) -> None:
        code = "import sys, bridge_kernel.api; print('bridge_kernel.packages' in sys.modules)"
        folder = os.path.dirname(os.path.dirname(unavailable.__file__))
        command = [sys.executable, "-c", code]
        ended = subprocess.run(command, env={"PYTHONPATH": folder}, capture_output=True, text=True, check=True)
        self.assertEqual(ended.stdout, "False\n")


class WantedTest(unittest.TestCase):
    def test_missing_modules_are_found_wherever_a_cell_imports_them(self) -> None:
        code = (
            "import json, no_pkg_a.sub as a\nfrom no_pkg_b.c import d\ndef f():\n    import no_pkg_c\n"
            "if a:\n    import no_pkg_d\nwith d:\n    import no_pkg_e\ntry:\n    import no_pkg_f\nfinally:\n    pass\n"
        )
        names = ["no_pkg_a", "no_pkg_b", "no_pkg_c", "no_pkg_d", "no_pkg_e", "no_pkg_f"]
        self.assertEqual(wanted(code), (names, []))

    def test_nothing_is_wanted_if_the_code_has_everything(self) -> None:
        for code in ("x = 1", "import json, os.path", "from . import x", "print('import no_pkg')", "# install"):
            self.assertEqual(wanted(code), ([], []), code)

    def test_an_import_whose_absence_is_handled_is_left_alone(self) -> None:
        for kinds in ("ImportError", "ModuleNotFoundError", "(ValueError, ImportError)", "Exception", ""):
            code = f"try:\n    import no_pkg\nexcept {kinds}:\n    import no_pkg_b\n"
            self.assertEqual(wanted(code), (["no_pkg_b"], []), kinds)
        self.assertEqual(wanted("try:\n    import no_pkg\nexcept KeyError:\n    pass\n"), (["no_pkg"], []))

    def test_an_import_that_is_only_tried_or_for_annotations_is_left_alone(self) -> None:
        for code in (
            "with suppress(ImportError):\n    import no_pkg\n",
            "with open('x') as f, contextlib.suppress(KeyError, ModuleNotFoundError):\n    import no_pkg\n",
            "try:\n    import no_pkg\nexcept builtins.ImportError:\n    pass\n",
            "if TYPE_CHECKING:\n    import no_pkg\n",
            "if typing.TYPE_CHECKING:\n    import no_pkg\nelse:\n    import json\n",
        ):
            self.assertEqual(wanted(code), ([], []), code)
        kept = "with suppress(KeyError):\n    import no_pkg\nif TYPE_CHECKING:\n    pass\nelse:\n    import no_pkg_b\n"
        self.assertEqual(wanted(kept), (["no_pkg", "no_pkg_b"], []))

    def test_stated_requirements_are_known_before_the_cell_runs(self) -> None:
        code = 'await runtime.install("tiny<2", name, "b")\nother.install("c")\nimport tiny_pkg_x'
        tree = compile(code, "x", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        found = Packages(FakeHost()).wanted(tree, code)  # pyright: ignore[reportArgumentType]
        assert found is not None
        self.assertEqual((found.modules, found.requirements), (["tiny_pkg_x"], ["tiny<2", "b"]))

    def test_no_one_is_asked_for_packages_that_need_a_network(self) -> None:
        self.assertEqual(wanted("import requests, no_pkg"), (["no_pkg"], []))

    def test_a_script_header_states_requirements(self) -> None:
        header = '# /// script\n# requires-python = ">=3.8"\n# dependencies = [\n#   "a>=1",\n#   "b",\n# ]\n# ///'
        self.assertEqual(wanted(f"{header}\nx = 1"), ([], ["a>=1", "b"]))
        self.assertEqual(wanted(header), ([], ["a>=1", "b"]))
        self.assertEqual(wanted("# /// script\nx = 1"), ([], []))

    def test_a_script_header_for_a_newer_python_stops_the_cell(self) -> None:
        with self.assertRaisesRegex(CheckError, r"requires Python >=3\.99; the sandbox has 3\."):
            wanted('# /// script\n# requires-python = ">=3.99"\n# ///\n')


class ImportedTest(unittest.TestCase):
    def test_what_cells_import_by_name_is_reported_once(self) -> None:
        packages = Packages(FakeHost())  # pyright: ignore[reportArgumentType]

        def run(code: str) -> list[str]:
            packages.wanted(ast.parse(code), code)
            return sorted(packages.newly_imported())

        modules = dict.fromkeys(("no_pkg", "no_pkg.a", "no_pkg.b", "no_pkg.b.c"))
        with mock.patch.dict(sys.modules, modules):
            self.assertEqual(run("import json, no_pkg.a as a"), ["no_pkg.a"])
            self.assertEqual(
                run("from no_pkg import b, name\nfrom no_pkg.b.c import value"), ["no_pkg", "no_pkg.b", "no_pkg.b.c"]
            )
            self.assertEqual(run("import no_pkg.a, no_pkg_x"), [])
        self.assertEqual(run(f"import {'x' * 65}"), [])


class InstallTest(unittest.TestCase):
    def setUp(self) -> None:
        self.path = list(sys.path)
        self.meta_path = list(sys.meta_path)
        self.host = FakeHost()
        self.packages = Packages(self.host)  # pyright: ignore[reportArgumentType]
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.sets = folder.name

    def tearDown(self) -> None:
        sys.path[:] = self.path
        sys.meta_path[:] = self.meta_path

    def make_set(self, name: str) -> str:
        path = os.path.join(self.sets, name)
        os.makedirs(f"{path}/lib")
        with open(f"{path}/lock", "w", encoding="ascii"):
            pass
        return path

    def install(self, *requirements: str) -> list[str]:
        return asyncio.run(self.packages.install([], list(requirements)))

    def test_a_set_comes_before_the_packages_of_the_image_and_replaces_the_one_before(self) -> None:
        sys.path[:] = ["/usr/lib/python3", "/usr/lib/python3/dist-packages"]
        first, second = self.make_set("1"), self.make_set("2")
        self.host.answers = [
            {"path": first, "packages": [["a", "1"]]},
            {"path": second, "packages": [["a", "1"], ["b", "2"]]},
        ]
        self.assertEqual(self.install("a"), ["a==1"])
        self.assertEqual(sys.path, ["/usr/lib/python3", f"{first}/lib", "/usr/lib/python3/dist-packages"])
        self.assertEqual(self.install("b"), ["a==1", "b==2"])
        self.assertEqual(sys.path, ["/usr/lib/python3", f"{second}/lib", "/usr/lib/python3/dist-packages"])

    def test_python_programs_that_code_starts_have_the_set_too(self) -> None:
        # They had not, so no worker of joblib could start.
        first, second = self.make_set("1"), self.make_set("2")
        for path in (first, second):
            with open(f"{path}/lib/tiny_pkg.py", "w", encoding="ascii") as file:
                file.write(f"path = {path!r}")
        self.host.answers = [{"path": first, "packages": []}, {"path": second, "packages": []}]
        with mock.patch.dict(os.environ, {"PYTHONPATH": "/mine"}):
            self.install("a")
            self.install("b")
            command = [sys.executable, "-c", "import os, tiny_pkg; print(tiny_pkg.path, os.environ['PYTHONPATH'])"]
            ended = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertEqual(ended.stdout, f"{second} /mine:{second}/lib\n")

    def is_in_use(self, path: str) -> bool:
        try:
            with open(f"{path}/lock", "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False

    def test_a_session_holds_the_lock_of_its_set_also_if_a_builder_held_it_for_a_moment(self) -> None:
        path = self.make_set("1")
        self.host.answers = [{"path": path, "packages": []}]
        with open(f"{path}/lock", "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            with mock.patch("time.sleep", lambda _: fcntl.flock(held, fcntl.LOCK_UN)):
                self.install("a")
        self.assertTrue(self.is_in_use(path))

    def test_a_session_does_not_wait_for_another_that_holds_the_lock(self) -> None:
        path = self.make_set("1")
        self.host.answers = [{"path": path, "packages": [["a", "1"]]}]
        with open(f"{path}/lock", "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.assertEqual(self.install("a"), ["a==1"])

    def test_a_session_can_begin_with_a_set_for_its_python(self) -> None:
        path = self.make_set("1")
        with mock.patch.dict(os.environ):
            self.packages.begin_with(path, "cpython-20 linux x86_64")
            self.assertIsNone(self.packages.used)
            python = f"{sys.implementation.cache_tag} {sys.platform} {os.uname().machine}"
            self.packages.begin_with(path, python)
        self.assertEqual(self.packages.used, path)
        self.assertIn(f"{path}/lib", sys.path)
        self.assertTrue(self.is_in_use(path))
        # The host learns which set it is.
        self.host.answers = [{"path": path, "packages": [["a", "1"]]}]
        self.assertEqual(self.install("a"), ["a==1"])
        self.assertEqual([call["set"] for call in self.host.calls], ["1"])

    def test_no_set_replaces_loaded_packages_by_other_versions(self) -> None:
        first, more, other = map(self.make_set, ("1", "2", "3"))
        for path, versions in ((first, ["a-1"]), (more, ["a-1", "b-1"]), (other, ["a-2"])):
            for version in versions:
                os.mkdir(f"{path}/lib/{version}.dist-info")
        loaded = type(sys)("loaded_of_set")
        loaded.__file__ = f"{first}/lib/a/__init__.py"
        with mock.patch.dict(os.environ), mock.patch.dict(sys.modules):
            asyncio.run(self.packages.use_again(other))
            asyncio.run(self.packages.use_again(first))
            sys.modules["loaded_of_set"] = loaded
            with self.assertRaisesRegex(MCPError, r"loaded packages in other versions .*\(a 1\)\n?.*runtime.reset"):
                asyncio.run(self.packages.use_again(other))
            self.assertEqual(self.packages.used, first)
            asyncio.run(self.packages.use_again(more))
        self.assertEqual(self.packages.used, more)

    def test_nothing_changes_if_the_image_has_everything(self) -> None:
        self.host.answers = [{"path": None, "packages": []}]
        self.assertEqual(self.install("a"), [])
        self.assertEqual(sys.path, self.path)

    def test_a_set_that_is_gone_is_asked_for_again_once(self) -> None:
        gone = {"path": f"{self.sets}/gone", "packages": []}
        self.host.answers = [gone, gone]
        with self.assertRaisesRegex(MCPError, "does not see them"):
            self.install("a")
        self.assertEqual([call["is_gone"] for call in self.host.calls], [False, True])
        self.assertEqual(sys.path, self.path)

    def test_an_import_says_why_its_package_is_missing(self) -> None:
        self.host.answers = [MCPError("no_pkg was not installed: no network", "PACKAGE_UNAVAILABLE", "Check it.")]
        found = self.packages.wanted(ast.parse("import no_pkg_q"), "import no_pkg_q")
        assert found is not None
        asyncio.run(self.packages.prepare(found))
        self.addCleanup(unavailable.reasons.clear)
        self.assertEqual(unavailable.why_missing("no_pkg_q"), "no_pkg was not installed: no network. Check it.")

    def test_after_a_failure_of_the_index_no_import_is_told_to_install(self) -> None:
        self.addCleanup(setattr, unavailable, "wall", "")
        missing = MCPError("the index has no wheel of a", "PACKAGE_UNAVAILABLE", "Check it.", {"kind": "missing"})
        down = MCPError("pypi.org cannot be reached.", "PACKAGE_UNAVAILABLE", "Check it.", {"kind": "network"})
        found = {"path": None, "packages": []}
        self.host.answers = [missing, down, found]
        for told in ("install it: await", "cannot be installed now (pypi.org cannot be reached)", "install it: await"):
            with contextlib.suppress(MCPError):
                self.install("a")
            self.assertIn(told, unavailable.why_missing("no_pkg_r"))

    def test_a_package_that_cannot_be_installed_names_what_is_here_instead(self) -> None:
        self.host.answers = [MCPError("no", "PACKAGE_UNAVAILABLE", "Check it.")]
        with self.assertRaises(MCPError) as caught:
            self.install("regex>=2")
        self.assertEqual(caught.exception.hint, "Check it. re is installed here for the same purpose.")

    def test_a_stated_requirement_raises(self) -> None:
        self.host.answers = [MCPError("no", "PACKAGE_UNAVAILABLE")]
        code = "# /// script\n# dependencies = ['a']\n# ///\n"
        found = self.packages.wanted(ast.parse(code), code)
        assert found is not None
        with self.assertRaises(MCPError):
            asyncio.run(self.packages.prepare(found))


if __name__ == "__main__":
    unittest.main()
