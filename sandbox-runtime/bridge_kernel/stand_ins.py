"""Stand-ins for parts of Python that the embedded engine lacks and that programs of pure Python import anyway.

A part has one only if what programs choose after `try: import …` or `hasattr` works at least as well as what they
choose without it. `mmap` reads real files. `ssl` has everything but connections, which no sandbox has. `os.getuid` is
the owner of all files here. `os.geteuid` and `os.getgid` stay missing: with them, `tarfile` calls `os.chown`. `ctypes`
stays missing, too: with a part of it, dill takes this for PyPy, or asks for functions of C, and without it dill works.
"""

from __future__ import annotations

import builtins
import importlib
import os
import struct
import sys
import types
from importlib.machinery import ModuleSpec

from bridge_kernel.on_import import on_import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.abc import Loader
    from typing import Any

_STAND_INS = {"mmap": "bridge_kernel.mapped", "_ssl": "bridge_kernel.no_ssl"}
_ASK_FOR_SIZES = ("sympy.external.gmpy",)
"""Modules that import `ctypes` only for the size of a number of C."""


def install() -> None:
    """Makes the stand-ins importable, behind modules that are loaded already and do without."""
    sys.meta_path.insert(0, _Finder())
    os.getuid = lambda: 0
    for name in _ASK_FOR_SIZES:
        on_import(name, after=_leave, before=_give_sizes)


class _Finder:
    """Finds the stand-ins, and loads each as a module of its own with what the kernel's module has."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        # Not derived from importlib.abc.Loader, as in `importer`.
        loader: Loader = self  # pyright: ignore[reportAssignmentType]
        return ModuleSpec(name, loader, origin="stand-in") if name in _STAND_INS else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Returns None: the import system creates the module."""

    def exec_module(self, module: types.ModuleType) -> None:
        own = importlib.import_module(_STAND_INS[module.__name__])
        module.__dict__.update({name: getattr(own, name) for name in dir(own) if not name.startswith("__")})


def _leave(_: types.ModuleType) -> None: ...


def _give_sizes(module: types.ModuleType) -> None:
    """Lets this module, and no other, import `ctypes` with what it needs."""
    sizes: Any = types.ModuleType("ctypes")
    sizes.c_long, sizes.sizeof = "l", struct.calcsize

    def find(name: str, *rest: Any) -> Any:
        return sizes if name == "ctypes" else builtins.__import__(name, *rest)

    module.__dict__["__builtins__"] = {**builtins.__dict__, "__import__": find}
