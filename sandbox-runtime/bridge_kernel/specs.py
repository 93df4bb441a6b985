"""A tool as a Python object: signature, help text, and the arguments of a call, checked before anything is sent.

The host writes names, annotations and texts (`ToolSpec` in `src/core/catalog/tool-spec.ts`); this module turns them
into Python objects, on demand.
"""

from __future__ import annotations

from bridge_kernel.arguments import NotJsonError, to_json
from bridge_kernel.counted import counted
from bridge_kernel.errors import ArgumentError
from bridge_kernel.files import as_file
from bridge_kernel.json_schema import Checker
from bridge_kernel.near import close_names
from bridge_kernel.schema_values import is_object
from bridge_kernel.values import as_dict, as_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from inspect import Parameter, Signature
    from typing import TypedDict

    from bridge_kernel.schema_values import Problem

    class ParameterFacts(TypedDict, total=False):
        """A parameter, as described by the host."""

        name: str
        alias: str
        annotation: str
        required: bool
        default: str
        description: str


_MAX_CHECKED = 20
"""Further arguments that a refusal may name. Chosen: tools rarely have more."""


class Shown:
    """A default or annotation shown as a given text: `...`, or the name of a type that does not exist in Python."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shown) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(self._text)


class ToolSpec:
    """One tool of one server."""

    def __init__(self, facts: Mapping[str, object], server: str) -> None:
        self.server = server
        self.name = str(facts.get("name", ""))
        self.alias = str(facts.get("alias", ""))
        self.text: str = str(facts.get("text", ""))
        """The text that `help()` shows."""
        self.signature_hint: str = str(facts.get("hint", ""))
        """The signature with its types, for the hint of a refused call."""
        self.is_open: bool = facts.get("open") is not False
        """Whether the tool accepts arguments beyond its parameters."""
        self.parameters: list[ParameterFacts] = as_list(facts.get("parameters"))
        self._by_name = {parameter.get("name", ""): parameter for parameter in self.parameters}
        self._returns = facts.get("returns")
        self.returns_text: bool = self._returns == "str"
        self._schema: dict[str, object] = as_dict(facts.get("input_schema"))
        self._checker = Checker(self._schema)
        self._required = [name for name, parameter in self._by_name.items() if parameter.get("required")]
        # Both spellings; the server's own name of a parameter takes precedence.
        self._originals = {parameter.get("alias", name): name for name, parameter in self._by_name.items()}
        self._originals.update((name, name) for name in self._by_name)

    def signature(self) -> Signature:
        """The signature for calling the tool; `...` marks a default that the server does not state."""
        from inspect import Parameter, Signature

        parameters = [_parameter(facts) for facts in self.parameters]
        if self.is_open:
            rest = "kwargs"
            while any(parameter.name == rest for parameter in parameters):
                rest += "_"
            parameters.append(Parameter(rest, Parameter.VAR_KEYWORD))
        returns = _annotation(self._returns) if isinstance(self._returns, str) else Signature.empty
        return Signature(parameters, return_annotation=returns)

    def arguments(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """The arguments of a call under the server's names, as JSON values.

        A parameter is accepted under its original name or its name in Python. None for an optional parameter that does
        not allow null means that it is omitted. A single positional dict whose keys are all parameters provides all
        arguments. Values that are not known yet may be `schema_values.UNKNOWN`.

        Raises:
            ArgumentError: the tool would certainly refuse them.
        """
        given = self._bound(args, kwargs)
        schemas = as_dict(self._schema.get("properties"))
        arguments: dict[str, object] = {}
        for name, value in given.items():
            try:
                plain = to_json(as_file(value, schemas.get(name)))
            except NotJsonError as error:
                raise self._refusal(_place([name, *error.path], self._alias(name)), str(error)) from None
            if plain is not None or not self._is_left_out(name):
                arguments[name] = plain
        self._refuse_missing(arguments)
        problem = self._checker.find(arguments, self._schema)
        if problem is not None:
            raise self._refusal(*self._problems(problem, arguments))
        return arguments

    def _problems(self, first: Problem, arguments: dict[str, object]) -> tuple[str, str]:
        """The place of the first problem, and all there is to say: a call can be corrected at once."""
        name = str(first.path[0]) if first.path else ""
        text = first.text
        schemas = as_dict(self._schema.get("properties"))
        others = [other for other in arguments if other in schemas and other != name] if first.path else []
        for other in others[:_MAX_CHECKED]:
            found = self._checker.find(arguments[other], schemas[other])
            if found is not None:
                text += f"; {_place([other, *found.path], self._alias(other))} {found.text}"
        return _place(first.path, self._alias(name)), text

    def _bound(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        if not args and kwargs.keys() <= self._by_name.keys():
            return dict(kwargs)  # Most calls.
        if len(args) == 1 and not kwargs and is_object(args[0]):
            whole = args[0]
            if whole and all(key in self._originals for key in whole):
                args, kwargs = (), whole
        names = list(self._by_name)
        if len(args) > len(names):
            aliases = ", ".join(self._alias(name) for name in names)
            takes = (
                f"takes at most {counted(len(names), 'argument')} ({aliases})"
                if names
                else "takes no positional arguments"
            )
            raise self._refusal("", f"{takes}, but {len(args)} {'was' if len(args) == 1 else 'were'} given")
        given = dict(zip(names, args, strict=False))
        unknown = [key for key in kwargs if key not in self._originals and not self.is_open]
        if unknown:
            first, *others = unknown
            more = [f"{key} {self._unknown(key)}" for key in others[:_MAX_CHECKED]]
            raise self._refusal(first, "; ".join([self._unknown(first), *more]))
        for key, value in kwargs.items():
            name = self._originals.get(key, key)
            if name in given:
                raise self._refusal(key, "was given twice")
            given[name] = value
        return given

    def _is_left_out(self, name: str) -> bool:
        """Whether None means "omitted": the parameter is optional, and its schema does not allow null."""
        parameter = self._by_name.get(name)
        if parameter is None or parameter.get("required"):
            return False
        properties = as_dict(self._schema.get("properties"))
        return self._checker.find(None, properties.get(name)) is not None

    def _refuse_missing(self, arguments: dict[str, object]) -> None:
        missing = [self._alias(name) for name in self._required if name not in arguments]
        if missing:
            raise self._refusal(", ".join(missing), "is missing" if len(missing) == 1 else "are missing")

    def _unknown(self, key: str) -> str:
        known = [parameter.get("alias", "") for parameter in self.parameters]
        return f"is not a parameter of this tool.{close_names(key, known)}".removesuffix(".")

    def _alias(self, name: str) -> str:
        parameter = self._by_name.get(name)
        return name if parameter is None else parameter.get("alias", name)

    def _refusal(self, place: str, text: str) -> ArgumentError:
        said = f"{self.server}.{self.name}: {f'{place} {text}'.strip()}"
        return ArgumentError(said, "TOOL_ARGUMENT_INVALID", self.signature_hint, {"argument": place})


def _place(path: list[str | int], first: str) -> str:
    """`filters.labels[0]`, with the first name in its Python spelling."""
    if not path:
        return "the arguments"
    return first + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path[1:])


def _parameter(facts: ParameterFacts) -> Parameter:
    from inspect import Parameter

    annotation = facts.get("annotation", "Any")
    return Parameter(
        facts.get("alias", "_"),
        Parameter.POSITIONAL_OR_KEYWORD,
        default=Parameter.empty if facts.get("required") else _default(facts.get("default")),
        annotation=Parameter.empty if annotation == "Any" else _annotation(annotation),
    )


def _default(text: str | None) -> object:
    """The default itself if its repr is the host's text, otherwise an object that shows the text."""
    from ast import literal_eval

    if text is None:
        return Shown("...")
    try:
        value: object = literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return Shown(text)
    return value if repr(value) == text else Shown(text)


def _annotation(text: str) -> object:
    """The type itself if Python formats it like the host's text, otherwise an object that shows the text."""
    import inspect
    import typing

    known = {"Literal": typing.Literal, "Any": typing.Any, "str": str, "int": int, "float": float, "bool": bool}
    try:
        # The text comes from the host: names of types, and literals that the host has escaped.
        value: object = eval(text, {"__builtins__": {}}, {**known, "list": list, "dict": dict})
    except Exception:  # noqa: BLE001 A type that the help text describes below the signature.
        return Shown(text)
    return value if inspect.formatannotation(value) == text else Shown(text)
