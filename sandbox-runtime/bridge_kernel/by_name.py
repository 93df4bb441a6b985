"""Calls of tools by name: where one string names server and tool, and where the arguments are."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge_kernel.servers import Registry, ServerState

_SEPARATOR = re.compile(r"__|[./:]")
_SEPARATOR_IN_NAME = re.compile(r"__|[._/:]")


def server_and_tool(registry: Registry, name: str) -> tuple[ServerState, str] | None:
    """The configured server and the tool in `server.tool`, `mcp__server__tool` or `mcp_server_tool`."""
    plain = name.removeprefix("mcp").lstrip("_")
    separator = _SEPARATOR_IN_NAME if name.startswith("mcp_") else _SEPARATOR
    for match in reversed(list(separator.finditer(plain))):
        state, tool = registry.find(plain[: match.start()]), plain[match.end() :]
        if state is not None and tool:
            return state, tool
    return None


def merged_arguments(arguments: object, named: Mapping[str, object]) -> dict[str, object]:
    """The arguments of a call, given as a dict or its JSON text, as keywords, or both."""
    if arguments is None:
        return dict(named)
    given: object = arguments
    if isinstance(arguments, str):
        import json

        try:
            given = json.loads(arguments)
        except ValueError:
            given = arguments
    if not isinstance(given, dict):
        raise TypeError(f"arguments must be a dict of names and values, not {type(given).__name__}")
    return {**given, **named}


def call_params(
    registry: Registry, server: str, tool: object, arguments: object, named: Mapping[str, object]
) -> dict[str, object]:
    """The parameters of `runtime.call_tool(server, tool, arguments)`; one string may name both, as `"server.tool"`."""
    if not isinstance(tool, str):
        found = server_and_tool(registry, server)
        if found is None or (tool is not None and arguments is not None):
            raise TypeError(
                "runtime.call_tool needs the names of a server and a tool: "
                f"write await runtime.call_tool('SERVER', {server!r}, {{...}})"
            )
        arguments = arguments if tool is None else tool
        server, tool = found[0].name, found[1]
    return {"server": server, "tool": tool, "arguments": merged_arguments(arguments, named)}


def take_tool(label: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """Tool and arguments of `mcp_x.call_tool(tool, arguments)`, or with the arguments as keywords."""
    named = dict(kwargs)
    rest = list(args)
    for word in () if rest else ("name", "tool", "tool_name"):
        if word in named:
            rest = [named.pop(word)]
            break
    if not 1 <= len(rest) <= 2 or not isinstance(rest[0], str):
        raise TypeError(f"{label} takes the name of a tool and a dict of its arguments")
    arguments = rest[1] if len(rest) > 1 else named.pop("arguments", None)
    return rest[0], merged_arguments(arguments, named)
