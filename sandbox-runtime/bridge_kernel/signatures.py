"""The parameters of a tool as Python shows them, made from its input schema (JSON Schema, which a server may bend)."""

from __future__ import annotations

from bridge_kernel.values import as_dict, as_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inspect import Signature

    from bridge_kernel.servers import ToolInfo

_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}


class _Omitted:
    """The default of an optional parameter: it is not sent, and the server does what it does then."""

    def __repr__(self) -> str:
        return "..."


_OMITTED = _Omitted()


def parameter_names(info: ToolInfo) -> list[str]:
    """Names of the parameters as the schema writes them: the required ones first, each group in its order."""
    schema = as_dict(info.get("input_schema"))
    properties, required = as_dict(schema.get("properties")), as_list(schema.get("required"))
    return [name for name in properties if name in required] + [name for name in properties if name not in required]


def signature_of(info: ToolInfo) -> Signature:
    """The signature by which the tool can be called; `...` stands for the default of a server that names none."""
    from inspect import Parameter, Signature

    schema = as_dict(info.get("input_schema"))
    required = as_list(schema.get("required"))
    parameters: list[Parameter] = []
    for name in parameter_names(info):
        member = _member(info, name)
        parameters.append(
            Parameter(
                _spelled(info, name),
                Parameter.POSITIONAL_OR_KEYWORD,
                default=Parameter.empty if name in required else member.get("default", _OMITTED),
                annotation=_TYPES.get(str(member.get("type")), Parameter.empty),
            )
        )
    return Signature(parameters)


def text_of(info: ToolInfo) -> str:
    """Signature, description and parameters, as `help()` shows them."""
    lines = [f"{info.get('alias', '')}{signature_of(info)}", "", info.get("description", "")]
    for name in parameter_names(info):
        member = _member(info, name)
        choices = as_list(member.get("enum"))
        one_of = f" One of {', '.join(repr(choice) for choice in choices)}." if choices else ""
        description = str(member.get("description", "")) + one_of
        lines.append(f"  {_spelled(info, name)}: {description.strip()}".rstrip(": "))
    return "\n".join(lines).strip()


def _member(info: ToolInfo, name: str) -> dict[str, object]:
    return as_dict(as_dict(as_dict(info.get("input_schema")).get("properties")).get(name))


def _spelled(info: ToolInfo, name: str) -> str:
    """The parameter's name in Python; the host says where it differs, and takes either."""
    return as_dict(info.get("parameter_aliases")).get(name, name)
