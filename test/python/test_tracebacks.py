"""Tracebacks of cells: frames of libraries are folded, and a missing network is named."""

from __future__ import annotations

import errno
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import unittest
import urllib.error
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bridge_kernel import unavailable
from bridge_kernel.attr_dict import AttrDict
from bridge_kernel.hints import NO_NETWORK, ONLY_HTTP, hint_for, is_without_network
from bridge_kernel.tracebacks import traceback_texts
from bridge_kernel.values import ImageContent


def error_of(code: str, **names: object) -> BaseException:
    try:
        exec(compile(code, "<cell 3>", "exec"), names)
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError("the code raised nothing")


def link() -> None:
    raise urllib.error.URLError(socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"))


class Tracebacks(unittest.TestCase):
    def test_frames_of_libraries_are_folded_but_the_last(self) -> None:
        error = error_of("def f():\n    return json.loads('{', cls=C)\nf()", json=json, C=json.JSONDecoder)
        shown, whole = traceback_texts(error, 3, only_own=False)
        self.assertIn("frames of libraries: print(runtime.output(3, 'traceback'))]\n", shown)
        self.assertIn("in f\n", shown)
        self.assertEqual(shown.count("decoder.py"), 1)
        self.assertEqual(whole.count("decoder.py"), 2)
        self.assertEqual(shown.splitlines()[-1], whole.splitlines()[-1])

    def test_one_or_two_frames_are_not_folded(self) -> None:
        error = error_of("statistics.mean([])", statistics=statistics)
        shown, whole = traceback_texts(error, 3, only_own=False)
        self.assertEqual(shown, whole)

    def test_callbacks_in_user_code_stay(self) -> None:
        code = "import functools\ndef g(x): return 1 / 0\ndef f(): return sorted([1], key=functools.partial(g))\nf()"
        shown, _ = traceback_texts(error_of(code), 3, only_own=False)
        self.assertEqual([line for line in shown.splitlines() if line.startswith('  File "<')],
                         ['  File "<cell 3>", line 4, in <module>', '  File "<cell 3>", line 3, in f',
                          '  File "<cell 3>", line 2, in g'])  # fmt: skip

    def test_linked_exceptions_are_folded_too(self) -> None:
        code = "try:\n    json.loads('{', cls=C)\nexcept ValueError as error:\n    raise KeyError('a') from error"
        shown, _ = traceback_texts(error_of(code, json=json, C=json.JSONDecoder), 3, only_own=False)
        self.assertIn("direct cause of the following", shown)
        self.assertEqual(shown.count("frames of libraries"), 1)


class Hints(unittest.TestCase):
    def test_a_failed_connection_names_the_missing_network(self) -> None:
        unreachable: Any = [
            socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
            urllib.error.URLError(socket.gaierror(socket.EAI_NONAME, "Name or service not known")),
            OSError(errno.ENETUNREACH, "Network is unreachable"),
        ]
        wrapped = RuntimeError("Max retries exceeded")
        wrapped.__context__ = unreachable[0]
        for error in (*unreachable, wrapped):
            self.assertEqual(hint_for(error), NO_NETWORK)
            with patch.object(unavailable, "has_egress", True):
                self.assertEqual(hint_for(error), ONLY_HTTP)

    def test_a_refused_connection_or_a_missing_file_does_not(self) -> None:
        endless: Any = ValueError("x")
        endless.args = (endless,)
        for error in (
            ConnectionRefusedError(errno.ECONNREFUSED, "refused"),
            FileNotFoundError(),
            endless,
            KeyError("a"),
        ):
            self.assertIsNone(hint_for(error))

    def test_its_traceback_has_only_the_lines_of_the_user(self) -> None:
        error = error_of("try:\n    json.loads('{')\nexcept ValueError:\n    link()", json=json, link=link)
        self.assertTrue(is_without_network(error))
        shown, whole = traceback_texts(error, 3, only_own=True)
        self.assertEqual(shown.splitlines()[-1], f"urllib.error.URLError: {error}")
        self.assertNotIn("decoder.py", shown)
        self.assertIn("During handling", whole)

    def test_habits_from_raw_results_get_the_next_step(self) -> None:
        for code in ("json.loads(r)", "json.loads([r])"):
            said = hint_for(error_of(code, json=json, r=AttrDict(a=1)))
            self.assertEqual(said, "The value is already parsed: use it without json.loads.")
        self.assertEqual(hint_for(error_of("[1].content[0].text")), "The result is already a list: use it directly.")
        self.assertIsNone(hint_for(error_of("[1].nothing")))
        image = ImageContent({"type": "image", "data": "QQ==", "mimeType": "image/png"})
        said = hint_for(error_of("image['data']", image=image))
        self.assertEqual(said, "It is an object: .data (bytes) or .text, .save(path), and .raw as the server sent it.")

    def test_a_pip_that_failed_names_what_works(self) -> None:
        for command in (["/usr/bin/python3", "-m", "pip", "install", "x"], "pip install x"):
            said = hint_for(subprocess.CalledProcessError(1, command))
            self.assertIn("await runtime.install(", said or "")
        self.assertIsNone(hint_for(subprocess.CalledProcessError(1, ["ls", "pip.txt"])))

        class CalledProcessError(Exception):
            @property
            def __dict__(self) -> dict[str, object]:  # pyright: ignore[reportIncompatibleVariableOverride]
                raise RuntimeError("code of the user ran")

        self.assertIsNone(hint_for(CalledProcessError("pip install x")))

    # Debian's matplotlib in a sandbox without /etc/matplotlibrc failed like a bug of matplotlib.
    def test_an_import_that_fails_because_of_the_sandbox_says_so(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            sys.path.insert(0, folder)
            self.addCleanup(sys.path.remove, folder)
            for name, code in {
                "reads_etc": "open('/etc/no-such.conf')",
                "hides_it": "try:\n    import reads_etc\nexcept OSError as error:\n    raise RuntimeError from error",
                "reads_own": "open('/tmp/no-such/file')",
                "needs_library": "import ctypes\nctypes.CDLL('libno-such.so.7')",
            }.items():
                Path(folder, f"{name}.py").write_text(code)
                self.addCleanup(sys.modules.pop, name, None)
            for name in ("reads_etc", "hides_it"):
                said = hint_for(error_of(f"import {name}", __name__="__main__"))
                self.assertRegex(said or "", r"^The sandbox has no /etc/no-such\.conf, .* MCP_BRIDGE_IMAGE, ")
            self.assertIsNone(hint_for(error_of("import reads_own", __name__="__main__")))
            self.assertIsNone(hint_for(error_of("open('/etc/no-such.conf')", __name__="__main__")))
            said = hint_for(error_of("import needs_library", __name__="__main__"))
            self.assertRegex(said or "", r"^The sandbox's system has no libno-such\.so\.7\. .* MCP_BRIDGE_IMAGE, ")


class OverriddenTest(unittest.TestCase):
    """Exceptions whose attributes or text raise get no hint, and no other exception takes their place."""

    def test_attributes_of_python_are_read(self) -> None:
        class Text:
            def __str__(self) -> str:
                raise ValueError

        def fails(_: object) -> object:
            raise ZeroDivisionError

        def of(base: type[BaseException], name: str) -> BaseException:
            return type("Overridden", (base,), {name: property(fails)})()

        overridden = [of(Exception, name) for name in ("args", "__cause__", "__context__")]
        errors = [TypeError(Text()), of(OSError, "errno"), of(AttributeError, "obj"), of(AttributeError, "name")]
        for error in [*overridden, *errors]:
            self.assertIsNone(hint_for(error))
