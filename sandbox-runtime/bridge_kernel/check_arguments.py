"""Checks the arguments of a call as far as the source shows them; `*rows` and `**options` hide the rest."""

from __future__ import annotations

import ast

from bridge_kernel.counted import counted
from bridge_kernel.discovery import Runtime
from bridge_kernel.errors import ArgumentError
from bridge_kernel.json_schema import UNKNOWN
from bridge_kernel.near import close_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from bridge_kernel.specs import ToolSpec

# As in inspect, without importing it.
_CO_VARARGS, _CO_VARKEYWORDS = 0x04, 0x08


class _Shape:
    """The arguments visible in a call."""

    def __init__(self, call: ast.Call) -> None:
        self.keywords = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
        self.hides_some = len(self.keywords) < len(call.keywords)
        positional = [argument for argument in call.args if not isinstance(argument, ast.Starred)]
        self.hides_some |= len(positional) < len(call.args)
        self.positional = len(positional)


def explain_tool_call(spec: ToolSpec, call: ast.Call) -> str | None:
    """What is wrong with the arguments of a call of this tool; None if nothing is, or if that is unknown."""
    shape = _Shape(call)
    if shape.hides_some:
        return _explain_shown(spec, shape)
    args = tuple(map(_value, call.args))
    if len(args) == 1 and not call.keywords and args[0] is UNKNOWN:
        return None  # It may be a dict of all arguments.
    try:
        spec.arguments(args, {str(keyword.arg): _value(keyword.value) for keyword in call.keywords})
    except ArgumentError as error:
        return f"{error.message}\n{error.hint}"
    return None


def _explain_shown(spec: ToolSpec, shape: _Shape) -> str | None:
    """The same if some arguments are hidden: a visible keyword may still be unknown to the tool."""
    accepted = [name for parameter in spec.parameters for name in (parameter.get("name"), parameter.get("alias"))]
    unknown = next((keyword for keyword in shape.keywords if keyword not in accepted), None)
    if unknown is None or spec.is_open:
        return None
    message = f"{spec.server}.{spec.name}: {unknown} is not a parameter of this tool"
    return f"{message}\n{spec.signature_hint}"


def _value(node: ast.expr) -> object:
    """The value of a literal; `UNKNOWN` for anything that depends on running the cell."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        number = node.operand.value
        return -number if isinstance(number, (int, float)) else UNKNOWN
    if isinstance(node, (ast.List, ast.Tuple)):
        is_plain = not any(isinstance(element, ast.Starred) for element in node.elts)
        return [_value(element) for element in node.elts] if is_plain else UNKNOWN
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if all(isinstance(key, str) for key in keys):
            return dict(zip(keys, map(_value, node.values), strict=True))
    return UNKNOWN


def explain_helper_call(name: str, call: ast.Call) -> str | None:
    """The same as `explain_tool_call`, for a helper of `runtime`."""
    code: CodeType | None = getattr(getattr(Runtime, name), "__code__", None)
    if code is None or code.co_flags & _CO_VARARGS:
        return None
    shape = _Shape(call)
    function = getattr(Runtime, name)
    positional = code.co_varnames[1 : code.co_argcount]
    accepted = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    unknown = next((keyword for keyword in shape.keywords if keyword not in accepted), None)
    if unknown is not None and not code.co_flags & _CO_VARKEYWORDS:
        return f"runtime.{name} has no parameter {unknown!r}.{close_names(unknown, list(accepted))}"
    if shape.positional > len(positional):
        return f"runtime.{name} takes at most {counted(len(positional), 'positional argument')}."
    required = positional[: len(positional) - len(function.__defaults__ or ())]
    missing = [word for word in required[shape.positional :] if word not in shape.keywords]
    if missing and not shape.hides_some:
        return f"runtime.{name} needs {', '.join(map(repr, missing))}."
    return None
