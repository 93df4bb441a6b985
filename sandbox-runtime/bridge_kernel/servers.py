"""What the kernel knows about the configured servers: their names, which are loaded, and, once asked for, their tools.

No user code sees these objects; `proxies.py` and `discovery.py` are written in terms of them.
"""

from __future__ import annotations

from bridge_kernel.errors import ServerNotAvailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TypedDict

    class Host(Protocol):
        """The way to the host. The methods raise `MCPError`."""

        async def call(self, method: str, params: dict[str, object], timeout: float | None = None) -> object:
            """Asks the host and waits on the running loop."""
            ...

        def send(self, frame: dict[str, object]) -> None:
            """Tells the host something that has no answer."""
            ...

        def call_sync(self, method: str, params: dict[str, object], timeout: float | None = None) -> object:
            """Asks the host and blocks this thread, whichever it is."""
            ...

    class _ServerName(TypedDict):
        name: str
        alias: str

    class ServerRef(_ServerName, total=False):
        """A server as the `execute` frame names it; `description` may be missing."""

        description: str

    class ToolInfo(TypedDict, total=False):
        """A tool as the host describes it."""

        name: str
        alias: str
        description: str
        input_schema: dict[str, Any]
        parameter_aliases: dict[str, str]


_MAX_NEAR = 3
_MIN_PART = 2
"""Parts of names up to this length are in too many names to mean one."""


class ServerState:
    """One configured server."""

    def __init__(self, host: Host, reference: ServerRef) -> None:
        self.host = host
        self.name = reference["name"]
        self.alias = reference["alias"]
        self.description = reference.get("description", "")
        self.is_loaded = False
        self.tools: list[ToolInfo] | None = None
        """The tools, once they were asked for in this cell."""
        self.proxy: object = None
        """What user code holds of this server; made by `proxies.proxy_of`."""

    async def fetch_tools(self) -> list[ToolInfo]:
        """The tools, asked of the host once per cell."""
        if self.tools is None:
            self.keep_tools(await self.host.call("list_tools", {"server": self.name}))
        return self.tools or []

    def fetch_tools_sync(self) -> list[ToolInfo]:
        """As `fetch_tools`, blocking this thread."""
        if self.tools is None:
            self.keep_tools(self.host.call_sync("list_tools", {"server": self.name}))
        return self.tools or []

    def keep_tools(self, tools: object) -> None:
        """Remembers a tool list of the host until the next cell."""
        self.tools = tools if isinstance(tools, list) else []

    def no_such_tool(self, name: str, tools: list[ToolInfo] | None = None) -> str:
        """The message for a tool that a known list does not hold: `tools`, or the one that was asked for."""
        near = close_names(name, [alias_of(tool) for tool in tools or self.tools or []])
        return f"mcp_{self.alias} has no tool {name!r}.{near}"


class Registry:
    """Every server of the configuration, in its order."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._servers: dict[str, ServerState] = {}

    def update(self, loaded: list[ServerRef], discovered: list[ServerRef] | None) -> None:
        """Takes over the lists of an `execute` frame; `discovered` is None when it did not change."""
        if discovered is not None:
            kept = self._servers
            self._servers = {ref["name"]: self._taken_over(kept.get(ref["name"]), ref) for ref in discovered}
        for reference in loaded:
            if reference["name"] not in self._servers:
                self._servers[reference["name"]] = ServerState(self.host, reference)
        names = {reference["name"] for reference in loaded}
        for server in self._servers.values():
            server.is_loaded = server.name in names
            server.tools = None

    def _taken_over(self, server: ServerState | None, reference: ServerRef) -> ServerState:
        if server is None or server.alias != reference["alias"]:
            return ServerState(self.host, reference)
        server.description = reference.get("description", "")
        return server

    def all(self) -> list[ServerState]:
        """Every configured server."""
        return list(self._servers.values())

    def may_call(self, server: ServerState) -> bool:
        """Whether code may call the tools of that server now."""
        return server.is_loaded

    def loaded(self) -> list[ServerState]:
        """The servers whose tools may be called."""
        return [server for server in self._servers.values() if server.is_loaded]

    def find(self, name: str) -> ServerState | None:
        """The server of that name or alias: as written, else in any case."""
        folded = name.casefold()
        for server in self._servers.values():
            if name in (server.name, server.alias):
                return server
        for server in self._servers.values():
            if folded in (server.name.casefold(), server.alias.casefold()):
                return server
        return None

    def not_available(self, name: str) -> ServerNotAvailableError:
        """What naming a server raises that is not loaded, or not configured at all."""
        server = self.find(name)
        message = f"Server '{name}' is not available"
        if server is not None:
            hint = f"Call run_python again with servers=['{server.name}']."
            return ServerNotAvailableError(message, "SERVER_NOT_AVAILABLE", hint)
        names = [known.name for known in self.all()]
        known = f"Configured: {', '.join(names)}." if names else "No server is configured."
        return ServerNotAvailableError(message, "SERVER_UNKNOWN", f"{close_names(name, names)} {known}".strip())


def alias_of(tool: ToolInfo) -> str:
    """The tool's name as a Python identifier."""
    return tool.get("alias", "")


def find_tool(tools: list[ToolInfo], name: str) -> ToolInfo | None:
    """The tool of that name or alias: as written, else in any case."""
    for tool in tools:
        if name in (tool.get("name"), tool.get("alias")):
            return tool
    folded = name.casefold()
    for tool in tools:
        if folded in (tool.get("name", "").casefold(), tool.get("alias", "").casefold()):
            return tool
    return None


def close_names(name: str, known: list[str]) -> str:
    """`" Did you mean 'a' or 'b'?"` for the known names nearest to `name`, or an empty text."""
    import difflib

    folded = name.casefold()
    by_folded = {candidate.casefold(): candidate for candidate in known}
    longer = [candidate for candidate in by_folded if len(folded) > _MIN_PART and folded in candidate]
    near = difflib.get_close_matches(folded, by_folded, n=_MAX_NEAR, cutoff=0.6)
    found = list(dict.fromkeys(near + longer))[:_MAX_NEAR]
    return f" Did you mean {' or '.join(repr(by_folded[match]) for match in found)}?" if found else ""
