"""Resources and prompts of a server, as methods of its proxy.

A tool of the same name takes precedence: `mcp_x.list_resources(...)` calls the tool, while
`mcp_x.server.list_resources()` is always the method. The first call fetches the tool list to tell the two apart.
"""

from __future__ import annotations

import json
import sys

from bridge_kernel.attr_dict import attribute_access
from bridge_kernel.found import Hits, ToolHit
from bridge_kernel.pending import Pending
from bridge_kernel.values import as_dict, as_list, to_prompt, to_resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge_kernel.servers import ServerState

METHODS: dict[str, str] = {
    "list_tools": "() The server's tools (await): dicts with `name`, `alias`, `description`, `inputSchema`.",
    "call_tool": "(name, arguments) Calls a tool by name (await).",
    "list_resources": "() The server's resources (await): dicts with `uri`, `name`, `description`, `mimeType`.",
    "list_resource_templates": "() The server's resource URI templates (await): dicts with `uriTemplate`, `name`, …",
    "read_resource": "(uri) One resource (await): parsed JSON, `str` or `bytes`, or a list if there are several parts.",
    "list_prompts": "() The server's prompts (await): dicts with `name`, `description`, `arguments`.",
    "get_prompt": "(name, **arguments) A filled-in prompt (await): `description`, `messages` with `role`, `content`.",
}
"""Each method with its arguments and its result."""


def request(state: ServerState, method: str, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
    """The parameters of the call to the host. Raises TypeError for wrong arguments."""
    params: dict[str, object] = {"server": state.name}
    wanted = {"read_resource": "uri", "get_prompt": "name"}.get(method)
    label = f"mcp_{state.alias}.{method}"
    if wanted is not None:
        if not args and wanted in kwargs:
            args = (kwargs.pop(wanted),)
        if len(args) != 1 or not isinstance(args[0], str):
            raise TypeError(f"{label} needs a {wanted} (str){', and takes arguments by name' * (wanted == 'name')}")
        params[wanted] = args[0]
        if method == "get_prompt":
            params["arguments"] = {name: _as_text(value, f"{label}: {name}") for name, value in kwargs.items()}
            return params
    elif args:
        raise TypeError(f"{label} takes no arguments")
    if kwargs:
        raise TypeError(f"{label} has no parameter {next(iter(kwargs))!r}")
    return params


def _as_text(value: object, place: str) -> str:
    """Arguments of prompts are strings (MCP, server/prompts); any other value is sent as JSON text."""
    from bridge_kernel.arguments import NotJsonError, to_json

    try:
        plain = to_json(value)
    except NotJsonError as error:
        inner = "".join(f"[{key!r}]" for key in error.path)
        raise TypeError(f"{place}{inner} {error}") from None
    return plain if isinstance(plain, str) else json.dumps(plain)


def tool_list(answer: object) -> Hits:
    """Tools with their schema under both names: `inputSchema` as in MCP, and `input_schema`."""
    tools = as_list(attribute_access(answer))
    for tool in tools:
        tool["inputSchema"] = tool.get("input_schema", {})
    return Hits(ToolHit(tool) for tool in tools)


def result(label: str, method: str, answer: object) -> object:
    """The Python value of the host's answer; omissions from a list are reported on stderr."""
    if method == "list_tools":
        return tool_list(answer)
    if method == "read_resource":
        return to_resource(answer)
    if method == "get_prompt":
        return to_prompt(answer)
    found = as_dict(answer)
    for notice in as_list(found.get("notices")):
        print(f"{label}: {notice}", file=sys.stderr)
    return attribute_access(as_list(found.get("items")))


class Method:
    """A method of `METHODS` on one server: `await method(…)`, or `method.sync(…)` outside async code."""

    __module__ = "mcp.servers"

    def __init__(self, state: ServerState, name: str, prefix: str) -> None:
        self._state = state
        self._name = name
        self._prefix = prefix
        self.__name__ = name
        self.__qualname__ = f"mcp_{state.alias}{prefix}.{name}"
        self.__doc__ = METHODS[name]

    def __call__(self, /, *args: object, **kwargs: object) -> Pending:
        params = request(self._state, self._name, args, kwargs)

        async def run() -> object:
            return result(self.__qualname__, self._name, await self._state.host.call(self._name, params))

        return Pending(f"{self.__qualname__}(...)", run)

    def sync(self, /, *args: object, **kwargs: object) -> object:
        """The same without await; blocks the event loop."""
        params = request(self._state, self._name, args, kwargs)
        return result(self.__qualname__, self._name, self._state.host.call_sync(self._name, params))

    def __repr__(self) -> str:
        return f"<method {self.__qualname__}{METHODS[self._name].partition(' ')[0]}>"
