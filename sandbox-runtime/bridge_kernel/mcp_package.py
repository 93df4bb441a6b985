"""The names that user code finds ready: `runtime`, `mcp_servers`, `mcp_<alias>`, and the package `mcp`.

The package exists in memory only; where the image holds a package of that name, ours is the one the session sees.
"""

from __future__ import annotations

import sys

from .discovery import Runtime
from .proxies import Servers, proxy_of
from .saved_tools import define_saved_tools
from .servers import Registry, alias_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .saved_tools import SavedTool
    from .servers import Host, ServerRef, ServerState

_ModuleType = type(sys)
_PREFIX = "mcp.servers."


class ServerModule(_ModuleType):
    """`mcp.servers.<alias>`: the tools of a server as names, `TOOLS` (dicts) and `TOOL_MAP` (name to tool)."""

    def __init__(self, state: ServerState) -> None:
        super().__init__(_PREFIX + state.alias, state.description)
        self._state = state

    def __getattr__(self, name: str) -> object:
        if name == "__all__":
            return ["TOOLS", "TOOL_MAP", *(alias_of(tool) for tool in self._state.fetch_tools_sync())]
        if name.startswith("__"):
            raise AttributeError(name)
        proxy = proxy_of(self._state)
        if name == "TOOLS":
            return list(self._state.fetch_tools_sync())
        if name == "TOOL_MAP":
            return {tool.get("name", ""): proxy[tool.get("name", "")] for tool in self._state.fetch_tools_sync()}
        return getattr(proxy, name)

    def __dir__(self) -> list[str]:
        return ["TOOLS", "TOOL_MAP", *dir(proxy_of(self._state))]


class ServersModule(_ModuleType):
    """`mcp.servers`: one module for each configured server."""

    def __init__(self, registry: Registry) -> None:
        super().__init__("mcp.servers", "One module for each configured MCP server.")
        # A package: `mcp.servers.<alias>` is looked up below it, and never on disk.
        self.__path__: list[str] = []
        self._registry = registry

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        state = self._registry.find(name)
        if state is None:
            raise AttributeError(str(self._registry.not_available(name)))
        return sys.modules[_PREFIX + state.alias]

    def __dir__(self) -> list[str]:
        return [state.alias for state in self._registry.all()]


class _MissingServerFinder:
    """Says which servers there are when `mcp.servers.<alias>` is imported for one that is not configured."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.startswith(_PREFIX):
            raise ModuleNotFoundError(str(self._registry.not_available(name.removeprefix(_PREFIX))), name=name)


class Api:
    """What a session offers to its code. `install` comes once, `update` before each cell."""

    def __init__(self, host: Host, namespace: dict[str, object]) -> None:
        self._registry = Registry(host)
        self._namespace = namespace
        self._bound: dict[str, object] = {}

    def install(self, capability_summary: str = "") -> None:
        """Predefines the names and the package `mcp`; the text is that of `runtime.capability_summary()`."""
        runtime = Runtime(self._registry, self._namespace, capability_summary)
        servers = ServersModule(self._registry)
        package = _ModuleType("mcp", "The MCP servers of this session: mcp.runtime and mcp.servers.")
        package.__dict__.update(__path__=[], runtime=runtime, servers=servers)
        sys.modules.update({"mcp": package, "mcp.runtime": runtime, "mcp.servers": servers})
        sys.meta_path.insert(0, _MissingServerFinder(self._registry))  # pyright: ignore[reportArgumentType]
        self._bind("runtime", runtime)
        self._bind("save_tool", runtime.save_tool)
        self._bind("mcp_servers", Servers(self._registry))
        self._bind("LOADED_MCP_SERVERS", ())

    def update(self, servers: list[ServerRef], discovered: list[ServerRef] | None) -> None:
        """Takes over the servers of an `execute` frame: those loaded, and, when they changed, all configured ones."""
        before = self._registry.all()
        self._registry.update(servers, discovered)
        states = self._registry.all()
        for state in before:
            if state not in states:
                self._unbind(f"mcp_{state.alias}")
                sys.modules.pop(_PREFIX + state.alias, None)
        for state in states:
            sys.modules.setdefault(_PREFIX + state.alias, ServerModule(state))
            self._bind(f"mcp_{state.alias}", proxy_of(state))
        self._bind("LOADED_MCP_SERVERS", tuple(state.name for state in self._registry.loaded()))

    def define_saved_tools(self, tools: list[SavedTool]) -> None:
        """Defines the functions that earlier sessions saved; one that fails is named on stderr."""
        define_saved_tools(tools, self._namespace)

    def owns(self, name: str) -> bool:
        """Whether the top-level name still has the value it was given here, so that it is not the user's."""
        return name in self._bound and self._namespace.get(name) is self._bound[name]

    def _bind(self, name: str, value: object) -> None:
        """Sets a name unless the user has given it another value; a name the user deleted comes back."""
        if name not in self._namespace or self.owns(name):
            self._namespace[name] = value
            self._bound[name] = value

    def _unbind(self, name: str) -> None:
        if self.owns(name):
            del self._namespace[name]
        self._bound.pop(name, None)
