"""Functions that outlive their session: extracts the source of one to save it, and defines the saved ones."""

from __future__ import annotations

import sys
from types import CodeType, FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    class SavedTool(TypedDict):
        """A saved function, as in the `hello` frame."""

        name: str
        source: str


class FunctionSource:
    """A function to save: its name, its source, and the global names that later sessions will lack."""

    def __init__(self, name: str, source: str, missing: list[str]) -> None:
        self.name = name
        self.source = source
        self.missing = missing

    def report(self) -> str:
        """The text that `save_tool` returns."""
        saved = f"Saved {self.name!r}. Later sessions define it under that name."
        if not self.missing:
            return saved
        names = ", ".join(self.missing)
        return f"{saved} It uses names that only this session has: {names}. Import or define them in the function."


def source_of(func: Callable[..., object] | str, namespace: dict[str, object]) -> FunctionSource:
    """The source of a plain function in this session.

    Raises:
        TypeError: not a function, or not self-contained (lambda, method, closure).
        ValueError: its source is unknown.
    """
    import ast
    import inspect
    import textwrap

    function = _function(func, namespace)
    name = function.__name__
    if name == "<lambda>":
        raise TypeError("a lambda has no name to save it under; write 'def name(...): ...' and save that")
    if function.__code__.co_freevars:
        names = ", ".join(function.__code__.co_freevars)
        raise TypeError(f"{name!r} uses variables of its enclosing function ({names}); pass them as arguments")
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source)
    except (OSError, SyntaxError) as error:
        raise ValueError(f"the source of {name!r} is unknown; define it with 'def' in its own cell") from error
    first = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(first, (ast.FunctionDef, ast.AsyncFunctionDef)) or first.name != name:
        raise TypeError(f"{name!r} cannot be saved, because it is not defined by its own 'def {name}'")
    return FunctionSource(name, source, _session_names(function.__code__, namespace))


def _function(func: Callable[..., object] | str, namespace: dict[str, object]) -> FunctionType:
    found: object = func
    if isinstance(func, str):
        if func not in namespace:
            raise ValueError(f"this session has no function {func!r}")
        found = namespace[func]
    # `__wrapped__` leads to the `def`, so a decorated function is saved with its decorators.
    found = getattr(found, "__wrapped__", found)
    if not isinstance(found, FunctionType):
        raise TypeError(f"save_tool takes a function, not {type(found).__name__}")
    return found


def _session_names(code: CodeType, namespace: dict[str, object]) -> list[str]:
    """The names that the function takes from this session and that later sessions do not predefine."""
    own = (
        "runtime",
        "mcp_servers",
        "save_tool",
        "LOADED_MCP_SERVERS",
        "MCPError",
        "ToolError",
        "PolicyError",
        code.co_name,
    )
    used = _global_names(code) & namespace.keys()
    return sorted(name for name in used if name not in own and not name.startswith(("mcp_", "__")))


def _global_names(code: CodeType) -> set[str]:
    """The global names that the code and its nested code read, without attributes and local imports."""
    import dis

    names = {str(step.argval) for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _global_names(constant)
    return names


def define_saved_tools(tools: list[SavedTool], namespace: dict[str, object]) -> None:
    """Defines saved functions in `namespace`; one that fails is reported on stderr and skipped."""
    import linecache

    for tool in tools:
        name, source = tool["name"], tool["source"]
        file_name = f"<saved tool {name}>"
        linecache.cache[file_name] = (len(source), None, source.splitlines(keepends=True), file_name)
        try:
            exec(compile(source, file_name, "exec"), namespace)
        except Exception as error:  # noqa: BLE001 User source may raise anything.
            print(f"The saved tool {name!r} could not be defined: {error!r}", file=sys.stderr)
