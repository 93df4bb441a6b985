"""Lists the tool calls in a piece of code as far as reading it shows. Runs none of the code.

For `policy check` on the host, which runs a cell that prints the result of `calls_of`.
"""

from __future__ import annotations

import ast
import json

from bridge_kernel.check import changes_names
from bridge_kernel.check_names import MissingServer, Names, ToolRef
from bridge_kernel.check_walk import Walker
from bridge_kernel.proxies import Server, Servers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge_kernel.discovery import Runtime

_CALL_HELPERS = ("call_tool", "call_tool_raw")
_HELPER_PARAMETERS: tuple[str, ...] = ("server", "tool", "arguments")


def calls_of(code: str, runtime: Runtime) -> str:
    """JSON with `calls`, ordered by line, and `unknown`, sentences about what else the code may call.

    A call has `line`, `server`, `tool` and `arguments`, which is null unless all of them are literals.
    Raises SyntaxError.
    """
    tree = ast.parse(code)
    # Private access, because this must not become a helper that users see.
    names = Names(tree, code, runtime._namespace, runtime._registry)  # pyright: ignore[reportPrivateUsage] # noqa: SLF001
    walker = Walker(names)
    walker.walk(tree)
    calls: list[dict[str, object]] = []
    unknown = _computed_names(tree, names)
    for mention in walker.mentions:
        line = getattr(mention.node, "lineno", 0)
        if isinstance(mention.ref, ToolRef):
            ref, given = mention.ref, None if mention.call is None else _keywords(mention.call)
            calls.append({"line": line, "server": ref.state.name, "tool": ref.name, "arguments": given})
        elif mention.ref.name in _CALL_HELPERS and mention.call is not None:
            call = _named_call(mention.call)
            if call is None:
                unknown.append(f"line {line}: runtime.{mention.ref.name} gets computed names")
            else:
                calls.append({"line": line, **call})
    for finding in walker.findings:
        if isinstance(finding.state, MissingServer):
            unknown.append(f"line {getattr(finding.node, 'lineno', 0)}: no server {finding.state.name!r} is configured")
    if changes_names(code):
        unknown.append("the code can rebind any name (exec, eval, globals, import * …)")
    calls.sort(key=lambda call: str(call["line"]).zfill(9))
    return json.dumps({"calls": calls, "unknown": sorted(set(unknown))})


def _computed_names(tree: ast.Module, names: Names) -> list[str]:
    found: list[str] = []
    for node in ast.walk(tree):
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


def _named_call(call: ast.Call) -> dict[str, object] | None:
    """Server, tool and arguments of `runtime.call_tool(server, tool, arguments)`; None if a name is computed."""
    given: dict[str, ast.expr] = dict(zip(_HELPER_PARAMETERS, call.args, strict=False))
    given.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None})
    server, tool = (_literal(given[name]) if name in given else None for name in ("server", "tool"))
    if server is None or tool is None or not isinstance(server[0], str) or not isinstance(tool[0], str):
        return None
    arguments: tuple[Any] | None = _literal(given["arguments"]) if "arguments" in given else ({},)
    is_known = arguments is not None and isinstance(arguments[0], dict)
    return {"server": server[0], "tool": tool[0], "arguments": arguments[0] if arguments and is_known else None}
