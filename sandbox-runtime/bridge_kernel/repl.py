"""Runs cells in one namespace: compiles with top-level await, shows the last expression, formats tracebacks.

The namespace is the `__main__` module, so pickling, `inspect.getsource` and `if __name__ == "__main__"` work as in a
script. Every cell has its own file name, and its source is in `linecache`, so tracebacks show its lines.
"""

from __future__ import annotations
import __future__ as future_features

import ast
import builtins
import errno
import linecache
import sys
import traceback
import types

from bridge_kernel.importer import FILE_PREFIX
from bridge_kernel.pending import begin_cell
from bridge_kernel.shorten import short_repr
from bridge_kernel.tables import table_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Check = Callable[[ast.Module, str, tuple[str, ...]], Awaitable[None] | None]


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


def cell_file(cell: int) -> str:
    """The file name of a cell, as tracebacks show it."""
    return f"<cell {cell}>"


class Repl:
    """The namespace of a session."""

    def __init__(self, max_value_chars: int, max_reported_names: int) -> None:
        self._max_value_chars = max_value_chars
        self._max_reported_names = max_reported_names
        self._flags = 0
        self._reported: object = None
        # Whether the cell's code has started, so the check before it is over.
        self.has_begun = False
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.namespace: dict[str, object] = module.__dict__
        self.namespace["__builtins__"] = builtins
        # Names predefined by the kernel are not the user's; compared by identity, so a reassigned one is.
        self._own: dict[str, object] = dict(self.namespace)

    def mark_own(self) -> None:
        """Marks the current contents of the namespace as predefined."""
        self._own = dict(self.namespace)

    async def run(self, cell: int, code: str, check: Check | None = None) -> object:
        """Runs a cell and returns the value of its last expression, or None. Raises whatever the code raises.

        `check` gets the syntax tree and the names used at the top level before anything runs; its result is awaited.
        """
        self.has_begun = False
        begin_cell(cell_file(cell))
        tree, body, last = self._compile(cell, code)
        if check is not None:
            used = (*(body.co_names if body else ()), *(last.co_names if last else ()))
            checking = check(tree, code, used)
            if checking is not None:
                await checking
        self.has_begun = True
        if body is not None:
            await self._evaluate(body)
        return await self._evaluate(last) if last is not None else None

    async def _evaluate(self, code: types.CodeType) -> object:
        result = eval(code, self.namespace)
        return await result if code.co_flags & _CO_COROUTINE else result

    def _compile(self, cell: int, code: str) -> tuple[ast.Module, types.CodeType | None, types.CodeType | None]:
        file = cell_file(cell)
        # Lines as the tokenizer counts them; str.splitlines would also split at a form feed or U+2028.
        lines = [f"{line}\n" for line in code.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
        linecache.cache[file] = (len(code), None, lines, file)
        flags = self._flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = _parse(code, file, flags)
        last, statements = None, tree.body
        if statements and isinstance(statements[-1], ast.Expr):
            last = compile(ast.Expression(statements[-1].value), file, "eval", flags, dont_inherit=True)
            statements = statements[:-1]
        module = ast.Module(statements, tree.type_ignores)
        body = compile(module, file, "exec", flags, dont_inherit=True) if statements else None
        if body is not None:
            # `from __future__ import …` applies to later cells too, as at the interpreter's prompt.
            self._flags |= body.co_flags & _FUTURE_FLAGS
        return tree, body, last

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
        # A copy, because user threads may add names meanwhile.
        for name, value in list(self.namespace.items()):
            if not isinstance(name, str) or len(name) > _MAX_NAME_CHARS:  # pyright: ignore[reportUnnecessaryIsInstance]
                continue  # Set through globals(); code cannot refer to it.
            is_own = is_ours(name) or (name in self._own and self._own[name] is value)
            if is_own or name.startswith("_") or not name.isidentifier():
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


def _parse(code: str, file: str, flags: int) -> ast.Module:
    flags |= ast.PyCF_ONLY_AST
    try:
        return compile(code, file, "exec", flags, dont_inherit=True)
    except SyntaxError:
        from bridge_kernel.packages import without_pip_lines

        python = without_pip_lines(code)
        if python == code:
            raise
        return compile(python, file, "exec", flags, dont_inherit=True)


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
    lines = f" ({line_count:,} {'line' if line_count == 1 else 'lines'})" if line_count else ""
    return f"{text[:half]}\n[{omitted:,} bytes{lines} omitted here.]\n{text[end:]}"


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


def format_error(error: BaseException) -> str:
    """The traceback as Python prints it, without frames of the kernel."""
    report = traceback.TracebackException.from_exception(error, compact=True)
    _remove_kernel_frames(report, set())
    return "".join(report.format()).rstrip("\n")


def explain_mapping(error: BaseException) -> None:
    """Says what works instead if the filter refused a shared anonymous mapping, which is the default of `mmap.mmap`."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if (
        isinstance(error, PermissionError)
        and error.errno == errno.EPERM
        and error.filename is None
        and place is not None
        and "mmap" in place.tb_frame.f_code.co_names
    ):
        error.strerror = (
            f"{error.strerror}: without cgroups, the sandbox cannot count shared anonymous memory; pass "
            "flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, or share a file in /dev/shm (not in gVisor, rootless Docker)"
        )


def _remove_kernel_frames(report: traceback.TracebackException, seen: set[int]) -> None:
    if id(report) in seen:
        return
    seen.add(id(report))
    kept = [frame for frame in report.stack if not frame.filename.startswith(FILE_PREFIX)]
    # Without a stack there is no heading either: a syntax error looks as at the interpreter's prompt.
    report.stack = traceback.StackSummary.from_list(kept) if kept else None  # pyright: ignore[reportAttributeAccessIssue]
    linked = [report.__cause__, report.__context__, *(getattr(report, "exceptions", None) or ())]
    for other in linked:
        if other is not None:
            _remove_kernel_frames(other, seen)
