"""`multiprocessing` with what cells define, in worker processes that do not have it.

Workers are forked, as everywhere before Python 3.14, so they have what the session had at that moment. What they lack
is sent as a value instead of a name: a function defined later, a lambda, and everything to workers that were not forked
(`spawn`, `forkserver`). Without this, such a worker ends when it looks for the name, and `Pool.map` waits forever.

A worker that was not forked has no kernel; it finds this module and what it needs in a folder.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from weakref import ref

    _Names = dict[str, ref[object] | None]

_MODULES = ("__init__", "cloudpickle", "processes", "state_pickle")
# On a process: what it has by name.
_KNOWN = "_bridge_known"
_MISSING = object()
# In a worker: the values of names that came from its parent. Those that its own code has set are not replaced.
_received: dict[str, object] = {}


def install(is_ours: Callable[[str], bool]) -> None:
    """Prepares `multiprocessing` for when it is imported. `is_ours` says whether a name has the kernel's value."""
    import subprocess

    from bridge_kernel.on_import import on_import

    options: Callable[[], list[str]] = subprocess.__dict__["_args_from_interpreter_flags"]

    def args_from_interpreter_flags() -> list[str]:
        # Workers have the environment that code has set, such as the PYTHONPATH of installed packages.
        safe = ["-P"] if sys.version_info >= (3, 11) else []
        return [each for option in options() for each in (safe if option == "-I" else [option])]

    subprocess.__dict__["_args_from_interpreter_flags"] = args_from_interpreter_flags
    on_import("multiprocessing.context", lambda module: _prepare(module, is_ours))
    on_import("multiprocessing.spawn", _add_folder)


def share_packages(folder: str, earlier: str = "") -> None:
    """Adds a folder of packages, in the place of an earlier one, for Python programs and workers that code starts."""
    folders = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry not in ("", earlier)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*folders, folder]))


def _prepare(context: Any, is_ours: Callable[[str], bool]) -> None:
    process, pickler = context.process, context.reduction.ForkingPickler
    start = process.BaseProcess.start

    def start_and_note(self: Any) -> None:
        """Starts the process, and notes what it has of the session."""
        global _received  # noqa: PLW0603
        earlier, _received = _received, dict(_namespace())
        names: _Names = {name: _ref(value) for name, value in _received.items()}
        try:
            start(self)  # A forked worker does not return from here.
        finally:
            _received = earlier
        setattr(self, _KNOWN, names if self._popen.method == "fork" else {})

    def reducer_override(_self: object, value: Any) -> Any:
        if not isinstance(value, (type, _FUNCTION)) or value.__module__ != "__main__":
            return NotImplemented
        known: list[_Names] = [{}]  # Of a worker that is being started without anything.
        if context.get_spawning_popen() is None:
            known = [getattr(child, _KNOWN, {}) for child in list(process._children)]  # noqa: SLF001
        if all(_found(value.__qualname__, names) is value for names in known):
            return NotImplemented
        return _load, (_dumped(value, known, is_ours), value.__qualname__)

    process.BaseProcess.start = start_and_note
    pickler.reducer_override = reducer_override
    # The default since Python 3.14 starts workers that have nothing of the session.
    context._default_context._default_context = context._concrete_contexts["fork"]  # noqa: SLF001


_FUNCTION = type(install)


def _namespace() -> dict[str, object]:
    return sys.modules["__main__"].__dict__


def _ref(value: object) -> ref[object] | None:
    """A reference that does not keep the value alive; None if there is none to this type."""
    from weakref import ref

    try:
        return ref(value)
    except TypeError:
        return None


def _found(name: str, names: _Names) -> object:
    root, *rest = name.split(".")
    reference = names.get(root)
    found: object = reference and reference()
    for part in rest:
        found = getattr(found, part, None)
    return found


def _dumped(value: object, known: list[_Names], is_ours: Callable[[str], bool]) -> bytes:
    """A function or a class as a value, with the global names that a worker lacks."""
    import io
    import pickle

    from bridge_kernel import state_pickle

    class Pickler(state_pickle.Pickler):
        def _dynamic_function_reduce(self, func: Any) -> Any:
            make, args, (state, slots), *_ = super()._dynamic_function_reduce(func)
            used = state_pickle.cloudpickle._extract_code_globals(func.__code__)  # noqa: SLF001
            there = func.__globals__
            needed = {
                name: there[name]
                for name in used
                if name in there and not is_ours(name) and any(_found(name, each) is not there[name] for each in known)
            }
            return make, args, (state, slots, needed), None, None, _set_function

    file = io.BytesIO()
    try:
        Pickler(file, None).dump(value)
    except Exception as error:
        name = getattr(value, "__qualname__", "")
        reason = state_pickle.reason_of(error)
        raise pickle.PicklingError(f"{name} cannot be sent to another process: {reason}") from error
    return file.getvalue()


# In the worker


def _load(data: bytes, name: str) -> object:
    import pickle

    value = pickle.loads(data)
    if name.isidentifier():
        # Results refer to it by this name.
        _bind({name: value})
    return value


def _set_function(function: object, everything: tuple[Any, Any, dict[str, object]]) -> None:
    from bridge_kernel.state_pickle import cloudpickle

    state, slots, needed = everything
    cloudpickle._function_setstate(function, (state, slots))  # noqa: SLF001
    _bind(needed)


def _bind(values: dict[str, object]) -> None:
    namespace = _namespace()
    for name, value in values.items():
        if namespace.get(name, _MISSING) is _received.get(name, _MISSING):
            namespace[name] = _received[name] = value


# For workers that are not forked

_folder = ""


def _add_folder(spawn: Any) -> None:
    get_data = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        data = get_data(name)
        return {**data, "sys_path": [*data["sys_path"], _written_modules()]}

    spawn.get_preparation_data = get_preparation_data


def _written_modules() -> str:
    """A folder with the modules that a worker needs."""
    global _folder  # noqa: PLW0603
    from bridge_kernel.importer import PACKAGE, installed

    if not os.path.isdir(_folder):
        import tempfile

        _folder = tempfile.mkdtemp(prefix="bridge-")
        os.mkdir(f"{_folder}/{PACKAGE}")
        sources = installed().sources
        for name in _MODULES:
            with open(f"{_folder}/{PACKAGE}/{name}.py", "wb") as file:
                file.write(sources.get(f"{PACKAGE}.{name}", b""))
    return _folder
