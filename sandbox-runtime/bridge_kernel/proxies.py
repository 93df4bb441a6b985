"""The `mcp_<alias>` objects in user code: servers and their tools.

Nothing is fetched until it is needed. The first call of a tool asks the host for its parameters, so that arguments are
checked before they are sent; later calls reuse them. Only `dir()`, iteration and `import *` fetch the whole tool list.
"""

from __future__ import annotations

import builtins
import sys

from bridge_kernel.call_options import CallOptions
from bridge_kernel.errors import MCPError
from bridge_kernel.pending import Pending, calling_line
from bridge_kernel.schema_values import is_object
from bridge_kernel.servers import alias_of, find_tool
from bridge_kernel.surface import METHODS, Method
from bridge_kernel.values import as_dict, to_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from inspect import Signature
    from typing import Any

    from bridge_kernel.call_options import OnProgress
    from bridge_kernel.servers import Registry, ServerState, ToolInfo


_NO_OPTIONS = CallOptions()
_NEXT_PAGE = "bridge/next-page"
"""The member of `_meta` in which the host says how the next page is got (`next-page-meta.ts`)."""
_PREDEFINED = ("runtime", "display", "save_tool", "mcp_servers", "mcp")


class Server:
    """One configured server. Its attributes are its tools; `server["tool-name"]` accepts any spelling of the name.

    The methods of `surface.METHODS` are attributes too, unless a tool has the same name; `server` always has them.
    """

    __module__ = "mcp.servers"

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._made: dict[str, Tool] = {}

    def __getattr__(self, name: str) -> Tool:
        if name == "__all__":
            return star_names(self._state, dir(self))  # pyright: ignore[reportReturnType]
        # Python and libraries (copy, pickle, inspect) probe for dunder names; no tool has one.
        if name.startswith("__") or name == "_state":
            raise AttributeError(name)
        if name == "server":
            return Surface(self._state, name)
        if name in METHODS:
            return MethodOrTool(self._state, name)
        return self._tool_proxy(name, AttributeError)

    def __getitem__(self, name: str) -> Tool:
        return self._tool_proxy(name, KeyError)

    def _tool_proxy(self, name: str, missing: type[AttributeError] | type[KeyError]) -> Tool:
        tools = self._state.tools
        if tools is not None and find_tool(tools, name) is None:
            raise missing(self._state.no_such_tool(name))
        if name not in self._made:
            self._made[name] = Tool(self._state, name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        # Without this, `for name in mcp_x` would call __getitem__ with 0, 1, 2 … forever.
        return iter([alias_of(tool) for tool in self._state.fetch_tools_sync()])

    def __dir__(self) -> list[str]:
        try:
            return sorted(self)
        except MCPError:
            return []

    def __repr__(self) -> str:
        name = self._state.name
        state = "loaded" if self._state.is_loaded else f"not loaded: call run_python with servers=['{name}']"
        return f"<mcp_{self._state.alias}: tools of the MCP server '{name}', {state}>"

    @property
    def __doc__(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The configured description."""
        return self._state.description or f"Tools of the MCP server '{self._state.name}'."


def star_names(state: ServerState, names: list[str]) -> list[str]:
    """The names that `from … import *` binds; says which it leaves out, because they would hide a builtin or `runtime`.

    A tool named `print` would end all output of the session.
    """
    left_out = [name for name in names if hasattr(builtins, name) or name in _PREDEFINED]
    if left_out:
        calls = ", ".join(f"mcp_{state.alias}.{name}" for name in left_out)
        print(f"import * left out names that would hide those of Python or the bridge; call {calls}", file=sys.stderr)
    return [name for name in names if name not in left_out]


def state_of(server: Server) -> ServerState:
    """The state of a proxy's server. A function, because any attribute of a proxy may be a tool."""
    return server._state  # pyright: ignore[reportPrivateUsage] # noqa: SLF001


def proxy_of(state: ServerState) -> Server:
    """The proxy of a server. There is only one, so `mcp_servers["x"] is mcp_x`."""
    if not isinstance(state.proxy, Server):
        state.proxy = Server(state)
    return state.proxy


class Tool:
    """One tool of a server: `await tool(name=value, …)`, or `tool.sync(name=value, …)` outside async code."""

    __module__ = "mcp.servers"

    def __init__(self, server: ServerState, name: str, options: CallOptions = _NO_OPTIONS) -> None:
        self._server = server
        self._name = name
        self._options = options
        proxy = f"mcp_{server.alias}"
        self.__name__ = name
        self.__qualname__ = f"{proxy}.{name}" if name.isidentifier() else f"{proxy}[{name!r}]"

    # Positional-only, because the tool may have a parameter named `self`.
    def __call__(self, /, *args: object, **kwargs: object) -> Pending:
        line = calling_line()

        async def run() -> object:
            arguments = await arguments_of(self._server, self._name, args, kwargs)
            return self._value(await self._raw(arguments, line))

        return Pending(f"{self.__qualname__}(...)", run)

    async def _raw(self, arguments: dict[str, object], line: int | None) -> object:
        options = self._options
        report = options.reporter(self.__qualname__)
        params = self._params(arguments, line)
        raw = await self._server.host.call("call_tool", params, options.timeout, report)
        if report is not None:
            await report.finish()
        return raw

    async def pages(self, /, *args: object, **kwargs: object) -> AsyncIterator[Any]:
        """The pages of a long list: `async for page in tool.pages(name=value)`. Each is a call of its own.

        Servers that are made from the description of an API say how the next page is got; tools of others have one.
        """
        line = calling_line()
        following: object = await arguments_of(self._server, self._name, args, kwargs)
        asked: list[object] = []
        shown: object = None
        is_guess = False
        # A server that leads back to a page that was there would do so for ever.
        while is_object(following) and following not in asked:
            asked.append(following)
            raw = await self._raw(following, line)
            result = as_dict(raw)
            content = (result.get("content"), result.get("structuredContent"))
            value = self._value(raw)
            if is_guess and (value == [] or content == shown):
                return
            yield value
            shown, page = content, as_dict(as_dict(result.get("_meta")).get(_NEXT_PAGE))
            following, is_guess = page.get("arguments"), page.get("isGuess") is True
            if page.get("isOutOfReach") is True:
                text = f"{self.__qualname__}.pages: there is a next page, which no argument of the tool asks for"
                print(text, file=sys.stderr)

    def sync(self, /, *args: object, **kwargs: object) -> Any:
        """Calls the tool and waits for the result, in plain functions and callbacks. Blocks the event loop."""
        line = calling_line()
        arguments = arguments_of_sync(self._server, self._name, args, kwargs)
        options = self._options
        report = options.reporter(self.__qualname__)
        params = self._params(arguments, line)
        return self._value(self._server.host.call_sync("call_tool", params, options.timeout, report))

    def with_options(self, *, timeout: float | None = None, on_progress: OnProgress | None = None) -> Tool:
        """The same tool with a timeout in seconds and a progress callback `on_progress(progress, total, message)`."""
        return Tool(self._server, self._name, self._options.changed(timeout, on_progress))

    def _params(self, arguments: dict[str, object], line: int | None) -> dict[str, object]:
        params: dict[str, object] = {"server": self._server.name, "tool": self._name, "arguments": arguments}
        if line is not None:
            params["line"] = line
        # Requested only if there is a callback, because progress may cost the server extra work.
        return params if self._options.on_progress is None else {**params, "progress": True}

    def _value(self, raw: object) -> object:
        if self._server.may_load:
            self._server.is_loaded = True  # It has answered.
        return to_value(raw, self._server.name, self._name)

    @property
    def __doc__(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Signature, description and parameters, fetched from the host on access."""
        try:
            spec = self._server.specs.fetch_sync(self._name)
        except MCPError as error:
            return f"This tool's documentation is not available: {error}"
        return "The server does not list this tool." if spec is None else spec.text

    @property
    def __signature__(self) -> Signature | None:
        """For `inspect.signature`; None (unknown) if the host has no information."""
        try:
            spec = self._server.specs.fetch_sync(self._name)
        except MCPError:
            return None
        return None if spec is None else spec.signature()

    def __repr__(self) -> str:
        return f"<tool {self.__qualname__}: call it with 'await {self.__qualname__}(name=value, ...)'>"


class MethodOrTool(Tool):
    """A method of `surface.METHODS`, or the server's tool of the same name; the call finds out which."""

    __module__ = "mcp.servers"

    def __call__(self, *args: object, **kwargs: object) -> Pending:
        async def run() -> object:
            return await self._tool_or_method(await self._server.fetch_tools())(*args, **kwargs)

        return Pending(f"{self.__qualname__}(...)", run)

    def sync(self, *args: object, **kwargs: object) -> Any:
        """Like calling it, but blocks until the result is there."""
        return self._tool_or_method(self._server.fetch_tools_sync()).sync(*args, **kwargs)

    def _tool_or_method(self, tools: list[ToolInfo]) -> Tool | Method:
        is_tool = any(self._name in (tool.get("name"), tool.get("alias")) for tool in tools)
        return Tool(self._server, self._name, self._options) if is_tool else _method(self._server, self._name, "")

    @property
    def __doc__(self) -> str:
        return METHODS[self._name]

    def __repr__(self) -> str:
        return f"<{self.__qualname__}{METHODS[self._name]}>"


class Surface(Tool):  # `mcp_x.server`: always the methods of `surface.METHODS`.
    __module__ = "mcp.servers"

    @property
    def __doc__(self) -> str:
        return f"{', '.join(METHODS)}. Calling it calls the tool 'server', if there is one."

    def __getattr__(self, name: str) -> Method:
        if name in METHODS:
            return _method(self._server, name, ".server")
        raise AttributeError(f"{self.__qualname__} has no {name!r}; it has {', '.join(METHODS)}")

    def __dir__(self) -> list[str]:
        return [*METHODS]

    def __repr__(self) -> str:
        return f"<{self.__qualname__}: {', '.join(METHODS)}>"


class CallTool(Method):
    """`mcp_x.call_tool("tool", {...})`, as in the MCP SDK; also with the arguments as keywords."""

    __module__ = "mcp.servers"

    def __call__(self, /, *args: object, **kwargs: object) -> Pending:
        tool, arguments = self._tool(args, kwargs)
        return tool(**arguments)

    def sync(self, /, *args: object, **kwargs: object) -> object:
        """The same without await; blocks the event loop."""
        tool, arguments = self._tool(args, kwargs)
        return tool.sync(**arguments)

    def _tool(self, args: tuple[object, ...], kwargs: dict[str, object]) -> tuple[Tool, dict[str, object]]:
        from bridge_kernel.by_name import take_tool

        name, arguments = take_tool(self.__qualname__, args, kwargs)
        return Tool(self._state, name), arguments


def _method(state: ServerState, name: str, prefix: str) -> Method:
    return (CallTool if name == "call_tool" else Method)(state, name, prefix)


def place_of(tool: Tool) -> tuple[ServerState, str]:
    """A tool's server, and the tool's name as written in code."""
    return tool._server, tool._name  # pyright: ignore[reportPrivateUsage] # noqa: SLF001


async def arguments_of(
    server: ServerState, tool: str, args: tuple[object, ...], kwargs: dict[str, object]
) -> dict[str, object]:
    """The checked arguments of a call. Unchecked if the server is not loaded; the host refuses that call anyway.

    Raises:
        ArgumentError: the tool would certainly refuse them.
        MCPError: the host has no information on the tool.
    """
    if not server.is_callable:
        return server.specs.unchecked(tool, args, kwargs)
    return await server.specs.arguments(tool, args, kwargs)


def arguments_of_sync(
    server: ServerState, tool: str, args: tuple[object, ...], kwargs: dict[str, object]
) -> dict[str, object]:
    """Like `arguments_of`, but blocks this thread."""
    if not server.is_callable:
        return server.specs.unchecked(tool, args, kwargs)
    return server.specs.arguments_sync(tool, args, kwargs)


class Servers:
    """`mcp_servers`: the loaded servers by name, as a read-only mapping."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __getitem__(self, name: str) -> Server:
        state = self._registry.find(name)
        if state is None or not state.is_callable:
            raise self._registry.not_available(name)
        return proxy_of(state)

    def get(self, name: str, default: object = None) -> object:
        """The server, or `default` if it is not loaded."""
        state = self._registry.find(name)
        return default if state is None or not state.is_callable else proxy_of(state)

    def __contains__(self, name: object) -> bool:
        state = self._registry.find(name) if isinstance(name, str) else None
        return state is not None and state.is_callable

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._registry.loaded())

    def keys(self) -> list[str]:
        """Names of the loaded servers."""
        return [state.name for state in self._registry.loaded()]

    def values(self) -> list[Server]:
        """Proxies of the loaded servers."""
        return [proxy_of(state) for state in self._registry.loaded()]

    def items(self) -> list[tuple[str, Server]]:
        """Pairs of name and proxy."""
        return list(zip(self.keys(), self.values(), strict=True))

    def __repr__(self) -> str:
        return f"<mcp_servers: {', '.join(self.keys()) or 'no server loaded'}>"
