"""Packages that the sandbox lacks: found before a cell runs, asked of the host, and added to `sys.path`.

The host decides and a builder fetches; a session only ever sees finished sets in a read-only folder. A set is added to
`sys.path`, not with `site`, so a `.pth` file in a wheel has no effect. A failure changes nothing: the import then fails
as it would have, with the reason.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import time

from bridge_kernel import unavailable
from bridge_kernel.errors import CheckError, MCPError
from bridge_kernel.processes import share_packages
from bridge_kernel.syntax_nodes import nodes_of
from bridge_kernel.values import as_dict, as_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge_kernel.servers import Host

_METHOD = "install_packages"
# A module is missing on purpose in code that handles its absence.
_HANDLED = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_MAX_NAMED = 60
# Failures that the next package would meet, too: of the index, the image, a setting or the engine.
_OF_ALL_PACKAGES = frozenset({"network", "index", "tool", "off", "engine"})
_NO_LIBRARIES = frozenset({"pip", "setuptools", "wheel"})
_MAX_WANTED = 64
"""The host takes no more at once."""
_MAX_NAME_CHARS = 64
_MAX_OTHERS = 5
# A builder that looks whether a set is in use holds its lock for a moment. There is no waiting for it, because another
# session could hold it forever.
_LOCK_ATTEMPTS = 20
_LOCK_PAUSE_SECONDS = 0.005
# PEP 723, "Reference Implementation".
_SCRIPT = re.compile(r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$")


class Wanted:
    """What a cell needs: modules that it imports, and requirements that it states."""

    def __init__(self, modules: list[str], requirements: list[str]) -> None:
        self.modules = modules
        self.requirements = requirements


class Packages:
    """The packages of a session."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._path: str | None = None
        # The id of the set that is used; the host may know of another one that could not be.
        self._set: str | None = None
        self._turn: Any = None
        # Kept open, because the lock on it tells builders that the set is in use.
        self._locks: list[int] = []
        # What cells import by name, each with whether it was reported.
        self._imported: dict[str, bool] = {}

    def wanted(self, tree: ast.Module, code: str) -> Wanted | None:
        """What the cell needs and the sandbox may lack; None if it needs nothing. Cheap if every import is known."""
        requirements = _script_requirements(code) if "# /// script" in code else []
        if "install" in code:
            requirements += _stated(tree)
        imported = _imported(tree) if "import" in code else []
        for name in imported[:_MAX_WANTED]:
            self._imported.setdefault(name, False)
        # Without a network, code rarely needs those: the user should not be asked because of a habit.
        tops = list(dict.fromkeys(name.partition(".")[0] for name in imported))
        unavailable.say_if_hidden(tops)
        modules = [name for name in tops if name not in unavailable.NETWORK_PACKAGES and _is_missing(name)]
        return Wanted(modules[:_MAX_WANTED], requirements[:_MAX_WANTED]) if modules or requirements else None

    def newly_imported(self) -> list[str]:
        """The modules beyond the standard library that cells have imported by name, each reported once."""
        new = [
            name
            for name, is_reported in self._imported.items()
            if not is_reported and name in sys.modules and name.partition(".")[0] not in sys.stdlib_module_names
        ]
        self._imported.update(dict.fromkeys(new, True))
        return [name for name in new if len(name) <= _MAX_NAME_CHARS][:_MAX_WANTED]

    async def prepare(self, wanted: Wanted) -> None:
        """Installs what a cell needs. If that fails: MCPError for a requirement, and a module's import explains."""
        try:
            await self.install(wanted.modules, wanted.requirements)
        except MCPError as error:
            if wanted.requirements:
                raise
            self._explain(wanted.modules, error)
        else:
            for name in wanted.modules:
                unavailable.reasons.pop(name, None)

    @property
    def used(self) -> str | None:
        """The path of the set that is used; None if there is none. A checkpoint keeps it."""
        return self._path

    def begin_with(self, path: str, python: str) -> None:
        """Uses a set before any code runs, if it is for this Python and still there."""
        if python == _this_python() and self._use_set(path):
            self._set = path.rpartition("/")[2]

    async def use_again(self, path: str) -> None:
        """Uses the set of an earlier sandbox, as far as it is still there. Raises MCPError if this one cannot."""
        if self._use_set(path):
            self._set = path.rpartition("/")[2]

    async def install(self, modules: list[str], requirements: list[str]) -> list[str]:
        """Installs packages; returns `name==version` of each package of the session."""
        import asyncio

        # One after the other: each set holds what came before.
        self._turn = self._turn or asyncio.Lock()
        async with self._turn:
            try:
                installed = await self._install(modules, requirements)
            except MCPError as error:
                _note_failure(error, requirements)
                raise
            unavailable.wall = ""
            return installed

    async def _install(self, modules: list[str], requirements: list[str]) -> list[str]:
        answer = await self._ask(modules, requirements, is_gone=False)
        if not await self._use(answer):
            # Someone emptied the store. What the lock says is fetched again.
            answer = await self._ask(modules, requirements, is_gone=True)
            if not await self._use(answer):
                raise MCPError(
                    "the packages were installed, but this sandbox does not see them",
                    "PACKAGE_UNAVAILABLE",
                    hint="Start over with runtime.reset().",
                )
        return [f"{name}=={version}" for name, version in as_list(answer.get("packages"))]

    async def _ask(self, modules: list[str], requirements: list[str], is_gone: bool) -> dict[str, Any]:
        return as_dict(
            await self._host.call(
                _METHOD,
                {
                    "modules": modules,
                    "requirements": requirements,
                    "is_gone": is_gone,
                    "set": self._set,
                },
            )
        )

    async def _use(self, answer: dict[str, Any]) -> bool:
        """Makes what the host has chosen importable. Returns whether this sandbox sees it."""
        wheels = answer.get("wheels")
        if wheels is None:
            is_here = self._use_set(answer.get("path"))
        else:
            from bridge_kernel import wheels as unpacked

            is_here = await unpacked.use(as_list(wheels), self._host)
        if is_here:
            path = answer.get("path")
            self._set = None if path is None else str(path).rpartition("/")[2]
        return is_here

    def _use_set(self, path: object) -> bool:
        """Adds a set to `sys.path`, in the place of an earlier one. Returns whether this sandbox sees it.

        Raises MCPError if modules of the earlier set are loaded and this one has other versions.
        """
        if path is None or path == self._path:
            return True
        lib = f"{path}/lib"
        self._lock(f"{path}/lock")
        # Afterwards, because it may have been removed until then.
        if not os.path.isdir(lib):
            return False
        earlier = f"{self._path}/lib"
        if self._path is not None and earlier in sys.path:
            _refuse_other_versions(earlier, lib)
            sys.path[sys.path.index(earlier)] = lib
        else:
            sys.path.insert(unavailable.place_of_packages(), lib)
        self._path = str(path)
        share_packages(lib, earlier)
        # Python may have looked before the set was there. `importlib.invalidate_caches` would load importlib.metadata,
        # which takes 100 ms in an image without compiled files.
        sys.path_importer_cache.pop(lib, None)
        return True

    def _lock(self, file: str) -> None:
        try:
            import fcntl

            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except (ImportError, OSError):
            return
        for _ in range(_LOCK_ATTEMPTS):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                time.sleep(_LOCK_PAUSE_SECONDS)
            else:
                self._locks.append(descriptor)
                return
        os.close(descriptor)  # The set works without the lock, as long as no one removes it.

    def _explain(self, modules: list[str], error: MCPError) -> None:
        hint = "" if error.hint is None else f" {error.hint}"
        for name in modules:
            unavailable.reasons[name] = f"{error.message.rstrip('.')}.{hint}"


def _this_python() -> str:
    return f"{sys.implementation.cache_tag} {sys.platform} {os.uname().machine}"


def _refuse_other_versions(earlier: str, lib: str) -> None:
    """A loaded package cannot be replaced, and its parts that are loaded later must fit."""
    files = [vars(module).get("__file__") for module in [*sys.modules.values()] if isinstance(module, type(sys))]
    if not any(isinstance(file, str) and file.startswith(f"{earlier}/") for file in files):
        return
    others = {name for name in os.listdir(earlier) if name.endswith(".dist-info")} - {*os.listdir(lib)}
    if others:
        named = ", ".join(sorted(name.removesuffix(".dist-info").replace("-", " ") for name in others)[:_MAX_OTHERS])
        raise MCPError(
            f"this session has loaded packages in other versions than it should have now ({named})",
            "PACKAGE_UNAVAILABLE",
            hint="Start over with runtime.reset().",
        )


def _note_failure(error: MCPError, requirements: list[str]) -> None:
    """Remembers that nothing can be installed, and says what is here instead."""
    from bridge_kernel import near_modules

    if error.data.get("kind") in _OF_ALL_PACKAGES or error.code.startswith("ENGINE_"):
        unavailable.wall = error.message.rstrip(".")
    error.hint = f"{error.hint or ''}{near_modules.offer(requirements)}".strip() or None


def installed_packages() -> str:
    """A line for the manual: the packages that code can import now, at most `_MAX_NAMED`."""
    from importlib import metadata

    # A set comes first in `sys.path`, so its versions count.
    versions: dict[str, str] = {}
    for distribution in metadata.distributions():
        facts = distribution.metadata
        if facts is not None and "Name" in facts and "Version" in facts:  # pyright: ignore[reportUnnecessaryComparison]
            versions.setdefault(facts["Name"].lower(), facts["Version"])
    names = [f"{name} {version}" for name, version in sorted(versions.items()) if name not in _NO_LIBRARIES]
    if not names:
        return ""
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"\n**Packages here now:** {', '.join(names[:_MAX_NAMED])}{more}.\n"


def _imported(tree: ast.Module) -> list[str]:
    """The modules that the cell imports, except where it handles their absence; for `from a import b`, also `a.b`."""
    found: dict[str, None] = {}
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            found.update((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found[node.module] = None
            found.update((f"{node.module}.{alias.name}", None) for alias in node.names)
        elif isinstance(node, ast.Try) and any(_is_absence(handler.type) for handler in node.handlers):
            todo += [*node.orelse, *node.finalbody, *node.handlers]
        elif isinstance(node, ast.If) and _name_of(node.test) == "TYPE_CHECKING":
            todo += node.orelse
        elif isinstance(node, (ast.With, ast.AsyncWith)) and any(_suppresses_absence(item) for item in node.items):
            continue
        elif isinstance(node, (ast.stmt, ast.Module, ast.ExceptHandler)) or type(node).__name__ == "match_case":
            todo += ast.iter_child_nodes(node)
    return list(found)


def _is_absence(caught: ast.expr | None) -> bool:
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(kind is None or _name_of(kind) in _HANDLED for kind in kinds)


def _suppresses_absence(item: ast.withitem) -> bool:
    call = item.context_expr
    return isinstance(call, ast.Call) and _name_of(call.func) == "suppress" and any(map(_is_absence, call.args))


def _name_of(node: ast.expr) -> str:
    """`b` for `b` and `a.b`."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_missing(name: str) -> bool:
    if name in sys.modules or name in sys.stdlib_module_names or name.startswith("mcp_"):
        return False
    for finder in sys.meta_path:
        try:
            if finder.find_spec(name, None) is not None:
                return False
        except Exception:  # noqa: BLE001 Finders explain by raising, and those of users may do anything.
            continue
    return True


def _stated(tree: ast.Module) -> list[str]:
    """The literal arguments of `runtime.install(...)`, so that an import of the cell does not get another version."""
    stated: list[str] = []
    for node in nodes_of(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "install"
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "runtime"
        ):
            constants = [each.value for each in node.args if isinstance(each, ast.Constant)]
            stated += [value for value in constants if isinstance(value, str)]
    return stated


def _script_requirements(code: str) -> list[str]:
    """The dependencies of an inline script header (PEP 723). Raises CheckError if this Python does not fit."""
    match = _SCRIPT.search(code if code.endswith("\n") else f"{code}\n")
    if match is None:
        return []
    lines = match["content"].splitlines()
    text = "\n".join(line[2:] if line.startswith("# ") else line[1:] for line in lines)
    try:
        header = _parse_toml(text)
    except ValueError as error:
        raise CheckError(f"the script header is not valid TOML: {error}", "CHECK_FAILED") from None
    needed = re.match(r"^\s*>=\s*3\.(\d+)", str(header.get("requires-python", "")))
    if needed is not None and sys.version_info[:2] < (3, int(needed[1])):
        version = ".".join(map(str, sys.version_info[:2]))
        raise CheckError(
            f"the script header requires Python {header['requires-python']}; the sandbox has {version}",
            "CHECK_FAILED",
            hint="The user can set MCP_BRIDGE_IMAGE to an image with a newer Python.",
        )
    return [str(each) for each in as_list(header.get("dependencies", []))]


def _parse_toml(text: str) -> dict[str, Any]:
    import importlib

    try:
        tomllib: Any = importlib.import_module("tomllib")
    except ImportError:  # Python 3.10
        pairs = re.findall(r"^(dependencies|requires-python)\s*=\s*(\[[^\]]*\]|\"[^\"]*\")", text, re.MULTILINE)
        return {key: ast.literal_eval(value) for key, value in pairs}
    return tomllib.loads(text)
