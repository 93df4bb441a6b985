"""How matplotlib is prepared, with a package in its place: the kernel's tests need the standard library only."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import sys
import tempfile
import unittest
import warnings

from bridge_kernel import charts

PYPLOT = "def show():\n    raise RuntimeError('no display')\n"
FONTS = """
import logging
logging.getLogger(__name__).warning("Matplotlib is building the font cache; this may take a moment.")
"""


class ChartsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.mkdir(f"{folder.name}/matplotlib")
        for name, source in (("__init__", ""), ("pyplot", PYPLOT), ("font_manager", FONTS)):
            with open(f"{folder.name}/matplotlib/{name}.py", "w") as file:
                file.write(source)
        self.addCleanup(setattr, sys, "path", [*sys.path])
        self.addCleanup(setattr, sys, "meta_path", [*sys.meta_path])
        self.addCleanup(setattr, warnings, "showwarning", warnings.showwarning)
        sys.path.insert(0, folder.name)
        self.addCleanup(self.forget)
        self.forget()
        self.shown = 0
        charts.install(self.count)

    @staticmethod
    def forget() -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
            del sys.modules[name]

    def count(self) -> None:
        self.shown += 1

    def test_show_shows_the_figures_whatever_it_is_given(self) -> None:
        pyplot = importlib.import_module("matplotlib.pyplot")
        pyplot.show()
        pyplot.show(block=True)
        self.assertEqual(self.shown, 2)

    def test_fonts_and_characters_are_reported_once_and_other_warnings_as_ever(self) -> None:
        said = io.StringIO()
        handler = logging.StreamHandler(said)
        logger = logging.getLogger("matplotlib.font_manager")
        logger.addHandler(handler)
        self.addCleanup(logger.removeHandler, handler)
        importlib.import_module("matplotlib.font_manager")
        for name in ("A", "A", "B"):
            logger.warning("findfont: Font family %r not found.", name)
        self.assertEqual(
            said.getvalue(), "findfont: Font family 'A' not found.\nfindfont: Font family 'B' not found.\n"
        )
        with contextlib.redirect_stderr(io.StringIO()) as reported:
            glyphs = [f"Glyph {number} (X) missing from font(s) F." for number in (1, 2)]
            for text in (*glyphs, "other", "other"):
                warnings.showwarning(text, UserWarning, "a.py", 1)
        lines = [line for line in reported.getvalue().splitlines() if "UserWarning" in line or "matplotlib" in line]
        self.assertEqual(
            lines,
            [
                "matplotlib: Glyph 1 (X) missing from font(s) F. Other missing characters are not reported.",
                "a.py:1: UserWarning: other",
                "a.py:1: UserWarning: other",
            ],
        )
