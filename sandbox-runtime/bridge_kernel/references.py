"""Objects of the kernel in variables: a checkpoint keeps their names, because the next sandbox has its own."""

from __future__ import annotations

import sys

from bridge_kernel.call_options import CallOptions
from bridge_kernel.jobs import Job
from bridge_kernel.mcp_package import Package, ServerModule, ServersModule, state_of_module
from bridge_kernel.pending import Pending
from bridge_kernel.proxies import CallTool, MethodOrTool, Server, Surface, Tool, proxy_of, state_of
from bridge_kernel.state_pickle import NotKeptError
from bridge_kernel.surface import Method

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bridge_kernel.servers import Registry, ServerState

    # Its first item says which `_find_…` takes the others.
    Reference = tuple[Any, ...]

_TOOLS = {cls.__name__: cls for cls in (Tool, MethodOrTool, Surface)}
_METHODS = {cls.__name__: cls for cls in (Method, CallTool)}


class References:
    """Names objects of the kernel, and finds what they name."""

    def __init__(self, registry: Registry, constants: dict[str, object]) -> None:
        self._registry = registry
        self._constants = constants
        self._names = {id(value): name for name, value in constants.items()}

    def reference_to(self, value: object) -> Reference | None:
        """What to keep for this object; None if it is not the kernel's. Raises NotKeptError if it cannot be kept."""
        to = _TO.get(type(value))
        if to is not None:
            return to(value)
        name = self._names.get(id(value))
        return None if name is None else ("constant", name)

    def referred(self, kind: str, *rest: Any) -> object:
        """The object of this sandbox. Raises LookupError if there is none."""
        return getattr(self, f"_find_{kind}")(*rest)

    def _find_constant(self, name: str) -> object:
        return self._constants[name]

    def _find_server(self, name: str) -> object:
        return proxy_of(self._state(name))

    def _find_tool(self, kind: str, server: str, name: str, timeout: float | None, on_progress: Any) -> object:
        return _TOOLS[kind](self._state(server), name, CallOptions(timeout, on_progress))

    def _find_method(self, kind: str, server: str, name: str, prefix: str) -> object:
        return _METHODS[kind](self._state(server), name, prefix)

    def _find_module(self, name: str) -> object:
        return sys.modules[name]

    def _find_server_module(self, name: str) -> object:
        state = self._state(name)
        return sys.modules.get(f"mcp.servers.{state.alias}", ServerModule(state))

    def _state(self, name: str) -> ServerState:
        state = self._registry.find(name)
        if state is None:
            raise LookupError(f"no server {name!r} is configured now")
        return state


def _tool(tool: Any) -> Reference:
    options = tool._options  # noqa: SLF001
    return ("tool", type(tool).__name__, tool._server.name, tool._name, options.timeout, options.on_progress)  # noqa: SLF001


def _method(method: Any) -> Reference:
    return ("method", type(method).__name__, method._state.name, method._name, method._prefix)  # noqa: SLF001


def _refuse(reason: str) -> Callable[[object], Reference]:
    def refuse(_value: object) -> Reference:
        raise NotKeptError(reason)

    return refuse


_TO: dict[type, Callable[[Any], Reference]] = {
    Server: lambda server: ("server", state_of(server).name),
    **dict.fromkeys(_TOOLS.values(), _tool),
    **dict.fromkeys(_METHODS.values(), _method),
    ServerModule: lambda module: ("server_module", state_of_module(module).name),
    Package: lambda _: ("module", "mcp"),
    ServersModule: lambda _: ("module", "mcp.servers"),
    Pending: _refuse("a call that was not awaited"),
    Job: _refuse("a background job"),
}
