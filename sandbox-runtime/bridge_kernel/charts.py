"""matplotlib in a sandbox: `plt.show()` shows figures in the answer, and what fonts lack is reported once.

`pyplot.show` is replaced when pyplot is imported, not by a backend of our own, because code often chooses one itself.
"""

from __future__ import annotations

import os
import re
import sys

from bridge_kernel.on_import import on_import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_FONTS = "matplotlib.font_manager"
_GLYPH = re.compile(r"Glyph \d+ .*missing from", re.DOTALL)


def install(show_figures: Callable[[], None]) -> None:
    """Selects a backend that needs no display, keeps matplotlib's cache out of the user's files, and prepares modules.

    Args:
        show_figures: shows the open figures and closes them.
    """
    os.environ.setdefault("MPLBACKEND", "agg")
    os.environ.setdefault("MPLCONFIGDIR", "/tmp/.matplotlib")
    on_import("matplotlib.pyplot", lambda module: _replace_show(module, show_figures))
    # Before the module runs, because it builds its cache then and says so.
    on_import(_FONTS, lambda _module: None, before=lambda _module: _report_fonts_once())


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
