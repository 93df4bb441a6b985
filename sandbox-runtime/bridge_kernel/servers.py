"""The kernel's view of the configured servers: their names, which are loaded, and, once requested, their tools.

User code never sees these objects; `proxies.py` and `discovery.py` are built on them.
"""

from __future__ import annotations

from bridge_kernel import unavailable
from bridge_kernel.errors import ServerNotAvailableError
from bridge_kernel.near import close_names
from bridge_kernel.server_specs import ServerSpecs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol, TypedDict

    class Host(Protocol):
        """The connection to the host. Its methods raise `MCPError`."""

        stray_calls: int
        """Calls of threads that do not say which step or job they belong to."""

        async def call(
            self,
            method: str,
            params: dict[str, object],
            timeout: float | None = None,
            on_progress: Callable[[dict[str, object]], None] | None = None,
        ) -> object:
            """Sends a call and awaits the answer in the running loop, at most `timeout` seconds."""
            ...

        def send(self, frame: dict[str, object]) -> None:
            """Sends a frame that has no answer."""
            ...

        def call_sync(
            self,
            method: str,
            params: dict[str, object],
            timeout: float | None = None,
            on_progress: Callable[[dict[str, object]], None] | None = None,
        ) -> object:
            """Sends a call and blocks the current thread until the answer arrives."""
            ...

    class _ServerName(TypedDict):
        name: str
        alias: str

    class ServerRef(_ServerName, total=False):
        """A server, as in the `execute` frame; `description` may be missing."""

        description: str

    class ToolInfo(TypedDict, total=False):
        """A tool as the host describes it."""

        name: str
        alias: str
        description: str
        input_schema: dict[str, Any]
        parameter_aliases: dict[str, str]


class ServerState:
    """One configured server."""

    def __init__(self, host: Host, reference: ServerRef) -> None:
        self.host = host
        self.name = reference["name"]
        self.alias = reference["alias"]
        self.description = reference.get("description", "")
        self.is_loaded = False
        self.may_load = False
        """Whether its first call loads the server."""
        self.tools: list[ToolInfo] | None = None
        """The tools, if they were requested in this cell."""
        self.specs = ServerSpecs(host, self.name)
        self.proxy: object = None
        """The proxy in user code, created by `proxies.proxy_of`."""

    async def fetch_tools(self) -> list[ToolInfo]:
        """The tools, fetched from the host once per cell."""
        if self.tools is None:
            self.keep_tools(await self.host.call("list_tools", {"server": self.name}))
        return self.tools or []

    @property
    def is_callable(self) -> bool:
        """Whether code may call its tools now."""
        return self.is_loaded or self.may_load

    def fetch_tools_sync(self) -> list[ToolInfo]:
        """Like `fetch_tools`, but blocks this thread."""
        if self.tools is None:
            self.keep_tools(self.host.call_sync("list_tools", {"server": self.name}))
        return self.tools or []

    def keep_tools(self, tools: object) -> None:
        """Keeps a tool list from the host until the next cell."""
        self.tools = tools if isinstance(tools, list) else []

    def begin_cell(self) -> None:
        """Forgets the tools: a server can change them between two cells."""
        self.tools = None
        self.specs.begin_cell()

    def no_such_tool(self, name: str, known: list[str] | None = None) -> str:
        """The message for a tool missing from a list: from the aliases in `known`, or from the fetched tools."""
        near = close_names(name, [alias_of(tool) for tool in self.tools or []] if known is None else known)
        listing = f"await runtime.query_tool_docs({self.name!r}) lists its tools."
        return f"mcp_{self.alias} has no tool {name!r}.{near} {listing}"


class Registry:
    """All configured servers, in the order of the configuration."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.autoload = False
        self._servers: dict[str, ServerState] = {}
        self.words: frozenset[str] = frozenset()
        """Names and aliases of the servers, without case: tells fast that a word names none of them."""

    def update(self, loaded: list[ServerRef], discovered: list[ServerRef] | None) -> None:
        """Applies the lists of an `execute` frame; `discovered` is None if it did not change."""
        if discovered is not None:
            kept = self._servers
            self._servers = {ref["name"]: self._updated(kept.get(ref["name"]), ref) for ref in discovered}
        missing = [reference for reference in loaded if reference["name"] not in self._servers]
        self._servers.update((reference["name"], ServerState(self.host, reference)) for reference in missing)
        names = {reference["name"] for reference in loaded}
        if discovered is not None or missing:
            self.words = frozenset(word.casefold() for one in self.all() for word in (one.name, one.alias))
        for server in self._servers.values():
            server.is_loaded = server.name in names
            server.may_load = self.autoload
            server.begin_cell()

    def _updated(self, server: ServerState | None, reference: ServerRef) -> ServerState:
        if server is None or server.alias != reference["alias"]:
            return ServerState(self.host, reference)
        server.description = reference.get("description", "")
        return server

    def all(self) -> list[ServerState]:
        """Every configured server."""
        return list(self._servers.values())

    def loaded(self) -> list[ServerState]:
        """The servers whose tools may be called."""
        return [server for server in self._servers.values() if server.is_loaded]

    def find(self, name: str) -> ServerState | None:
        """The server with this name or alias; an exact match first, then ignoring case."""
        folded = name.casefold()
        if folded not in self.words:
            return None
        for server in self._servers.values():
            if name in (server.name, server.alias):
                return server
        for server in self._servers.values():
            if folded in (server.name.casefold(), server.alias.casefold()):
                return server
        return None

    def not_available(self, name: str) -> ServerNotAvailableError:
        """The error for a server that is not loaded or not configured."""
        server = self.find(name)
        if server is not None and server.is_callable:
            hint = f"The server is loaded; in Python it is mcp_{server.alias}."
            return ServerNotAvailableError(f"no server is called '{name}' in Python", "SERVER_NOT_AVAILABLE", hint)
        if server is not None:
            message = f"Server '{server.name}' is not available: it is not loaded in this session"
            hint = f"Call run_python again with servers=['{server.name}']."
            return ServerNotAvailableError(message, "SERVER_NOT_AVAILABLE", hint)
        names = [known.name for known in self.all()]
        known = f"Configured: {', '.join(names)}." if names else no_server()
        hint = f"{close_names(name, names)} {known}".strip()
        return ServerNotAvailableError(f"no server '{name}' is configured", "SERVER_UNKNOWN", hint)


def no_server() -> str:
    """Shown instead of server names if there are none."""
    return (
        f"No server is configured. The user can add one with '{unavailable.command} servers add NAME -- COMMAND', or "
        f"import those of an MCP client with '{unavailable.command} install CLIENT --import'. Code also runs without "
        "servers."
    )


def alias_of(tool: ToolInfo) -> str:
    """The tool's name as a Python identifier."""
    return tool.get("alias", "")


def find_tool(tools: list[ToolInfo], name: str) -> ToolInfo | None:
    """The tool with this name or alias; an exact match first, then ignoring case."""
    for tool in tools:
        if name in (tool.get("name"), tool.get("alias")):
            return tool
    folded = name.casefold()
    for tool in tools:
        if folded in (tool.get("name", "").casefold(), tool.get("alias", "").casefold()):
            return tool
    return None
