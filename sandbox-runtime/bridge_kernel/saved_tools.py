"""Functions that outlive their session: reading the source of one to save it, and defining those saved before."""

from __future__ import annotations

import sys
from types import CodeType, FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    class SavedTool(TypedDict):
        """A saved function as the `hello` frame brings it."""

        name: str
        source: str


class FunctionSource:
    """A function that can be saved: its name, its source, and the global names that will be missing later."""

    def __init__(self, name: str, source: str, missing: list[str]) -> None:
        self.name = name
        self.source = source
        self.missing = missing

    def report(self) -> str:
        """What `save_tool` answers."""
        saved = f"Saved {self.name!r}: later sessions have it by that name."
        if not self.missing:
            return saved
        names = ", ".join(self.missing)
        return f"{saved} It uses names that only this session has: {names}. Import or define them inside the function."


def source_of(func: Callable[..., object] | str, namespace: dict[str, object]) -> FunctionSource:
    """The source of a plain function of this session.

    Raises:
        TypeError: not a function, or one that cannot stand alone (lambda, method, closure).
        ValueError: its source is not known.
    """
    import ast
    import inspect
    import textwrap

    function = _function(func, namespace)
    name = function.__name__
    if name == "<lambda>":
        raise TypeError("a lambda has no name to save it under: write 'def name(...): ...' and save that")
    if function.__code__.co_freevars:
        names = ", ".join(function.__code__.co_freevars)
        raise TypeError(f"{name!r} uses variables of the function around it ({names}): pass them as arguments")
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source)
    except (OSError, SyntaxError) as error:
        raise ValueError(f"the source of {name!r} is not known: define it with 'def' in a cell of its own") from error
    first = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(first, (ast.FunctionDef, ast.AsyncFunctionDef)) or first.name != name:
        raise TypeError(f"{name!r} is not defined by a 'def {name}' of its own, so it cannot be saved")
    return FunctionSource(name, source, _session_names(function.__code__, namespace))


def _function(func: Callable[..., object] | str, namespace: dict[str, object]) -> FunctionType:
    found: object = func
    if isinstance(func, str):
        if func not in namespace:
            raise ValueError(f"no function {func!r} in this session")
        found = namespace[func]
    # A decorated function is saved with its decorators: `__wrapped__` leads to the `def`.
    found = getattr(found, "__wrapped__", found)
    if not isinstance(found, FunctionType):
        raise TypeError(f"save_tool takes a function, not {type(found).__name__}")
    return found


def _session_names(code: CodeType, namespace: dict[str, object]) -> list[str]:
    """Names the function takes from the session and that are not there by themselves in a later one."""
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
    """Names that the code, or code inside it, reads from its module: attributes and local imports are none of them."""
    import dis

    names = {str(step.argval) for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _global_names(constant)
    return names


def define_saved_tools(tools: list[SavedTool], namespace: dict[str, object]) -> None:
    """Defines saved functions in `namespace`; one that fails is named on stderr and left out."""
    import linecache

    for tool in tools:
        name, source = tool["name"], tool["source"]
        file_name = f"<saved tool {name}>"
        linecache.cache[file_name] = (len(source), None, source.splitlines(keepends=True), file_name)
        try:
            exec(compile(source, file_name, "exec"), namespace)
        except Exception as error:  # noqa: BLE001 The source is a user's and may raise anything.
            print(f"The saved tool {name!r} could not be defined: {error!r}", file=sys.stderr)
