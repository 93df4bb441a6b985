"""Lists the tool calls in a piece of code as far as reading it shows. Runs none of the code.

For `policy check` on the host, which runs a cell that prints the result of `calls_of`.
"""

from __future__ import annotations

import ast
import json

from bridge_kernel.by_name import merged_arguments, server_and_tool
from bridge_kernel.check import changes_names
from bridge_kernel.check_names import MissingServer, Names, ToolRef
from bridge_kernel.check_walk import Walker
from bridge_kernel.habits import names_to_bind
from bridge_kernel.proxies import Server, Servers
from bridge_kernel.slips import parse_repaired
from bridge_kernel.syntax_nodes import nodes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge_kernel.check_expressions import Mention
    from bridge_kernel.discovery import Runtime
    from bridge_kernel.servers import Registry

_CALL_HELPERS = ("call_tool", "call_tool_raw")


def calls_of(code: str, runtime: Runtime) -> str:
    """JSON with `calls`, ordered by line, and `unknown`, sentences about what else the code may call.

    A call has `line`, `server`, `tool` and `arguments`, which is null unless all of them are literals.
    Raises SyntaxError.
    """
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        code, tree = parse_repaired(code, error, ast.parse)
    # Private access, because this must not become a helper that users see.
    namespace, registry = runtime._namespace, runtime._registry  # pyright: ignore[reportPrivateUsage] # noqa: SLF001
    used = {node.id for node in nodes_of(tree) if isinstance(node, ast.Name)}
    namespace = {**namespace, **names_to_bind(tree, used, namespace, registry, runtime)}
    names = Names(tree, code, namespace, registry)
    walker = Walker(names)
    walker.walk(tree)
    calls: list[dict[str, object]] = []
    unknown = _computed_names(tree, names)
    for mention in walker.mentions:
        line = getattr(mention.node, "lineno", 0)
        found = _call_at(mention, registry)
        if isinstance(found, str):
            unknown.append(f"line {line}: {found}")
        elif found is not None:
            calls.append({"line": line, **found})
    for finding in walker.findings:
        if isinstance(finding.state, MissingServer):
            unknown.append(f"line {getattr(finding.node, 'lineno', 0)}: no server {finding.state.name!r} is configured")
    if changes_names(code):
        unknown.append("the code can rebind any name (exec, eval, globals, import * …)")
    calls.sort(key=lambda call: str(call["line"]).zfill(9))
    return json.dumps({"calls": calls, "unknown": sorted(set(unknown))})


def _call_at(mention: Mention, registry: Registry) -> dict[str, object] | str | None:
    """The call at a mention; what is unknown about it; None if it is no call of a tool."""
    ref, call = mention.ref, mention.call
    server = None
    if isinstance(ref, ToolRef):
        if ref.name != "call_tool" or call is None:
            return {"server": ref.state.name, "tool": ref.name, "arguments": None if call is None else _keywords(call)}
        label, server = ref.label(), ref.state.name
    elif ref.name in _CALL_HELPERS and call is not None:
        label = f"runtime.{ref.name}"
    else:
        return None
    return _named_call(call, registry, server) or f"{label} gets computed names"


def _computed_names(tree: ast.Module, names: Names) -> list[str]:
    found: list[str] = []
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            found.append(f"line {node.lineno}: getattr picks a name at run time")
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            base = names.resolve(node.value)
            if isinstance(base, (Server, Servers)):
                found.append(f"line {node.lineno}: the name in the brackets is computed")
    return found


def _keywords(call: ast.Call) -> dict[str, Any] | None:
    """The arguments by name; None unless all are literal keyword arguments."""
    if call.args:
        return None
    given: dict[str, Any] = {}
    for keyword in call.keywords:
        value = _literal(keyword.value)
        if keyword.arg is None or value is None:
            return None
        given[keyword.arg] = value[0]
    return given


def _literal(node: ast.expr) -> tuple[Any] | None:
    """The value in a 1-tuple, so that None can be a value."""
    try:
        value = ast.literal_eval(node)
        return (json.loads(json.dumps(value, allow_nan=False)),)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _named_call(call: ast.Call, registry: Registry, server: str | None = None) -> dict[str, object] | None:
    """Server, tool and arguments of a call by name; None if a name is computed.

    Such as `runtime.call_tool(server, tool, arguments)` or, if the server is given, `mcp_x.call_tool(tool, arguments)`.
    """
    positional = [_literal(argument) for argument in call.args]
    given = {keyword.arg: _literal(keyword.value) for keyword in call.keywords}
    if server is not None:
        positional.insert(0, (server,))
    words = ("server", "tool", "arguments")
    values = [positional[index] if index < len(positional) else given.pop(word, (None,))
              for index, word in enumerate(words)]  # fmt: skip
    if server is not None and values[1] == (None,):
        values[1] = given.pop("name", (None,))
    if values[0] is None or values[1] is None:
        return None
    name, tool = values[0][0], values[1][0]
    if isinstance(name, str) and not isinstance(tool, str):
        found = server_and_tool(registry, name)
        if found is None:
            return None
        values[2] = values[2] if tool is None else (tool,)
        name, tool = found[0].name, found[1]
    if not isinstance(name, str) or not isinstance(tool, str):
        return None
    return {"server": name, "tool": tool, "arguments": _merged(values[2], given)}


def _merged(arguments: tuple[Any] | None, given: dict[str | None, tuple[Any] | None]) -> dict[str, object] | None:
    """The arguments; None unless all are literals."""
    named = {word: value[0] for word, value in given.items() if word is not None and value is not None}
    if arguments is None or len(named) < len(given):
        return None
    try:
        return merged_arguments(arguments[0], named)
    except TypeError:
        return None
