"""Changes modules when code imports them: most sessions never do, and loading them would delay every start."""

from __future__ import annotations

import sys
from _frozen_importlib_external import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    Change = Callable[[Any], None]


def on_import(name: str, after: Change, before: Change | None = None) -> None:
    """Calls `before` and `after` with the module before and after its code runs."""
    finder = next((finder for finder in sys.meta_path if isinstance(finder, _Finder)), None)
    if finder is None:
        finder = _Finder()
        sys.meta_path.insert(0, finder)
    finder.changes[name] = before, after


class _Finder:
    """Finds the modules that are changed, as `PathFinder` would."""

    def __init__(self) -> None:
        self.changes: dict[str, tuple[Change | None, Change]] = {}

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name not in self.changes:
            return None
        spec: ModuleSpec | None = PathFinder.find_spec(name, path, target)
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module
            before, after = self.changes[name]

            def exec_module(module: ModuleType) -> None:
                if before is not None:
                    before(module)
                execute(module)
                after(module)

            loader.exec_module = exec_module
        return spec
