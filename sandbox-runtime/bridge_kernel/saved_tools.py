"""Functions that outlive their session: extracts the source of one to save it, and defines the saved ones.

Whatever wrote a saved function may have been hostile, and so may the kernel that checked it. It is checked again when
it is loaded, by a kernel that has run no user code, and nothing of it runs then: its imports run when it is called.
"""

from __future__ import annotations

import sys
from types import CodeType, FunctionType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterator
    from typing import TypedDict

    class SavedTool(TypedDict):
        """A saved function, as in the `hello` frame."""

        name: str
        source: str


# Loading delays the first cell. Two hundred functions of 1 KiB take 0.1 s; two hundred of the largest would take 20 s.
_LOAD_SECONDS = 2.0
_FILE_START = "<saved tool "


class FunctionSource:
    """A function to save: its name, its source, and the global names that later sessions will lack."""

    def __init__(self, function: FunctionType, source: str, missing: list[str]) -> None:
        from bridge_kernel.needed_packages import packages_of

        self.name = function.__name__
        self.function = function
        self.source = source
        self.missing = missing
        self.packages = packages_of(source)

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
        TypeError: not a function, or not self-contained (lambda, method, closure, decorator).
        ValueError: its source is unknown, or defining it has an effect.
    """
    import inspect
    import linecache
    import textwrap

    function = _function(func, namespace)
    name = function.__name__
    if name == "<lambda>":
        raise TypeError("a lambda has no name to save it under; write 'def name(...): ...' and save that")
    if function.__code__.co_freevars:
        names = ", ".join(function.__code__.co_freevars)
        raise TypeError(f"{name!r} uses variables of its enclosing function ({names}); pass them as arguments")
    file_name = function.__code__.co_filename
    missing: list[str] = []
    try:
        if file_name.startswith(_FILE_START):
            source = "".join(linecache.getlines(file_name))  # With its imports, which are not part of the function.
        else:
            source = textwrap.dedent(inspect.getsource(function))
            imports, missing = _split(_session_names(function.__code__, namespace), namespace)
            source = imports + source
        _parse(name, source)
    except (OSError, SyntaxError) as error:
        raise ValueError(f"the source of {name!r} is unknown; define it with 'def' in its own cell") from error
    return FunctionSource(function, source, missing)


def _split(names: list[str], namespace: dict[str, object]) -> tuple[str, list[str]]:
    """The imports for those of the names that are modules, and the other names."""
    modules = {name: value.__name__ for name in names if isinstance(value := namespace[name], ModuleType)}
    lines = [f"import {module}" if module == name else f"import {module} as {name}" for name, module in modules.items()]
    return "".join(f"{line}\n" for line in lines), [name for name in names if name not in modules]


def _function(func: Callable[..., object] | str, namespace: dict[str, object]) -> FunctionType:
    found: object = func
    if isinstance(func, str):
        if func not in namespace:
            raise ValueError(f"this session has no function {func!r}")
        found = namespace[func]
    # `__wrapped__` leads to the `def`, whose decorators are then reported.
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
        "user_tools",
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


def _parse(name: str, source: str) -> ast.Module:
    """The source as a module with one function, which imports what it needs when it is called.

    Raises:
        SyntaxError: it is not Python.
        TypeError: it is anything but imports and one `def` of that name.
        ValueError: to define the function would run code.
    """
    import ast

    tree = ast.parse(source)
    *imports, function = tree.body or [ast.Pass()]
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or function.name != name:
        raise TypeError(f"{name!r} cannot be saved, because it is not defined by its own 'def {name}'")
    if function.decorator_list:
        raise TypeError(f"{name!r} cannot be saved, because a decorator would run in every session; save it without")
    if not all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in imports):
        raise ValueError(f"{name!r} cannot be saved: only imports may stand before 'def {name}'")
    arguments = function.args
    for default in [*arguments.defaults, *arguments.kw_defaults]:
        if default is not None and not _is_literal(default):
            text = ast.unparse(default)[:80]
            raise ValueError(f"{name!r} cannot be saved: its default {text} is not a literal; use None instead")
    start = 1 if ast.get_docstring(function, clean=False) is not None else 0
    function.body[start:start] = imports
    tree.body = [function]
    taken = {argument.arg for argument in _arguments(arguments)} & set(_imported(imports))
    if taken:
        raise ValueError(f"{name!r} cannot be saved: {min(taken)!r} is both an argument and an import")
    return tree


def _is_literal(node: ast.expr) -> bool:
    import ast

    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    yield from [one for one in (arguments.vararg, arguments.kwarg) if one is not None]


def _imported(imports: list[ast.stmt]) -> Iterator[str]:
    import ast

    for node in imports:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def define_saved_tools(
    tools: list[SavedTool], namespace: dict[str, object], add: Callable[[str, object], None] | None = None
) -> None:
    """Defines saved functions in `namespace` without running them; failures are reported on stderr.

    `add` is given each by name.
    """
    import time

    end = time.monotonic() + _LOAD_SECONDS
    for number, tool in enumerate(tools):
        name = tool["name"]
        if time.monotonic() > end:
            late = ", ".join(tool["name"] for tool in tools[number:])
            reason = f"because it would take more than {_LOAD_SECONDS:g} s"
            print(f"Saved functions that were not defined, {reason}: {late}", file=sys.stderr)
            break
        try:
            if name in namespace:
                raise ValueError("its name is taken in every session")
            namespace[name] = define(name, tool["source"], namespace)
            if add is not None:
                add(name, namespace[name])
        except Exception as error:  # noqa: BLE001 The source may be anything, and the parser gives up in several ways.
            print(f"The saved function {name!r} could not be defined: {error!r}", file=sys.stderr)


def define(name: str, source: str, namespace: dict[str, object]) -> object:
    """The function, whose global names are those of `namespace`. Defining it runs nothing of it and binds no name.

    Raises:
        Exception: it is not a function that can be saved; the parser gives up in several ways.
    """
    import __future__

    import builtins
    import linecache

    if hasattr(builtins, name) or name in ("mcp", "user_tools") or name.startswith(("_", "mcp_")):
        raise ValueError("its name is taken in every session")

    file_name = f"{_FILE_START}{name}>"
    # Annotations are kept as text, because they could contain calls.
    code = compile(
        _parse(name, source), file_name, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True
    )
    linecache.cache[file_name] = (len(source), None, source.splitlines(keepends=True), file_name)
    defined: dict[str, object] = {}
    exec(code, namespace, defined)
    return defined[name]
