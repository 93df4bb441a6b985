"""What no sandbox has: packages that its image lacks, and someone at a keyboard. Each error names a next step.

Also finds modules that code has just written to the working folder. `missing.py` explains what only the embedded engine
lacks.
"""

from __future__ import annotations

import builtins
import os
import sys
from importlib import machinery

from bridge_kernel.on_import import on_import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, NoReturn

is_embedded = False
"""Whether this is the embedded engine; `missing.install` sets it."""
WAY_OUT = "needs a container engine: install Podman or Docker, or choose an installed one with MCP_BRIDGE_RUNTIME"
"""What the user can do about anything that only the embedded engine lacks."""
_NO_INPUT = (
    "EOF when reading a line: no one can type here. Ask the user in your answer, and write what they say into the code "
    "of the next cell"
)
_NO_PASSWORD = (
    "no one can type here, and no password belongs in code: call a tool of a server whose entry has it; the user "
    "stores it with '{command} secrets set NAME'"
)
_NO_DEBUGGER = (
    "no one can type at a debugger here: print what you want to see, or look at it in the next cell, which has the "
    "variables of this one"
)
NETWORK_PACKAGES = frozenset({"aiohttp", "boto3", "httpx", "paramiko", "requests", "selenium", "urllib3", "websockets"})
"""Packages that are of little use without a network. Chosen: those that agents import most."""
_NO_NETWORK = "no sandbox has a network; call a tool of an MCP server that fetches for you. If that is not enough: "
reasons: dict[str, str] = {}
"""Why modules that a cell imports could not be installed."""
command = "mcp-server-code-execution-mode"
"""What starts the bridge in the user's shell; the host says it in `hello`."""
wall = ""
"""Why nothing can be installed, as far as the last attempt has shown; empty if something can."""
has_egress = False
"""Whether libraries reach some hosts; `egress.open_way` sets it."""
_SETS = "/packages/sets/"
_LOADERS: Any = (
    (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
    (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES),
    (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
)
_folder = ""
_said: set[str] = set()


def install(folder: str) -> None:
    """Makes modules in `folder` importable, and missing ones and what waits for a person explain themselves.

    As in a script, its modules come before those of the image and of packages. Those of Python come first, so a file
    such as `types.py` breaks neither libraries nor this kernel; `say_if_hidden` reports it.
    """
    global _folder  # noqa: PLW0603
    _folder = folder
    if not any(isinstance(finder, LastFinder) for finder in sys.meta_path):
        sys.meta_path.append(LastFinder(why_missing))
    sys.path_hooks.insert(0, _find_in_folder)
    sys.path.insert(place_of_packages(), folder)
    _explain_input()
    _name_user()
    on_import("getpass", _explain_password)
    on_import("pdb", _explain_debugger)


def place_of_packages() -> int:
    """Where in `sys.path` packages begin, those of a set or of the image: behind Python's own modules."""
    ends = ("site-packages", "dist-packages")
    own = (index for index, entry in enumerate(sys.path) if entry.endswith(ends) or entry.startswith(_SETS))
    return next(own, len(sys.path))


class _Finder(machinery.FileFinder):
    """Looks with fresh eyes: what others know depends on times of folders that are exact to a few ms only."""

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        self.invalidate_caches()
        return super().find_spec(fullname, target)


def _find_in_folder(path: str) -> _Finder:
    """Finds modules that code has just written to the working folder, and in packages there."""
    if path != _folder and not path.startswith(f"{_folder}/"):
        raise ImportError
    return _Finder(path, *_LOADERS)


def say_if_hidden(names: list[str]) -> None:
    """Says which of the modules are others than a file of that name in the working folder."""
    for name in names:
        file = f"{_folder}/{name}.py"
        if not _folder or file in _said or not os.path.exists(file):
            continue
        is_own = name in sys.stdlib_module_names
        # A sandbox that was started ahead may have imported it.
        if is_own or (name in sys.modules and getattr(sys.modules[name], "__file__", None) != file):
            _said.add(file)
            which = "Python's own module" if is_own else "the module that is loaded already"
            print(f"import {name} is {which}, not {file}: rename the file to import it", file=sys.stderr)


class LastFinder:
    """The last finder explains why a module is missing."""

    def __init__(self, explain: Callable[[str], str]) -> None:
        self._explain = explain

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        """Raises ModuleNotFoundError for a top-level module; `importlib.util.find_spec` just finds nothing."""
        asker: Any = sys._getframe(2).f_globals.get("__name__")  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        if path is None and "." not in name and asker != "importlib.util":
            raise ModuleNotFoundError(f"No module named {name!r}: {self._explanation(name)}", name=name)

    def _explanation(self, name: str) -> str:
        frame: Any = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        while frame is not None and str(frame.f_globals.get("__name__")).startswith(("importlib", "_frozen_importlib")):
            frame = frame.f_back
        why = self._explain(name)
        # Libraries try many modules that may be missing, so a search for each would take long.
        if name in NETWORK_PACKAGES or frame is None or frame.f_globals.get("__name__") != "__main__":
            return why
        from bridge_kernel import near_modules

        return near_modules.explain(name, why)


def why_missing(name: str) -> str:
    """Why a top-level module is missing from a sandbox, with a next step."""
    if name in sys.stdlib_module_names:
        return "the Python of this sandbox does not have this part of the standard library"
    if name.startswith("mcp_"):
        return "no server has this name in Python; runtime.discovered_servers() lists them, and they need no import"
    if name in reasons:
        return reasons[name]
    without_c = ", if it is pure Python" if is_embedded else ""
    how = f"it cannot be installed now ({wall})" if wall else f"install it{without_c}: await runtime.install({name!r})"
    return _NO_NETWORK * (name in NETWORK_PACKAGES and not has_egress) + how


def _name_user() -> None:
    """Gives the user a name if the image has none: `getpass.getuser()` and many programs need one."""
    try:
        import pwd

        pwd.getpwuid(os.getuid())
    except (ImportError, KeyError):  # No accounts in WebAssembly.
        for variable in ("LOGNAME", "USER"):
            os.environ.setdefault(variable, "sandbox")


def _explain_input() -> None:
    read = builtins.input

    def input(prompt: object = "", /) -> str:  # noqa: A001 Replaces the builtin.
        """Reads a line from `sys.stdin`, which is empty in a sandbox."""
        try:
            return read(prompt)
        except EOFError:
            if sys.stdin is sys.__stdin__:
                raise EOFError(_NO_INPUT) from None
            raise

    builtins.input = input


def _explain_password(getpass: Any) -> None:
    read = getpass.getpass

    def explain(*args: object, **kwargs: object) -> str:
        """Reads a password from `sys.stdin`, which is empty in a sandbox."""
        if sys.stdin is sys.__stdin__:
            raise EOFError(_NO_PASSWORD.format(command=command))
        return read(*args, **kwargs)

    getpass.getpass = explain


def _explain_debugger(pdb: Any) -> None:
    run = pdb.Pdb.cmdloop

    def refuse(*_: object, **__: object) -> NoReturn:
        raise EOFError(_NO_DEBUGGER)

    def cmdloop(debugger: Any, intro: object = None) -> None:
        if debugger.use_rawinput and sys.stdin is sys.__stdin__:
            refuse()
        run(debugger, intro)

    # `breakpoint` calls `set_trace`, and `pm` calls `post_mortem`.
    for name in ("set_trace", "set_trace_async", "post_mortem"):
        if hasattr(pdb, name):
            setattr(pdb, name, refuse)
    pdb.Pdb.cmdloop = cmdloop
