"""Resolves the names in a cell without running it.

Values of earlier cells count: a name has the value in the live namespace. A name that the cell itself binds is known
only if the single binding is a plain statement at the top level. Any other binding makes it unknown in the whole cell,
because a false alarm is worse than a missed mistake.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from bisect import bisect_left, insort
from types import MethodType

from bridge_kernel.discovery import Runtime
from bridge_kernel.mcp_package import SERVERS_PREFIX, Package, ServerModule, ServersModule, state_of_module
from bridge_kernel.proxies import Server, Servers, Tool, place_of, proxy_of, state_of
from bridge_kernel.surface import METHODS
from bridge_kernel.syntax_nodes import names_bound_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge_kernel.servers import Registry, ServerState

_IDENTIFIER = re.compile(r"(?<![\w.])([^\W\d]\w*)([.\[(]?)")
_DEFINES = re.compile(r"(?:def|class)\s+\Z")
_PROXIES = (Server, Tool, Runtime, Servers, ServerModule, ServersModule, Package)


class ToolRef:
    """A tool that an expression names; `is_sync` for its `.sync`, `is_options` for its `.with_options`."""

    __slots__ = ("is_options", "is_sync", "name", "state")

    def __init__(self, state: ServerState, name: str, kind: str = "") -> None:
        self.state = state
        self.name = name
        self.is_sync = kind == "sync"
        self.is_options = kind == "with_options"

    def label(self) -> str:
        """The tool as written in code."""
        proxy = f"mcp_{self.state.alias}"
        return f"{proxy}.{self.name}" if self.name.isidentifier() else f"{proxy}[{self.name!r}]"


class HelperRef:
    """A helper of `runtime` that an expression names."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class MissingServer:
    """A server that is named but not configured or, if looked up in `mcp_servers`, not loaded."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class PendingCall:
    """The value of an unawaited call. `subject` is what it belongs to: a server's state or a class."""

    __slots__ = ("label", "subject")

    def __init__(self, label: str, subject: object) -> None:
        self.label = label
        self.subject = subject


class Names:
    """The names of one cell. `hits` are the numbers of the lines with a name worth checking, sorted."""

    def __init__(self, tree: ast.Module, code: str, namespace: dict[str, object], registry: Registry) -> None:
        self._tree = tree
        self._namespace = namespace
        self._registry = registry
        self._aliases: dict[str, object] = {}
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", code))]
        self._places: dict[str, list[int]] = {}
        self.words: set[str] = set()
        self.hits: list[int] = []
        self._unsure = self._scan(code)

    def _scan(self, code: str) -> set[str]:
        """Finds the lines with names worth checking; returns the names that the cell may bind."""
        maybe_bound: set[str] = set()
        for match in _IDENTIFIER.finditer(code):
            name = match[1]
            self._places.setdefault(name, []).append(match.start())
            if (not match[2] and self._is_interesting(name)) or (
                match[2] == "(" and _DEFINES.search(code[max(0, match.start() - 8) : match.start()])
            ):
                maybe_bound.add(name)
        self.words = set(self._places)
        for name in self._places:
            if self._is_interesting(name):
                self._mark(name)
        return maybe_bound

    def _is_interesting(self, name: str) -> bool:
        if name.startswith("mcp"):
            return True
        value = self._namespace.get(name)
        return isinstance(value, _PROXIES) or (type(value) is MethodType and isinstance(value.__self__, Runtime))

    def _mark(self, name: str) -> None:
        for place in self._places.get(name, ()):
            line = bisect_left(self._starts, place + 1)
            at = bisect_left(self.hits, line)
            if at == len(self.hits) or self.hits[at] != line:
                insort(self.hits, line)

    def is_on(self, first_line: int, last_line: int) -> bool:
        """Whether one of these lines has a name worth checking."""
        at = bisect_left(self.hits, first_line)
        return at < len(self.hits) and self.hits[at] <= last_line

    def bind(self, name: str, value: object) -> bool:
        """Records that the top level binds the name to a known value. False if this is not its only binding."""
        if value is None or not self.binds_once(name):
            return False
        self._aliases[name] = value
        self._mark(name)
        return True

    def is_shadowed(self, name: str) -> bool:
        """Whether this cell may redefine the builtin of this name."""
        return name in self._namespace or self.is_bound(name)

    def is_bound(self, name: str) -> bool:
        """Whether the cell binds the name at all."""
        return name in names_bound_in(self._tree)

    def binds_once(self, name: str) -> bool:
        """Whether the cell binds the name exactly once."""
        return names_bound_in(self._tree).get(name) == 1

    def resolve(self, node: ast.expr) -> object:
        """What an expression refers to: a proxy, one of the classes above, or None if unknown."""
        if isinstance(node, ast.Name):
            return self._lookup(node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(self.resolve(node.value), node.attr)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            key = node.slice.value
            return self._item(self.resolve(node.value), key) if isinstance(key, str) else None
        if isinstance(node, ast.Call):
            called = self.resolve(node.func)
            if isinstance(called, ToolRef) and called.is_options:
                return ToolRef(called.state, called.name)
        return None

    def _lookup(self, name: str) -> object:
        if name in self._aliases:
            return self._aliases[name]
        if name in self._unsure and self.is_bound(name):
            return None
        if name not in self._namespace:
            # Also `mcp__server__tool`, as other tools call it.
            server = name.removeprefix("mcp_").lstrip("_").partition("__")[0]
            is_missing = name.startswith("mcp_") and server and not hasattr(builtins, name)
            return MissingServer(server) if is_missing else None
        value = self._namespace[name]
        if isinstance(value, Tool):
            return ToolRef(*place_of(value))
        if type(value) is MethodType and isinstance(value.__self__, Runtime):
            return HelperRef(value.__name__)
        return value if isinstance(value, _PROXIES) else None

    def _attribute(self, base: object, name: str) -> object:
        if name.startswith("__") or base is None:
            return None
        if isinstance(base, Server):
            return None if name in vars(base) else ToolRef(state_of(base), name)
        if isinstance(base, ServerModule):
            is_tool = name not in ("TOOLS", "TOOL_MAP") and name not in vars(base)
            return ToolRef(state_of_module(base), name) if is_tool else None
        if isinstance(base, ToolRef):
            if base.name == "server" and name in METHODS:
                return ToolRef(base.state, name)
            is_call = name in ("sync", "with_options") and not (base.is_sync or base.is_options)
            return ToolRef(base.state, base.name, name) if is_call else None
        if isinstance(base, Runtime):
            return None if name in vars(base) else HelperRef(name)
        if isinstance(base, ServersModule):
            return self.server_module(name)
        return self._in_package(base, name) if isinstance(base, Package) else None

    def _in_package(self, package: Package, name: str) -> object:
        value = package.find(name)
        if type(value) is MethodType:
            return HelperRef(value.__name__)
        return value if isinstance(value, _PROXIES) else None

    def _item(self, base: object, key: str) -> object:
        if isinstance(base, Server):
            return ToolRef(state_of(base), key)
        if isinstance(base, Servers):
            state = self._registry.find(key)
            return MissingServer(key) if state is None or not state.is_callable else proxy_of(state)
        return None

    def lacks(self, name: str) -> bool:
        """Whether the `mcp` package has no such name."""
        package = sys.modules.get("mcp")
        return isinstance(package, Package) and package.find(name) is None

    def server_module(self, alias: str) -> object:
        """The module `mcp.servers.<alias>`, or a `MissingServer`."""
        state = self._registry.find(alias)
        return MissingServer(alias) if state is None else sys.modules.get(SERVERS_PREFIX + state.alias)

    def imported(self, module: str) -> object:
        """The module that `import module` returns, for the `mcp` package and its submodules; None for any other."""
        if module in ("mcp", "mcp.runtime", "mcp.servers"):
            return sys.modules.get(module)
        if module.startswith("mcp_"):
            state = self._registry.find(module.removeprefix("mcp_"))
            return None if state is None else proxy_of(state)
        return self.server_module(module.removeprefix(SERVERS_PREFIX)) if module.startswith(SERVERS_PREFIX) else None

    def member(self, module: str, name: str) -> object:
        """The same for `from module import name`."""
        return self._attribute(self.imported(module), name)
