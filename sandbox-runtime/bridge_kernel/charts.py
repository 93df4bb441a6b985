"""matplotlib in a sandbox: `plt.show()` shows figures in the answer, and what fonts lack is reported once.

`pyplot.show` is replaced when pyplot is imported, not by a backend of our own, because code often chooses one itself.
"""

from __future__ import annotations

import os
import re
import sys
from _frozen_importlib_external import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_FONTS = "matplotlib.font_manager"
_PYPLOT = "matplotlib.pyplot"
_GLYPH = re.compile(r"Glyph \d+ .*missing from", re.DOTALL)


def install(show_figures: Callable[[], None]) -> None:
    """Selects a backend that needs no display, keeps matplotlib's cache out of the user's files, and prepares modules.

    Args:
        show_figures: shows the open figures and closes them.
    """
    os.environ.setdefault("MPLBACKEND", "agg")
    os.environ.setdefault("MPLCONFIGDIR", "/tmp/.matplotlib")
    sys.meta_path.insert(0, _Finder(show_figures))


class _Finder:
    """Finds the modules that are changed, as `PathFinder` would."""

    def __init__(self, show_figures: Callable[[], None]) -> None:
        self._show_figures = show_figures

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name not in (_FONTS, _PYPLOT):
            return None
        spec: ModuleSpec | None = PathFinder.find_spec(name, path, target)
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                if name == _FONTS:
                    # Before the module runs, because it builds its cache then and says so.
                    _report_fonts_once()
                execute(module)
                if name == _PYPLOT:
                    _replace_show(module, self._show_figures)

            loader.exec_module = exec_module
        return spec


def _replace_show(pyplot: Any, show_figures: Callable[[], None]) -> None:
    def show(*_: object, **__: object) -> None:
        """Shows the open figures in the answer, and closes them."""
        show_figures()

    pyplot.show = show


def _report_fonts_once() -> None:
    import logging
    import warnings

    reported: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        # A sandbox begins without a cache, so this would come in each session.
        if message in reported or "building the font cache" in message:
            return False
        reported.add(message)
        return True

    logging.getLogger(_FONTS).addFilter(is_new)
    report = warnings.showwarning

    def showwarning(
        message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
    ) -> None:
        """Reports one missing character: each is a warning of its own, from a line of the kernel."""
        text = str(message)
        if _GLYPH.match(text) is None:
            report(message, category, filename, lineno, file, line)
        elif "glyph" not in reported:
            reported.add("glyph")
            print(f"matplotlib: {text} Other missing characters are not reported.", file=file or sys.stderr)

    warnings.showwarning = showwarning
