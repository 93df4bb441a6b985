"""The `mcp` package: `mcp.runtime`, `mcp.servers`, and one module for each configured server.

It exists only in memory, and hides a package of that name in the image.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from bridge_kernel.attr_dict import attribute_access
from bridge_kernel.proxies import proxy_of, star_names
from bridge_kernel.servers import alias_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge_kernel.servers import Registry, ServerState

SERVERS_PREFIX = "mcp.servers."
"""The prefix of a server's module name, before the alias."""


NOT_THE_SDK = (
    "this is not the MCP SDK, because the bridge is connected to the servers already; "
    "call a tool with 'await mcp_<server>.<tool>(...)'"
)
"""Says what to write instead of a client of one's own."""


class ServerModule(ModuleType):
    """`mcp.servers.<alias>`: the tools of a server as names, `TOOLS` (dicts) and `TOOL_MAP` (name to tool)."""

    def __init__(self, state: ServerState) -> None:
        super().__init__(module_name(state), state.description)
        self.__spec__ = ModuleSpec(self.__name__, None)
        self._state = state

    def __getattr__(self, name: str) -> object:
        if name == "__all__":
            aliases = [alias_of(tool) for tool in self._state.fetch_tools_sync()]
            # Both spellings: aliases keep the tool's case, and programs may write them in lower case.
            names = dict.fromkeys([*aliases, *(alias.lower() for alias in aliases)])
            return ["TOOLS", "TOOL_MAP", *star_names(self._state, list(names))]
        if name.startswith("__"):
            raise AttributeError(name)
        proxy = proxy_of(self._state)
        if name == "TOOLS":
            return attribute_access(list(self._state.fetch_tools_sync()))
        if name == "TOOL_MAP":
            return {tool.get("name", ""): proxy[tool.get("name", "")] for tool in self._state.fetch_tools_sync()}
        return getattr(proxy, name)

    def __dir__(self) -> list[str]:
        return ["TOOLS", "TOOL_MAP", *dir(proxy_of(self._state))]


def state_of_module(module: ServerModule) -> ServerState:
    """The state of the module's server. A function, because any attribute of the module may be a tool."""
    return module._state  # pyright: ignore[reportPrivateUsage] # noqa: SLF001


class Package(ModuleType):
    """`mcp`: `runtime` and `servers`; also each server and helper by its own name, as in `mcp.github`."""

    def __init__(self, registry: Registry, runtime: ModuleType, servers: ServersModule) -> None:
        super().__init__("mcp", "The MCP servers of this session: mcp.runtime and mcp.servers.")
        self.__path__ = []
        self.runtime = runtime
        self.servers = servers
        self._registry = registry

    def find(self, name: str) -> object:
        """What `mcp.<name>` is; None if there is nothing of that name."""
        if name in ("runtime", "servers"):
            return vars(self)[name]
        state = self._registry.find(name)
        if state is not None:
            return proxy_of(state)
        return getattr(self.runtime, name) if name in (*self.runtime.__all__, "help") else None

    def __getattr__(self, name: str) -> object:
        found = None if name.startswith("_") else self.find(name)
        if found is None:
            raise AttributeError(f"mcp has no {name!r}: {NOT_THE_SDK}" if not name.startswith("_") else name)
        return found


class ServersModule(ModuleType):
    """`mcp.servers`: one module for each configured server."""

    def __init__(self, registry: Registry) -> None:
        super().__init__("mcp.servers", "One module for each configured MCP server.")
        # Makes this a package, so that `mcp.servers.<alias>` can be imported, but never from disk.
        self.__path__ = []
        self._registry = registry

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        state = self._registry.find(name)
        if state is None:
            raise AttributeError(str(self._registry.not_available(name)))
        return sys.modules[SERVERS_PREFIX + state.alias]

    def __dir__(self) -> list[str]:
        return [state.alias for state in self._registry.all()]


class MissingServerFinder:
    """Lists the configured servers in the error for an unknown `mcp.servers.<alias>`, and explains other modules."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if not name.startswith("mcp."):
            return
        if not name.startswith(SERVERS_PREFIX):
            raise ModuleNotFoundError(f"No module named {name!r}: {NOT_THE_SDK}", name=name)
        wanted = name.removeprefix(SERVERS_PREFIX)
        state = self._registry.find(wanted)
        if state is None:
            raise ModuleNotFoundError(str(self._registry.not_available(wanted)), name=name)
        raise ModuleNotFoundError(f"no module {name!r}; import {module_name(state)!r}", name=name)


def install_package(registry: Registry, runtime: ModuleType) -> None:
    """Adds the package to `sys.modules`; modules of servers follow once the servers are known."""
    servers = ServersModule(registry)
    package = Package(registry, runtime, servers)
    for module in (package, runtime, servers):
        # Libraries look for optional packages with `importlib.util.find_spec`, which fails on a module without a spec.
        module.__spec__ = ModuleSpec(module.__name__, None, is_package=module is not runtime)
        sys.modules[module.__name__] = module
    sys.meta_path.insert(0, MissingServerFinder(registry))


def module_name(state: ServerState) -> str:
    """The name of the module that holds a server's tools."""
    return SERVERS_PREFIX + state.alias
