"""What a server offers besides tools: resources and prompts, as methods of its proxy.

A tool of the same name wins: `mcp_x.list_resources(...)` calls the tool, and `mcp_x.server.list_resources()` is always
the method. The first call asks for the tool list, because the two cannot be told apart without it.
"""

from __future__ import annotations

import json
import sys

from bridge_kernel.pending import Pending
from bridge_kernel.values import as_dict, as_list, attribute_access, to_prompt, to_resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge_kernel.servers import ServerState

METHODS: dict[str, str] = {
    "list_resources": "() The resources of the server (await): dicts with `uri`, `name`, `description`, `mimeType`.",
    "list_resource_templates": "() Templates of resource URIs (await): dicts with `uriTemplate`, `name`, …",
    "read_resource": "(uri) One resource (await): parsed JSON, `str` or `bytes`, a list when there are several parts.",
    "list_prompts": "() The prompts of the server (await): dicts with `name`, `description`, `arguments`.",
    "get_prompt": "(name, **arguments) A prompt filled in (await): `description`, and `messages` of `role`, `content`.",
}
"""Each method with its arguments and what it gives."""


def request(state: ServerState, method: str, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
    """Parameters of the call to the host. Raises TypeError for arguments that do not fit."""
    params: dict[str, object] = {"server": state.name}
    wanted = {"read_resource": "uri", "get_prompt": "name"}.get(method)
    label = f"mcp_{state.alias}.{method}"
    if wanted is not None:
        if not args and wanted in kwargs:
            args = (kwargs.pop(wanted),)
        if len(args) != 1 or not isinstance(args[0], str):
            raise TypeError(f"{label} takes its {wanted}, a str{', and arguments by name' * (wanted == 'name')}")
        params[wanted] = args[0]
        if method == "get_prompt":
            params["arguments"] = {name: _as_text(value) for name, value in kwargs.items()}
            return params
    elif args:
        raise TypeError(f"{label} takes no arguments")
    if kwargs:
        raise TypeError(f"{label} has no parameter {next(iter(kwargs))!r}")
    return params


def _as_text(value: object) -> str:
    """Arguments of prompts are text (MCP, server/prompts); a number or a list goes as its JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def result(label: str, method: str, answer: object) -> object:
    """The Python value of the host's answer; what was left out of a list is said on stderr."""
    if method == "read_resource":
        return to_resource(answer)
    if method == "get_prompt":
        return to_prompt(answer)
    found = as_dict(answer)
    for notice in as_list(found.get("notices")):
        print(f"{label}: {notice}", file=sys.stderr)
    return attribute_access(as_list(found.get("items")))


class Method:
    """One of them, of one server: `await method(…)`, or `method.sync(…)` where there is no `await`."""

    __module__ = "mcp.servers"

    def __init__(self, state: ServerState, name: str, prefix: str) -> None:
        self._state = state
        self._name = name
        self.__name__ = name
        self.__qualname__ = f"mcp_{state.alias}{prefix}.{name}"
        self.__doc__ = METHODS[name]

    def __call__(self, /, *args: object, **kwargs: object) -> Pending:
        params = request(self._state, self._name, args, kwargs)

        async def run() -> object:
            return result(self.__qualname__, self._name, await self._state.host.call(self._name, params))

        return Pending(f"{self.__qualname__}(...)", run)

    def sync(self, /, *args: object, **kwargs: object) -> object:
        """The same without await; it blocks the event loop."""
        params = request(self._state, self._name, args, kwargs)
        return result(self.__qualname__, self._name, self._state.host.call_sync(self._name, params))

    def __repr__(self) -> str:
        return f"<method {self.__qualname__}{METHODS[self._name].partition(' ')[0]}>"
