"""What the kernel knows about the configured servers: their names, which are loaded, and, once asked for, their tools.

No user code sees these objects; `proxies.py` and `discovery.py` are written in terms of them.
"""

from __future__ import annotations

from bridge_kernel.errors import ServerNotAvailableError
from bridge_kernel.near import close_names
from bridge_kernel.specs import ToolSpec
from bridge_kernel.values import as_dict, as_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any, Protocol, TypedDict

    class Host(Protocol):
        """The way to the host. The methods raise `MCPError`."""

        async def call(
            self,
            method: str,
            params: dict[str, object],
            timeout: float | None = None,
            on_progress: Callable[[dict[str, object]], None] | None = None,
        ) -> object:
            """Asks the host and waits on the running loop, at most `timeout` seconds."""
            ...

        def send(self, frame: dict[str, object]) -> None:
            """Tells the host something that has no answer."""
            ...

        def call_sync(
            self,
            method: str,
            params: dict[str, object],
            timeout: float | None = None,
            on_progress: Callable[[dict[str, object]], None] | None = None,
        ) -> object:
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


class ServerState:
    """One configured server."""

    def __init__(self, host: Host, reference: ServerRef) -> None:
        self.host = host
        self.name = reference["name"]
        self.alias = reference["alias"]
        self.description = reference.get("description", "")
        self.is_loaded = False
        self.may_load = False
        """Whether its first call loads it."""
        self.tools: list[ToolInfo] | None = None
        """The tools, once they were asked for in this cell."""
        self._specs: dict[str, ToolSpec | None] = {}
        self._older_specs: dict[str, ToolSpec | None] = {}
        self._asking: dict[str, asyncio.Task[ToolSpec | None]] = {}
        self.proxy: object = None
        """What user code holds of this server; made by `proxies.proxy_of`."""

    async def fetch_tools(self) -> list[ToolInfo]:
        """The tools, asked of the host once per cell."""
        if self.tools is None:
            self.keep_tools(await self.host.call("list_tools", {"server": self.name}))
        return self.tools or []

    @property
    def is_callable(self) -> bool:
        """Whether code may call its tools now."""
        return self.is_loaded or self.may_load

    def fetch_tools_sync(self) -> list[ToolInfo]:
        """As `fetch_tools`, blocking this thread."""
        if self.tools is None:
            self.keep_tools(self.host.call_sync("list_tools", {"server": self.name}))
        return self.tools or []

    def keep_tools(self, tools: object) -> None:
        """Remembers a tool list of the host until the next cell."""
        self.tools = tools if isinstance(tools, list) else []

    def begin_cell(self) -> None:
        """What was learned so far may be out of date: a server can change its tools between two cells."""
        self.tools = None
        self._older_specs.update(self._specs)
        self._specs.clear()

    def spec_of(self, tool: str) -> ToolSpec | None:
        """How a tool looks, if that was asked for already in this session; the tool is named as it was then."""
        return self._specs.get(tool) or self._older_specs.get(tool)

    def is_fresh(self, tool: str) -> bool:
        """Whether the tool was asked for in this cell."""
        return tool in self._specs

    async def fetch_spec(self, tool: str) -> ToolSpec | None:
        """How a tool looks now, asked of the host once per cell; None when the server lists no such tool."""
        import asyncio

        if tool in self._specs:
            return self._specs[tool]
        # One question for all that wait for it; one that is cancelled leaves it to the others.
        asking = self._asking.get(tool)
        if asking is None or asking.done() or asking.get_loop() is not asyncio.get_running_loop():
            asking = self._asking[tool] = asyncio.ensure_future(self._ask_spec(tool))
        return await asyncio.shield(asking)

    async def fetch_specs(self, tools: list[str], timeout: float, fresh: bool = False) -> dict[str, ToolSpec | None]:
        """How several tools look, in one question; None for those that the server does not list.

        Those that were asked for before are known, unless `fresh` wants the running server to be asked.
        """
        wanted = tools if fresh else [tool for tool in tools if self.spec_of(tool) is None]
        if wanted:
            params = {**self._spec_params(wanted), "fresh": fresh}
            answer = as_list(await self.host.call("tool_specs", params, timeout))
            for tool, facts in zip(wanted, answer, strict=False):
                # One that is missing now is asked for again by its call: the cell may have changed the server.
                self._older_specs.pop(tool, None)
                if facts:
                    self._specs[tool] = ToolSpec(as_dict(facts), self.name)
                else:
                    self._specs.pop(tool, None)
        return {tool: self.spec_of(tool) for tool in tools}

    async def _ask_spec(self, tool: str) -> ToolSpec | None:
        try:
            return self._keep_spec(tool, await self.host.call("tool_specs", self._spec_params([tool])))
        finally:
            self._asking.pop(tool, None)

    def fetch_spec_sync(self, tool: str) -> ToolSpec | None:
        """As `fetch_spec`, blocking this thread."""
        if tool not in self._specs:
            self._keep_spec(tool, self.host.call_sync("tool_specs", self._spec_params([tool])))
        return self._specs[tool]

    def _spec_params(self, tools: list[str]) -> dict[str, object]:
        return {"server": self.name, "tools": tools}

    def _keep_spec(self, tool: str, answer: object) -> ToolSpec | None:
        facts = next(iter(as_list(answer)), None)
        spec = ToolSpec(as_dict(facts), self.name) if facts else None
        self._specs[tool] = spec
        return spec

    def no_such_tool(self, name: str, known: list[str] | None = None) -> str:
        """The message for a tool that a list does not hold: `known`, aliases, or the list that was asked for."""
        near = close_names(name, [alias_of(tool) for tool in self.tools or []] if known is None else known)
        return f"mcp_{self.alias} has no tool {name!r}.{near}"


class Registry:
    """Every server of the configuration, in its order."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.autoload = False
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
            server.may_load = self.autoload
            server.begin_cell()

    def _taken_over(self, server: ServerState | None, reference: ServerRef) -> ServerState:
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
