"""Whether the arguments of a call fit, as far as the call shows it: `*rows` and `**options` hide the rest."""

from __future__ import annotations

import ast

from bridge_kernel.discovery import Runtime
from bridge_kernel.servers import close_names
from bridge_kernel.signatures import parameter_names, signature_of
from bridge_kernel.values import as_dict, as_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from bridge_kernel.servers import ToolInfo

_VARIADIC = 0x04 | 0x08  # inspect.CO_VARARGS and CO_VARKEYWORDS; the module costs its import.


class _Shape:
    """The arguments that a call shows."""

    def __init__(self, call: ast.Call) -> None:
        self.keywords = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
        self.hides_some = len(self.keywords) < len(call.keywords)
        positional = [argument for argument in call.args if not isinstance(argument, ast.Starred)]
        self.hides_some |= len(positional) < len(call.args)
        self.positional = len(positional)
        # One dict is all arguments at once, when its keys are parameters.
        self.may_be_whole = len(call.args) == 1 and not call.keywords


def explain_tool_call(label: str, info: ToolInfo, call: ast.Call) -> str | None:
    """What is wrong with the arguments of a call of this tool; None when nothing is, or it cannot be told."""
    shape = _Shape(call)
    if shape.may_be_whole:
        return None
    schema = as_dict(info.get("input_schema"))
    aliases = as_dict(info.get("parameter_aliases"))
    names = parameter_names(info)
    if shape.positional > len(names):
        return f"{label} takes at most {len(names)} arguments, but {shape.positional} are given by position."
    by_position = names[: shape.positional]
    spelled = {str(aliases.get(name, name)): name for name in names}
    given = {spelled.get(keyword, keyword) for keyword in shape.keywords}
    unknown = [keyword for keyword in shape.keywords if spelled.get(keyword, keyword) not in names]
    if unknown and schema.get("additionalProperties") is False:
        near = close_names(unknown[0], list(spelled))
        return f"{label} has no parameter {unknown[0]!r}.{near}"
    twice = next((name for name in by_position if name in given), None)
    if twice is not None:
        return f"{label} gets {twice!r} twice, by position and by name."
    return None if shape.hides_some else _explain_missing(label, info, {*by_position, *given}, unknown)


def _explain_missing(label: str, info: ToolInfo, given: set[str], unknown: list[str]) -> str | None:
    schema = as_dict(info.get("input_schema"))
    properties, aliases = as_dict(schema.get("properties")), as_dict(info.get("parameter_aliases"))
    # A server that names a default may take the argument from there, although it calls it required.
    needed = [name for name in as_list(schema.get("required")) if "default" not in as_dict(properties.get(name))]
    missing = [str(aliases.get(name, name)) for name in needed if name not in given]
    if not missing:
        return None
    given_instead = f" It is given {', '.join(map(repr, unknown))}, which it has not." if unknown else ""
    return f"{label} needs {', '.join(map(repr, missing))}.{given_instead}"


def describe_call(label: str, info: ToolInfo) -> str:
    """The call with its signature, on one line."""
    return f"Signature: {label}{signature_of(info)}"


def explain_helper_call(name: str, call: ast.Call) -> str | None:
    """The same for a helper of `runtime`."""
    code: CodeType | None = getattr(getattr(Runtime, name), "__code__", None)
    if code is None or code.co_flags & _VARIADIC:
        return None
    shape = _Shape(call)
    function = getattr(Runtime, name)
    positional = code.co_varnames[1 : code.co_argcount]
    accepted = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    unknown = next((keyword for keyword in shape.keywords if keyword not in accepted), None)
    if unknown is not None:
        return f"runtime.{name} has no parameter {unknown!r}.{close_names(unknown, list(accepted))}"
    if shape.positional > len(positional):
        return f"runtime.{name} takes at most {len(positional)} arguments by position."
    required = positional[: len(positional) - len(function.__defaults__ or ())]
    missing = [word for word in required[shape.positional :] if word not in shape.keywords]
    if missing and not shape.hides_some:
        return f"runtime.{name} needs {', '.join(map(repr, missing))}."
    return None
