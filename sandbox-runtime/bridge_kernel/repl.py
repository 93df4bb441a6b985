"""Runs cells in one namespace: compiles with top-level await, shows the last expression.

The namespace is the `__main__` module, so pickling, `inspect.getsource` and `if __name__ == "__main__"` work as in a
script. Every cell has its own file name, and its source is in `linecache`, so tracebacks show its lines.
"""

from __future__ import annotations
import __future__ as future_features

import ast
import builtins
import linecache
import sys
import types

from bridge_kernel import memory_reserve
from bridge_kernel.counted import counted
from bridge_kernel.pending import begin_cell
from bridge_kernel.shorten import short_repr
from bridge_kernel.syntax_nodes import nodes_of
from bridge_kernel.tables import table_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    T = TypeVar("T")
    _Compiled = tuple[types.CodeType | None, types.CodeType | None]
    Check = Callable[[ast.Module, str, set[str]], Awaitable[None] | None]


def _future_flags() -> int:
    flags = 0
    for name in future_features.all_feature_names:
        flags |= getattr(future_features, name).compiler_flag
    return flags


_FUTURE_FLAGS = _future_flags()
# Longer names are not reported. Chosen; the host has the same limit.
_MAX_NAME_CHARS = 64
# Characters that are encoded at once to count their bytes: memory may be short.
_COUNTED_CHARS = 1 << 16
_CO_COROUTINE = 0x80  # inspect.CO_COROUTINE, without importing inspect.
# No value of a name.
_MISSING = object()
# Since Python 3.13, they have the source of the loader, which would be shown as that of code in `exec` and `eval`.
linecache.cache.pop("<string>", None)
getattr(linecache, "_interactive_cache", {}).clear()


class _CellReturn(BaseException):
    """A `return` at the top level of a cell. Not an Exception, so `except Exception` does not catch it."""

    def __init__(self, value: object = None) -> None:
        super().__init__()
        self.value = value


def cell_file(cell: int) -> str:
    """The file name of a cell, as tracebacks show it."""
    return f"<cell {cell}>"


class Repl:
    """The namespace of a session."""

    def __init__(self, max_value_chars: int = 0, max_reported_names: int = 0) -> None:
        self.limit(max_value_chars, max_reported_names)
        # Those of `from __future__ import …`: they apply to later cells too, as at the interpreter's prompt.
        self.flags = 0
        # Attributes of modules that cells have set, by the name of the module.
        self._set_attributes: set[tuple[str, str]] = set()
        self._reported: object = None
        # Whether the cell's code has started, so the check before it is over.
        self.has_begun = False
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.namespace: dict[str, object] = module.__dict__
        self.namespace["__builtins__"] = builtins
        # Names predefined by the kernel are not the user's; compared by identity, so a reassigned one is.
        self._own: dict[str, object] = dict(self.namespace)

    def limit(self, max_value_chars: int, max_reported_names: int) -> None:
        """Limits how much of a value is shown, and how many names are reported."""
        self._max_value_chars = max_value_chars
        self._max_reported_names = max_reported_names

    def mark_own(self) -> None:
        """Marks the current contents of the namespace as predefined."""
        self._own = dict(self.namespace)

    async def run(self, cell: int, code: str, check: Check | None = None) -> object:
        """Runs a cell and returns the value of its last expression, or None. Raises whatever the code raises.

        As in notebooks, a semicolon after it means that its value is not wanted.

        `check` gets the syntax tree and the names used in it before anything runs; its result is awaited.
        """
        self.has_begun = False
        begin_cell(cell_file(cell))
        _reload_changed()
        code, tree, body, last = self._compile(cell, code)
        if check is not None:
            checking = check(tree, code, _names_in(body) | _names_in(last))
            if checking is not None:
                await checking
        # Not before: a cell that deletes variables has to compile even if they fill the memory.
        memory_reserve.take()
        self.has_begun = True
        try:
            if body is not None:
                await self._evaluate(body)
            if last is None:
                return None
            value = await self._evaluate(last)
            return None if ";" in code and _ends_quietly(code, tree.body[-1]) else value
        except _CellReturn as ended:
            return ended.value
        finally:
            if "." in code:  # Without one, no attribute is set.
                self._note_attributes(tree)
            _reload_changed(is_over=True)

    async def _evaluate(self, code: types.CodeType) -> object:
        result = eval(code, self.namespace)
        return await result if code.co_flags & _CO_COROUTINE else result

    def _compile(self, cell: int, code: str) -> tuple[str, ast.Module, types.CodeType | None, types.CodeType | None]:
        """The code, with slips repaired; its tree; its statements without the last expression; that expression."""
        file = cell_file(cell)
        _keep_lines(file, code)
        flags = self.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

        def parse(text: str) -> ast.Module:
            return compile(text, file, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)

        tree = _tried(lambda: parse(code))
        if isinstance(tree, SyntaxError):
            from bridge_kernel.slips import parse_repaired

            code, tree = parse_repaired(code, tree, parse)
            _keep_lines(file, code)
            magics = sys.modules.get("bridge_kernel.magics")
            if magics is not None:
                magics.__dict__["predefined"] = self._own
        compiled = _tried(lambda: self._compile_tree(tree, file, flags))
        if isinstance(compiled, SyntaxError):
            if compiled.msg != "'return' outside function":
                raise compiled
            from bridge_kernel.slips import RETURN, replace_returns

            replace_returns(tree, file)
            builtins.__dict__[RETURN] = _CellReturn
            compiled = self._compile_tree(tree, file, flags)
        body, last = compiled
        if body is not None:
            self.flags |= body.co_flags & _FUTURE_FLAGS
        return code, tree, body, last

    @staticmethod
    def _compile_tree(tree: ast.Module, file: str, flags: int) -> _Compiled:
        last, statements = None, tree.body
        if statements and isinstance(statements[-1], ast.Expr):
            last = compile(ast.Expression(statements[-1].value), file, "eval", flags, dont_inherit=True)
            statements = statements[:-1]
        module = ast.Module(statements, tree.type_ignores)
        return compile(module, file, "exec", flags, dont_inherit=True) if statements else None, last

    def _note_attributes(self, tree: ast.Module) -> None:
        """Notes which attributes of modules the cell has set, such as `module.DEBUG = True` or `module.Class.x = 1`."""
        for node in nodes_of(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                owner, path = node.value, node.attr
                while isinstance(owner, ast.Attribute):
                    owner, path = owner.value, f"{owner.attr}.{path}"
                module = self.namespace.get(owner.id) if isinstance(owner, ast.Name) else None
                if type(module) is types.ModuleType:
                    self._set_attributes.add((module.__name__, path))

    def user_values(self, is_ours: Callable[[str], bool]) -> dict[str, object]:
        """What the user has: the namespace, the last value as `_`, and as `*module.name` what cells set in modules."""
        values: dict[str, object] = {
            name: value
            for name, value in self.namespace.items()
            if not (is_ours(name) or (name in self._own and self._own[name] is value))
        }
        # cloudpickle sets it to another object when it restores a function.
        values.pop("__builtins__", None)
        if "_" in builtins.__dict__:
            values.setdefault("_", builtins.__dict__["_"])
        for name, path in self._set_attributes:
            value = _value_at(sys.modules.get(name), path)
            if value is not _MISSING:
                values[f"*{name}.{path}"] = value
        return values

    def remember(self, value: object) -> None:
        """Binds `_` to the value of the last expression."""
        builtins._ = value  # pyright: ignore[reportAttributeAccessIssue]

    def show(self, value: object) -> str:
        """The text of a value, cut to the limit of the session."""
        return self.shorten(_text_of(value))

    def shorten(self, text: str) -> str:
        """A text cut to the limit of the session, keeping both ends."""
        return shortened(text, self._max_value_chars)

    def changed_names(self, is_ours: Callable[[str], bool]) -> dict[str, object] | None:
        """The user's top-level names by kind; None if unchanged since the last call.

        `is_ours` says whether a name still holds a value set by the kernel, such as a proxy.
        """
        kinds: dict[str, list[str]] = {"variables": [], "functions": [], "imports": []}
        own = self._own
        # A copy, because user threads may add names meanwhile.
        for name, value in list(self.namespace.items()):
            # First, because most names are predefined, and every cell ends with this.
            if type(name) is str and own.get(name, _MISSING) is value:
                continue
            if not isinstance(name, str) or len(name) > _MAX_NAME_CHARS:  # pyright: ignore[reportUnnecessaryIsInstance]
                continue  # Set through globals(); code cannot refer to it.
            if name.startswith("_") or is_ours(name) or not name.isidentifier():
                continue
            if isinstance(value, types.ModuleType):
                kinds["imports"].append(name)
            elif isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
                kinds["functions"].append(name)
            else:
                kinds["variables"].append(name)
        limit = self._max_reported_names
        omitted = sum(max(0, len(names) - limit) for names in kinds.values())
        report: dict[str, object] = {"omitted": omitted}
        report.update((kind, names[-limit:]) for kind, names in kinds.items())
        if report == self._reported:
            return None
        self._reported = report
        return report


def _ends_quietly(code: str, last: ast.stmt) -> bool:
    """Whether a semicolon follows the last statement, which hides its value, as in IPython."""
    lines = _lines_of(code)[(last.end_lineno or 1) - 1 :]
    return "".join(lines).encode()[last.end_col_offset :].lstrip().startswith(b";")


def _reload_changed(is_over: bool = False) -> None:
    """For `%autoreload`."""
    magic_calls = sys.modules.get("bridge_kernel.magic_calls")
    if magic_calls is not None:
        magic_calls.reload_changed(is_over)


def _value_at(owner: object, path: str) -> object:
    for part in path.split("."):
        owner = getattr(owner, part, _MISSING)
    return owner


def _tried(compiler: Callable[[], T]) -> T | SyntaxError:
    """The result, or the syntax error. Returned, because an error raised while it is handled would show it, too."""
    try:
        return compiler()
    except SyntaxError as error:
        return error


def _names_in(code: types.CodeType | None) -> set[str]:
    """The global names and attributes that code uses, including its functions."""
    if code is None:
        return set()
    return set(code.co_names).union(*(_names_in(part) for part in code.co_consts if isinstance(part, types.CodeType)))


def _keep_lines(file: str, code: str) -> None:
    """Keeps the source of a cell for tracebacks."""
    if not code:
        return  # What restores a session has the number of a cell whose source it has restored.
    linecache.cache[file] = (len(code), None, _lines_of(code), file)


def _lines_of(code: str) -> list[str]:
    """Lines as the tokenizer counts them; str.splitlines would also split at a form feed or U+2028."""
    return [f"{line}\n" for line in code.replace("\r\n", "\n").replace("\r", "\n").split("\n")]


def shortened(text: str, limit: int) -> str:
    """A text of more than `limit` characters, cut in the middle. The host finds the cut by its words."""
    if len(text) <= limit:
        return text
    half = limit // 2
    end = len(text) - half
    omitted = 0
    for start in range(half, end, _COUNTED_CHARS):
        omitted += len(text[start : min(end, start + _COUNTED_CHARS)].encode("utf-8", "surrogatepass"))
    line_count = text.count("\n", half, end)
    lines = f" ({counted(line_count, 'line')})" if line_count else ""
    return f"{text[:half]}\n[{counted(omitted, 'byte')}{lines} omitted here.]\n{text[end:]}"


def _text_of(value: object) -> str:
    try:
        table = table_text(value)
    except Exception:  # noqa: BLE001 A broken table is shown like any other object.
        table = None
    return _repr(value) if table is None else table


def _repr(value: object) -> str:
    """`repr(value)`; never raises."""
    try:
        return short_repr(value)
    except RecursionError:
        return f"<{type(value).__name__} object, nested too deeply to show>"
    except Exception as error:  # noqa: BLE001 The user's __repr__ may raise anything.
        return f"<{type(value).__name__} object whose repr() raised {type(error).__name__}>"
